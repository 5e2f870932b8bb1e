/**
 * Broken on purpose: each switch takes one rule of the protocol away, and the model that must notice it says which invariant does.
 * The switches are in the modules (`B("…")`).
 */
export interface Switch {
  /** Contents of `Broken`: more than one if each compensates for the other. */
  readonly broken: readonly string[];
  readonly model: string;
  readonly what: string;
  /** Constants of the model. */
  readonly changes: Readonly<Record<string, string>>;
}

type Row = readonly [broken: string, model: string, what: string, changes?: Switch['changes']];

const ROWS: readonly Row[] = [
  // Belief and sessions.
  ['noBelief', 'task-work', 'requests are sent, and attempts repeated, without asking for belief'],
  ['longTrust', 'task-beat', 'belief has no end of its own'],
  ['openLate', 'task-beat', 'the window opens when the answer comes, not before the request is sent'],
  ['noSkew', 'task-beat', 'a contender does not wait for the clock bound'],
  [
    'renewBlind',
    'task-beat',
    'a renewal does not compare the nonce of the one before: an earlier one, late, lowers the expiry',
    { Copies: '2', MaxNet: '2', Skew: '0' },
  ],
  ['revive renewBlind', 'task-beat', 'an ended session is renewed'],
  [
    'expireUntimed expireUnseen',
    'task-stale',
    'a contender that judged a session once may end it at any time',
    { Late: '{"beat"}', Faults: '1' },
  ],
  // Lost answers.
  ['noNonce', 'task-work', 'a refusal by its own nonce counts as a refusal'],
  ['guessYes', 'task-work', 'a refusal after a lost answer counts as success'],
  ['saysDone', 'task-work', 'a refused completion is told as done', { MaxNet: '2', Faults: '0' }],
  ['adoptsDone', 'task-work', 'a worker adopts a task whose completion was not answered'],
  ['noAdopt', 'task-live', 'a task that runs under its own session without its knowing is left alone'],
  // Tasks.
  ['sameToken', 'task-work', 'a claim does not raise the counter'],
  ['claimRunning claimAnyCounter claimAnyNonce', 'task-work', 'a claim compares neither state nor counter nor nonce'],
  [
    'claimAnyCounter claimAnyNonce',
    'task-handback',
    'a claim compares the state alone: a copy of an earlier one claims what was handed back',
  ],
  ['takeAnyCounter takeAnySession', 'task-work', 'a takeover does not compare what it observed'],
  ['takeExpired', 'task-beat', 'a takeover from an expired session that was not ended first'],
  ['takeLive', 'task-work', 'a takeover from a live session'],
  ['takeLive', 'task-stale', 'the same, after a stale read'],
  ['buriesEarly', 'task-work', 'a task is marked dead with attempts left'],
  ['noFence', 'task-work', 'a completion compares neither session nor counter', { MaxNet: '2', Faults: '0' }],
  ['noFence', 'task-handback', 'a retry or a release compares neither session nor counter'],
  [
    'noToken',
    'task-handback',
    'the verbs of a holder compare the session alone: those of an earlier claim arrive in a later one',
  ],
  ['doneTwice', 'task-handback', 'the verbs of a holder do not ask whether the task runs'],
  ['restarts', 'task-handback', 'a release starts the counter over'],
  ['keepsAttempt', 'task-handback', 'a release does not give the attempt back'],
  ['noSequence', 'task-progress', 'progress has no order: a late request overwrites its successor'],
  // Commits.
  ['unbarred', 'commit', 'a caller hears that nothing was applied, and no bar was raised'],
  ['anyNumber', 'commit', 'a commit does not compare its number with the bar'],
  ['lowBar', 'commit', 'a bar has the number of the commit before'],
  ['barGuessed', 'commit', 'a refused bar counts as raised'],
  // Locks.
  ['sameToken', 'lock-work', 'an acquire does not raise the counter'],
  ['deletes', 'lock-work', 'a release deletes the row'],
  ['heldByAnyone heldSinceAny', 'lock-work', 'a release compares neither session nor counter'],
  ['takeLive', 'lock-work', 'a takeover from a live session'],
  ['noDelay', 'lock-forced', 'a dead session’s key opens at once'],
  ['delaySkew', 'lock-forced', 'the delay is counted without the clock bound'],
  [
    'forcedEarly',
    'lock-forced',
    'a key opens after the delay, though the session that was ended by force would live on',
    { TTL: '2' },
  ],
  ['settlesOpen', 'lock-forced', 'a key that is freed for a dead session does not say until when it is closed'],
  ['opensEarly', 'lock-forced', 'an acquire does not ask whether the delay is over'],
  [
    'touched',
    'lock-work',
    'an acquire is not ordered against the tenures that ended since it was asked for',
    { Copies: '2', MaxNet: '2', Faults: '0' },
  ],
  ['noDoubt', 'lock-work', 'a session forgets an acquire that was not answered'],
  [
    'barsInName',
    'lock-work',
    'a session in doubt finds the key free, and writes nothing that its late acquire would meet',
    { MaxNet: '2' },
  ],
  ['forgets', 'lock-live', 'an acquire that was refused is repeated without the counter that the refusal brought'],
  // Semaphores.
  ['noRoom', 'semaphore', 'an admission does not ask for room'],
  ['jumps', 'semaphore', 'an admission does not ask whether others are queued'],
  ['releasesTwice', 'semaphore', 'a release does not ask whether the permit is there'],
  ['blind', 'semaphore', 'a row that was calculated is written, whatever came between'],
  ['noBar', 'semaphore', 'an admission does not ask whether its claim was given back or given up'],
  ['noMark', 'semaphore', 'a release does not bar the requests of its claim that are under way'],
  ['noForgo', 'semaphore', 'a caller is told that there is no room while a request of its claim is under way'],
  ['noShare', 'fleet', 'a row of a fleet gives a permit that the limit does not give it'],
  ['noAgree', 'fleet', 'a worker enters a row under another limit than it declares'],
  ['noBar', 'fleet', 'an admission to a row does not ask whether its claim was given back or given up'],
  ['noForgo', 'fleet', 'a worker goes on to another row while its request to the first one is under way'],
  ['blindDeal', 'fleet', 'a limit is written over a row, whatever came between'],
  ['prunesClosed', 'semaphore-forced', 'a contender removes a dead holder in its lock-delay'],
  ['forcedEarly', 'semaphore-forced', 'a permit opens after the delay, though its session would live on'],
  ['evictsEarly', 'semaphore-forced', 'an evicted permit opens after the delay, though its holder may hear nothing'],
  ['evictsUnseen', 'semaphore-forced', 'an eviction does not ask whether the session was renewed since it was read'],
  // Wait groups.
  ['anyGeneration', 'group', 'a late request of one generation is taken in the next'],
  ['addsSealed', 'group-walk', 'a member comes into a group that is sealed', { MaxNet: '2', Faults: '0' }],
  ['leaseBlind', 'group', 'a lease does not compare what it read: an earlier one undoes a later one'],
  ['finishesTwice', 'group', 'a member that is lost becomes done after the count'],
  ['losesDone', 'group', 'a member that is done becomes lost'],
  ['losesAny', 'group', 'a member is lost though another session has it by now'],
  ['walksOpen', 'group-walk', 'a waiter counts before the group is sealed'],
  ['waitsForDead', 'group-live', 'a waiter leaves the members of dead sessions alone'],
  // Rate limits.
  ['noEnough', 'rate', 'a take does not ask whether there is enough'],
  ['overflows', 'rate', 'what flowed into a full bucket is not thrown away'],
  ['takesTwice', 'rate', 'a repeated take does not see that it was the last write'],
  ['fullBlind', 'rate', 'a take from a full bucket does not ask whether it still is full'],
  [
    'noTransit',
    'rate',
    'a take that is under way is held to count from its arrival: it counts from when it was asked for',
  ],
  // Keys.
  ['keyFull', 'key', 'a claim does not ask for room'],
  ['keepsPlace', 'key', 'an end keeps the place of its key'],
  ['takeLeaves', 'key', 'a takeover gives the place of its key away'],
  ['retryKeepsPlace', 'key-handback', 'a task that is handed back, or waits for children, keeps the place of its key'],
  ['joinsAny', 'key', 'a task is moved to the others of its key without a look at its state'],
  ['noLook', 'key-live', 'a worker reads nothing of a full key: its runners are dead'],
  [
    'looksAtFirst',
    'key-live',
    'a worker reads the first tasks of a full key, and no more of them later: a dead runner stands behind them',
  ],
  ['groupCountsOne', 'key-group', 'two tasks are claimed in one transaction, and the key counts one of them'],
  ['remembersFull', 'key-live', 'a worker never forgets that a key was full'],
  // Lines.
  ['turnBlind', 'line', 'a task is claimed without a look at the turn'],
  ['endsUnpassed', 'line', 'an end does not pass the turn'],
  [
    'joinBlind',
    'line',
    'a task joins behind the tail that it has read, though another has joined meanwhile',
    { MaxNet: '2', Faults: '0' },
  ],
  ['countsOne', 'line', 'two tasks join in one transaction, and the line counts one of them'],
  ['cancelLeaves', 'line', 'a task that is cancelled before its turn leaves the line'],
  ['sweepsPlace', 'line', 'the row of such a task is swept before its turn'],
  ['reviveJoins', 'line', 'such a task is revived with another ticket'],
  ['leaveBlind', 'line', 'the turn of such a task is passed, though it was revived meanwhile', { MaxNet: '2' }],
  ['passBlind', 'line', 'a turn is passed that is over: it goes back', { MaxNet: '2' }],
  ['lastBlind', 'line', 'a line may be swept though a task has joined meanwhile', { MaxNet: '2', Faults: '0' }],
  ['lineRestarts', 'line', 'a line that was swept starts over, and workers remember its turn', { Faults: '0' }],
  // Batches.
  [
    'endsTwice',
    'batch',
    'an end does not ask whether the child runs: a copy counts it once more',
    { Tasks: '3', MaxNet: '1', Faults: '1' },
  ],
  ['countsApart', 'batch', 'a child is counted apart from its own guard'],
  ['downToNone', 'batch', 'the last child is counted down as the others are, and wakes no waiter'],
  ['wakesAny', 'batch', 'the last child makes a task due that was cancelled'],
  ['endsUnwoken', 'batch', 'a batch ends without its waiter, which was retried and waits again'],
  ['waitsForEnded', 'batch', 'a task is retried to wait for a batch that has ended'],
  ['buriesUncounted', 'batch', 'a child that is marked dead is not counted'],
  // Schedules.
  ['ticksTwice', 'schedule', 'a tick that is delivered twice is dispatched by both'],
  ['makesTwice advanceBlind', 'schedule', 'an occurrence becomes a task a second time'],
  ['advancesFirst', 'schedule', 'a schedule is advanced before its occurrence is a task'],
  // Journals.
  ['writesBlind', 'journal', 'a write of a journal does not ask whether something has arrived'],
  ['suspendsBlind', 'journal', 'nor does a suspension'],
  ['anyHolder', 'journal', 'a journal is written by whoever had the task once'],
  ['anySequence', 'journal', 'a late copy of a write undoes the ones after it'],
  ['guessYes', 'journal', 'a refused write counts as recorded'],
  ['guessNo', 'journal', 'a write that was refused by its own nonce is recorded again'],
  [
    'arriveRenames',
    'journal',
    'an answer changes the nonce of a task that runs: its holder does not know its write again',
  ],
  ['partsUnread', 'journal', 'a claim does not read what was spilled'],
  ['partUnheard', 'journal', 'a row is named before it is known to be put'],
  ['partUncounted', 'journal', "a row's name does not say which claim put it: a late copy replaces another claim's"],
  ['arrivesTwice', 'journal', 'an answer does not ask whether the callback waits'],
  ['staysOpen', 'journal', 'a timeout does not close its callback'],
  ['timeoutUnwritten', 'journal', 'a timeout is what a clock says, and is not written'],
  ['timesOutAnswered', 'journal', 'a timeout is recorded after its answer'],
  ['arrivesAsleep', 'journal', 'an answer does not make a task due that is suspended'],
  ['foldsNothing', 'journal-live', 'a holder repeats what was refused, and does not look at what has arrived'],
];

export const SWITCHES: readonly Switch[] = ROWS.map(([broken, model, what, changes = {}]) => ({
  broken: broken.split(' '),
  model,
  what,
  changes,
}));
