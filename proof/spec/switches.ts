/**
 * Broken on purpose: each switch takes one rule of the protocol away, and the model that must notice it says which invariant does.
 * The switches are in the modules (`B("…")`).
 */
export interface Switch {
  /** Contents of `Broken`: more than one if each compensates for the other. */
  readonly broken: readonly string[];
  readonly model: string;
  readonly what: string;
  readonly changes?: Readonly<Record<string, string>>;
}

export const SWITCHES: readonly Switch[] = [
  // Belief and sessions.
  {
    broken: ['noBelief'],
    model: 'task-work',
    what: 'requests are sent, and attempts repeated, without asking for belief',
  },
  { broken: ['longTrust'], model: 'task-beat', what: 'belief has no end of its own' },
  {
    broken: ['openLate'],
    model: 'task-beat',
    what: 'the window opens when the answer comes, not before the request is sent',
  },
  {
    broken: ['noSkew'],
    model: 'task-beat',
    what: 'a contender does not wait for the clock bound',
  },
  {
    broken: ['renewBlind'],
    model: 'task-beat',
    changes: { Copies: '2', MaxNet: '2', Skew: '0' },
    what: 'a renewal does not compare the nonce of the one before: an earlier one, late, lowers the expiry',
  },
  { broken: ['revive', 'renewBlind'], model: 'task-beat', what: 'an ended session is renewed' },
  {
    broken: ['expireUntimed', 'expireUnseen'],
    model: 'task-stale',
    changes: { Late: '{"beat"}', Faults: '1' },
    what: 'a contender that judged a session once may end it at any time',
  },
  // Lost answers.
  {
    broken: ['noNonce'],
    model: 'task-work',
    what: 'a refusal by its own nonce counts as a refusal',
  },
  {
    broken: ['guessYes'],
    model: 'task-work',
    what: 'a refusal after a lost answer counts as success',
  },
  {
    broken: ['saysDone'],
    model: 'task-work',
    changes: { MaxNet: '2', Faults: '0' },
    what: 'a refused completion is told as done',
  },
  { broken: ['adoptsDone'], model: 'task-work', what: 'a worker adopts a task whose completion was not answered' },
  {
    broken: ['noAdopt'],
    model: 'task-live',
    what: 'a task that runs under its own session without its knowing is left alone',
  },
  // Tasks.
  { broken: ['sameToken'], model: 'task-work', what: 'a claim does not raise the counter' },
  {
    broken: ['claimRunning', 'claimAnyCounter', 'claimAnyNonce'],
    model: 'task-work',
    what: 'a claim compares neither state nor counter nor nonce',
  },
  {
    broken: ['claimAnyCounter', 'claimAnyNonce'],
    model: 'task-handback',
    what: 'a claim compares the state alone: a copy of an earlier one claims what was handed back',
  },
  {
    broken: ['takeAnyCounter', 'takeAnySession'],
    model: 'task-work',
    what: 'a takeover does not compare what it observed',
  },
  {
    broken: ['takeExpired'],
    model: 'task-beat',
    what: 'a takeover from an expired session that was not ended first',
  },
  { broken: ['takeLive'], model: 'task-work', what: 'a takeover from a live session' },
  {
    broken: ['takeLive'],
    model: 'task-stale',
    what: 'the same, after a stale read',
  },
  {
    broken: ['buriesEarly'],
    model: 'task-work',
    what: 'a task is buried with attempts left',
  },
  {
    broken: ['noFence'],
    model: 'task-work',
    changes: { MaxNet: '2', Faults: '0' },
    what: 'a completion compares neither session nor counter',
  },
  {
    broken: ['noFence'],
    model: 'task-handback',
    what: 'a retry or a release compares neither session nor counter',
  },
  {
    broken: ['noToken'],
    model: 'task-handback',
    what: 'the verbs of a holder compare the session alone: those of an earlier claim arrive in a later one',
  },
  { broken: ['doneTwice'], model: 'task-handback', what: 'the verbs of a holder do not ask whether the task runs' },
  { broken: ['restarts'], model: 'task-handback', what: 'a release starts the counter over' },
  {
    broken: ['keepsAttempt'],
    model: 'task-handback',
    what: 'a release does not give the attempt back',
  },
  {
    broken: ['noSequence'],
    model: 'task-progress',
    what: 'progress has no order: a late request overwrites its successor',
  },
  // Commits.
  {
    broken: ['unbarred'],
    model: 'commit',
    what: 'a caller hears that nothing was applied, and no bar was raised',
  },
  {
    broken: ['anyNumber'],
    model: 'commit',
    what: 'a commit does not compare its number with the bar',
  },
  { broken: ['lowBar'], model: 'commit', what: 'a bar has the number of the commit before' },
  { broken: ['barGuessed'], model: 'commit', what: 'a refused bar counts as raised' },
  // Locks.
  { broken: ['sameToken'], model: 'lock-work', what: 'an acquire does not raise the counter' },
  { broken: ['deletes'], model: 'lock-work', what: 'a release deletes the row' },
  {
    broken: ['heldByAnyone', 'heldSinceAny'],
    model: 'lock-work',
    what: 'a release compares neither session nor counter',
  },
  {
    broken: ['takeLive'],
    model: 'lock-work',
    what: 'a takeover from a live session',
  },
  {
    broken: ['noDelay'],
    model: 'lock-forced',
    what: 'a dead session’s key opens at once',
  },
  {
    broken: ['delaySkew'],
    model: 'lock-forced',
    what: 'the delay is counted without the clock bound',
  },
  {
    broken: ['settlesOpen'],
    model: 'lock-forced',
    what: 'a key that is freed for a dead session does not say until when it is closed',
  },
  {
    broken: ['opensEarly'],
    model: 'lock-forced',
    what: 'an acquire does not ask whether the delay is over',
  },
  {
    broken: ['touched'],
    model: 'lock-work',
    changes: { Copies: '2', MaxNet: '2', Faults: '0' },
    what: 'an acquire is not ordered against the tenures that ended since it was asked for',
  },
  { broken: ['noDoubt'], model: 'lock-work', what: 'a session forgets an acquire that was not answered' },
  {
    broken: ['barsInName'],
    model: 'lock-work',
    changes: { MaxNet: '2' },
    what: 'a session in doubt finds the key free, and writes nothing that its late acquire would meet',
  },
  {
    broken: ['forgets'],
    model: 'lock-live',
    what: 'an acquire that was refused is repeated without the counter that the refusal brought',
  },
  // Semaphores.
  {
    broken: ['noRoom'],
    model: 'semaphore',
    what: 'an admission does not ask for room',
  },
  {
    broken: ['jumps'],
    model: 'semaphore',
    what: 'an admission does not ask whether others are queued',
  },
  {
    broken: ['releasesTwice'],
    model: 'semaphore',
    what: 'a release does not ask whether the permit is there',
  },
  {
    broken: ['blind'],
    model: 'semaphore',
    what: 'a row that was calculated is written, whatever came between',
  },
  {
    broken: ['noBar'],
    model: 'semaphore',
    what: 'an admission does not ask whether its claim was given back or given up',
  },
  {
    broken: ['noMark'],
    model: 'semaphore',
    what: 'a release does not bar the requests of its claim that are under way',
  },
  {
    broken: ['noForgo'],
    model: 'semaphore',
    what: 'a caller is told that there is no room while a request of its claim is under way',
  },
  // Wait groups.
  {
    broken: ['anyGeneration'],
    model: 'group',
    what: 'a late request of one generation is taken in the next',
  },
  {
    broken: ['addsSealed'],
    model: 'group-walk',
    changes: { MaxNet: '2', Faults: '0' },
    what: 'a member comes into a group that is sealed',
  },
  {
    broken: ['leaseBlind'],
    model: 'group',
    what: 'a lease does not compare what it read: an earlier one undoes a later one',
  },
  { broken: ['finishesTwice'], model: 'group', what: 'a member that is lost becomes done after the count' },
  { broken: ['losesDone'], model: 'group', what: 'a member that is done becomes lost' },
  { broken: ['losesAny'], model: 'group', what: 'a member is lost though another session has it by now' },
  {
    broken: ['walksOpen'],
    model: 'group-walk',
    what: 'a waiter counts before the group is sealed',
  },
  { broken: ['waitsForDead'], model: 'group-live', what: 'a waiter leaves the members of dead sessions alone' },
  // Rate limits.
  { broken: ['noEnough'], model: 'rate', what: 'a take does not ask whether there is enough' },
  { broken: ['overflows'], model: 'rate', what: 'what flowed into a full bucket is not thrown away' },
  { broken: ['takesTwice'], model: 'rate', what: 'a repeated take does not see that it was the last write' },
  { broken: ['fullBlind'], model: 'rate', what: 'a take from a full bucket does not ask whether it still is full' },
  {
    broken: ['noTransit'],
    model: 'rate',
    what: 'a take that is under way is held to count from its arrival: it counts from when it was asked for',
  },
  // Keys.
  { broken: ['keyFull'], model: 'key', what: 'a claim does not ask for room' },
  { broken: ['keepsPlace'], model: 'key', what: 'an end keeps the place of its key' },
  { broken: ['takeLeaves'], model: 'key', what: 'a takeover gives the place of its key away' },
  {
    broken: ['retryKeepsPlace'],
    model: 'key-handback',
    what: 'a task that is handed back, or waits for children, keeps the place of its key',
  },
  { broken: ['joinsAny'], model: 'key', what: 'a task is moved to the others of its key without a look at its state' },
  { broken: ['noLook'], model: 'key-live', what: 'a worker reads nothing of a full key: its runners are dead' },
  {
    broken: ['looksAtFirst'],
    model: 'key-live',
    what: 'a worker reads the first tasks of a full key, and no more of them later: a dead runner stands behind them',
  },
  {
    broken: ['remembersFull'],
    model: 'key-live',
    what: 'a worker never forgets that a key was full',
  },
  // Lines.
  { broken: ['turnBlind'], model: 'line', what: 'a task is claimed without a look at the turn' },
  { broken: ['endsUnpassed'], model: 'line', what: 'an end does not pass the turn' },
  {
    broken: ['joinBlind'],
    model: 'line',
    changes: { MaxNet: '2', Faults: '0' },
    what: 'a task joins behind the tail that it has read, though another has joined meanwhile',
  },
  { broken: ['cancelLeaves'], model: 'line', what: 'a task that is cancelled before its turn leaves the line' },
  { broken: ['sweepsPlace'], model: 'line', what: 'the row of such a task is swept before its turn' },
  { broken: ['reviveJoins'], model: 'line', what: 'such a task is revived with another ticket' },
  {
    broken: ['leaveBlind'],
    model: 'line',
    changes: { MaxNet: '2' },
    what: 'the turn of such a task is passed, though it was revived meanwhile',
  },
  {
    broken: ['passBlind'],
    model: 'line',
    changes: { MaxNet: '2' },
    what: 'a turn is passed that is over: it goes back',
  },
  {
    broken: ['lastBlind'],
    model: 'line',
    changes: { MaxNet: '2', Faults: '0' },
    what: 'a line may be swept though a task has joined meanwhile',
  },
  {
    broken: ['lineRestarts'],
    model: 'line',
    changes: { Faults: '0' },
    what: 'a line that was swept starts over, and workers remember its turn',
  },
  // Batches.
  {
    broken: ['endsTwice'],
    model: 'batch',
    changes: { Tasks: '3', MaxNet: '1', Faults: '1' },
    what: 'an end does not ask whether the child runs: a copy counts it once more',
  },
  { broken: ['countsApart'], model: 'batch', what: 'a child is counted apart from its own guard' },
  {
    broken: ['downToNone'],
    model: 'batch',
    what: 'the last child is counted down as the others are, and wakes no waiter',
  },
  { broken: ['wakesAny'], model: 'batch', what: 'the last child makes a task due that was cancelled' },
  {
    broken: ['endsUnwoken'],
    model: 'batch',
    what: 'a batch ends without its waiter, which was retried and waits again',
  },
  { broken: ['waitsForEnded'], model: 'batch', what: 'a task is retried to wait for a batch that has ended' },
  { broken: ['buriesUncounted'], model: 'batch', what: 'a child that is buried is not counted' },
  // Schedules.
  { broken: ['ticksTwice'], model: 'schedule', what: 'a tick that is delivered twice is dispatched by both' },
  { broken: ['makesTwice', 'advanceBlind'], model: 'schedule', what: 'a slot becomes a task a second time' },
  { broken: ['advancesFirst'], model: 'schedule', what: 'a schedule is advanced before its slot is a task' },
];
