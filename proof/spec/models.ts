/**
 * The named models: a module, its constants, and its properties. Each is small enough to be exhausted within a minute or two on one
 * core; `larger.ts` has slower ones.
 *
 * A model with two workers and short times does not prove the protocol for all numbers. The evidence is that all its states were seen,
 * and every action was taken.
 */
export interface Model {
  readonly name: string;
  readonly what: string;
  readonly module:
    | 'Task'
    | 'Commit'
    | 'Lock'
    | 'Semaphore'
    | 'Fleet'
    | 'WaitGroup'
    | 'RateLimit'
    | 'Key'
    | 'Line'
    | 'Batch'
    | 'Schedule'
    | 'Journal';
  readonly constants: Readonly<Record<string, string>>;
  /** A property over whole behaviours; without it the model is about safety alone. */
  readonly liveness?: string;
  /**
   * Actions that this model's constants leave out. A task is marked dead in the larger model `task-three`; a crash needs a
   * second session of its worker, which no model here has: a worker that never works again does nothing, and that each may do.
   */
  readonly without: readonly string[];
}

/** Ticks: a session lasts two, and clocks differ by one. 99 faults: without end. */
const SHARED = {
  Workers: '{a, b}',
  TTL: '2',
  Skew: '1',
  Delay: '0',
  Incs: '1',
  Late: '{"work"}',
  MaxNet: '1',
  Copies: '1',
  Faults: '99',
  Timely: 'FALSE',
  Force: 'FALSE',
  Stale: 'FALSE',
  Broken: '{}',
};
const OF_TASKS = { ...SHARED, MaxAttempts: '2', MaxClaims: '0', MaxProgress: '0', Verbs: '{}' };
const OF_LOCKS = { ...SHARED, Delay: '1', Faults: '1', MaxClaims: '2' };
/** Processes, requests and faults of the models that build on `Requests.tla`; liveness models have one request in flight. */
const OF_REQUESTS = { Workers: '{a, b}', Faults: '1', MaxNet: '2', Broken: '{}' };
const OF_SEMAPHORES = { ...OF_REQUESTS, Limit: '1', TTL: '2', Delay: '1', Force: 'TRUE' };
const OF_JOURNALS = { ...OF_REQUESTS, HasTimeout: 'TRUE', MaxParts: '1' };
const OF_QUEUES = { ...OF_REQUESTS, Tasks: '2', MaxClaims: '1' };

/** The operators of those models for the rows (`rows`) and the processes (`who`). */
function onRequests(rows: string, who = rows, gaveUp = 'TaskGaveUp'): readonly string[] {
  return [
    ...[`StoreInit <- ${rows}Init`, `Accepts <- ${rows}Accepts`, `After <- ${rows}After`, `Wrong <- ${rows}Wrong`],
    ...[`Start <- ${who}Start`, `Told <- ${who}Told`, `GaveUp <- ${gaveUp}`],
  ];
}

/** The operators that each module provides as constants. */
const OPERATORS: Readonly<Record<Model['module'], readonly string[]>> = {
  Task: [
    ...['TimedVerbs <- TaskTimed', 'RowInit <- TaskInit', 'RowGuard <- TaskGuard', 'RowAfter <- TaskAfter'],
    ...[
      'RowOlder <- TaskOlder',
      'RowDone <- TaskDone',
      'Client <- TaskClient',
      'GaveUp <- TaskGaveUp',
      'WrongRow <- TaskWrong',
    ],
  ],
  Lock: [
    ...['TimedVerbs <- LockTimed', 'RowInit <- LockInit', 'RowGuard <- LockGuard', 'RowAfter <- LockAfter'],
    ...[
      'RowOlder <- LockOlder',
      'RowDone <- LockDone',
      'Client <- LockClient',
      'GaveUp <- LockGaveUp',
      'WrongRow <- LockWrong',
    ],
  ],
  Commit: onRequests('Commit', 'Commit', 'CommitGaveUp'),
  Semaphore: [],
  Fleet: [],
  WaitGroup: onRequests('Group', 'Group', 'GroupGaveUp'),
  RateLimit: onRequests('Bucket', 'Taker', 'TakerGaveUp'),
  Key: onRequests('Key', 'Key', 'KeyGaveUp'),
  Line: onRequests('Line'),
  Batch: onRequests('Batch'),
  Schedule: onRequests('Schedule', 'Dispatcher', 'DispatcherGaveUp'),
  Journal: onRequests('Journal', 'Journal', 'JournalGaveUp'),
};

const INVARIANTS: Readonly<Record<Model['module'], readonly string[]>> = {
  Task: [
    ...['I0_Told', 'I1_Exclusion', 'I2_NoZombie', 'I2b_NoLostUpdate', 'I3_Tokens', 'I4_Final', 'I5_NoOrphan'],
    ...['I6_LowerBound', 'I8_Live', 'I16_Once', 'I17_AckTrue', 'I18_Attempts'],
  ],
  Lock: [
    ...['I0_Told', 'I1_Exclusion', 'I3_Tokens', 'I4_Final', 'I5_NoOrphan', 'I6_LowerBound', 'I7_LockDelay', 'I8_Live'],
  ],
  Commit: ['I0_Told', 'I16_Once', 'I17_AckTrue', 'BAR_Known'],
  Semaphore: ['I0_Told', 'I3_Tokens', 'I7_Delay', 'I11_Count', 'I11_Capacity', 'I11_Held', 'L5_Turn'],
  Fleet: ['I0_Told', 'I11_Held', 'FLEET_Most', 'FLEET_Share', 'FLEET_Agreed'],
  WaitGroup: ['I13_Counts', 'I13_Late', 'I13_Final', 'I13_Lost', 'I13_Lease'],
  RateLimit: ['RATE_Level', 'RATE_Once', 'RATE_Grows'],
  Key: ['KEY_Limit', 'KEY_Exact', 'KEY_InSight', 'I5_NoOrphan', 'I14_One'],
  Line: ['ORDER_One', 'ORDER_Turn', 'ORDER_Head', 'ORDER_Place', 'I5_NoOrphan', 'I14_One'],
  Batch: ['BATCH_Count', 'BATCH_Called', 'BATCH_Once', 'I5_NoOrphan', 'I14_One'],
  Schedule: ['I20_Once', 'OCCURS_All', 'OCCURS_Once', 'OCCURS_Forward'],
  Journal: [
    // In this order: an event after an answer is first named as that, and only then as a second end.
    ...['JOURNAL_Stays', 'JOURNAL_Told', 'JOURNAL_Mine', 'OPEN_Once', 'ONCE_Recorded'],
    ...['ARRIVE_Wakes', 'ARRIVE_Seen', 'I5_NoOrphan'],
  ],
};

/** A property of steps, where a module has one. */
const OF_STEPS: Readonly<Partial<Record<Model['module'], string>>> = { Task: 'I1b_Sent', Lock: 'I1b_Sent' };

/** Actions that a key with one place has no room for. */
const OF_GROUPS = ['ClaimBoth', 'DoneBoth'];
const HAND_BACKS = ['Retry', 'Release', 'Progress'];
/** Actions that a model with one worker lacks. */
const OF_OTHERS = ['Expire', 'TakeOver', 'Bury'];
/** Actions that a model without late requests lacks. */
const OF_NETWORK = ['Arrive', 'ArriveMute', 'GetLost', 'Resend', 'GiveUp'];

export const MODELS: readonly Model[] = [
  {
    name: 'task-beat',
    what: 'heartbeats are late, twice or lost, and sessions end under way',
    module: 'Task',
    constants: { ...OF_TASKS, Late: '{"beat"}' },
    without: ['Bury', 'Crash', 'Destroy', 'GiveUp', 'Leave', 'Adopt', 'Go', ...HAND_BACKS],
  },
  {
    name: 'task-work',
    what: 'claims, takeovers and completions are late or lost, and workers give up on their answers',
    module: 'Task',
    constants: { ...OF_TASKS, Faults: '2' },
    without: ['Bury', 'Crash', 'Destroy', 'Go', ...HAND_BACKS],
  },
  {
    name: 'task-handback',
    what: 'the same worker has the task again: what it sent for an earlier claim arrives in a later one',
    module: 'Task',
    constants: {
      ...OF_TASKS,
      Workers: '{a}',
      Verbs: '{"retry", "release"}',
      MaxClaims: '2',
      Faults: '1',
      Copies: '2',
      MaxNet: '2',
    },
    without: ['Crash', 'Destroy', 'Go', 'Progress', ...OF_OTHERS],
  },
  {
    name: 'task-progress',
    what: 'progress that is late or twice',
    module: 'Task',
    constants: {
      ...OF_TASKS,
      Workers: '{a}',
      Verbs: '{"retry", "progress"}',
      MaxProgress: '2',
      Faults: '2',
      MaxNet: '2',
    },
    without: ['Crash', 'Destroy', 'Go', 'Release', ...OF_OTHERS],
  },
  {
    name: 'task-forced',
    what: 'an operator ends a session whose holder believes',
    module: 'Task',
    constants: { ...OF_TASKS, Force: 'TRUE', Faults: '1' },
    without: ['Bury', 'Crash', 'Go', ...HAND_BACKS],
  },
  {
    name: 'task-stale',
    what: 'contenders act on what they read earlier',
    module: 'Task',
    constants: { ...OF_TASKS, Stale: 'TRUE', Late: '{}' },
    without: ['Bury', ...OF_NETWORK, 'Crash', 'Destroy', 'Leave', 'Adopt', ...HAND_BACKS],
  },
  {
    name: 'task-live',
    what: 'a due task ends, whatever two faults do',
    module: 'Task',
    constants: { ...OF_TASKS, Faults: '2', Timely: 'TRUE' },
    liveness: 'Ends',
    without: ['Bury', 'Crash', 'Destroy', 'Go', ...HAND_BACKS],
  },
  {
    name: 'lock-beat',
    what: 'heartbeats are late, and keys stay closed after their holder vanished',
    module: 'Lock',
    constants: { ...OF_LOCKS, Late: '{"beat"}', Skew: '0', Faults: '0' },
    without: ['Resend', 'Crash', 'Destroy', 'ArriveMute', 'GetLost', 'GiveUp', 'Disown', 'Bar', 'Leave', 'Go'],
  },
  {
    name: 'lock-work',
    what: 'acquires and releases are late, and their senders give up on them',
    module: 'Lock',
    constants: { ...OF_LOCKS, Delay: '0', TTL: '1' },
    without: ['Crash', 'Destroy', 'Renew', 'Leave', 'Go'],
  },
  {
    name: 'lock-forced',
    what: 'an operator ends a session whose holder believes, and its key stays closed until that holder has stopped for certain',
    module: 'Lock',
    constants: { ...OF_LOCKS, Late: '{}', Force: 'TRUE', TTL: '1' },
    without: [...OF_NETWORK, 'Renew', 'Crash', 'Disown', 'Bar', 'Leave', 'Go'],
  },
  {
    name: 'lock-live',
    what: 'a held key is freed, and a free one is taken, whatever one fault does; no session expires, which would take more of them',
    module: 'Lock',
    constants: { ...OF_LOCKS, Delay: '0', Timely: 'TRUE' },
    liveness: 'IsFreed IsTaken',
    without: ['Expire', 'TakeOver', 'Settle', 'Crash', 'Destroy', 'Leave', 'Go'],
  },
  {
    name: 'commit',
    what: 'a condition refuses commits, and copies of them arrive when it has become true',
    module: 'Commit',
    constants: { ...OF_REQUESTS, Workers: '{a}', Faults: '3', MaxNet: '3', Commits: '2' },
    without: [],
  },
  {
    name: 'semaphore',
    what: 'three contend for two permits: a queue, dead holders, late and repeated requests, another limit',
    module: 'Semaphore',
    constants: { ...OF_SEMAPHORES, c: 'c', Workers: '{a, b, c}', Limit: '2', Force: 'FALSE' },
    without: ['Evict', 'Destroy', 'Expire', 'Mute'],
  },
  {
    name: 'semaphore-forced',
    what: 'two contend for a permit: evictions, sessions that are ended by force, and holders that hear nothing of it',
    module: 'Semaphore',
    constants: { ...OF_SEMAPHORES, Faults: '2' },
    without: [],
  },
  {
    name: 'fleet',
    what: 'two workers contend for the permits of two rows, while the limit is dealt anew',
    module: 'Fleet',
    constants: { ...OF_REQUESTS, Limits: '{1, 2}', Deals: '2' },
    without: [],
  },
  {
    name: 'group',
    what: 'members of two generations are added, leased, done or lost, while requests of the first one are late',
    module: 'WaitGroup',
    constants: { ...OF_REQUESTS, Members: '1', Gens: '2' },
    without: [],
  },
  {
    name: 'group-walk',
    what: 'waiters count two members, which end meanwhile',
    module: 'WaitGroup',
    constants: { ...OF_REQUESTS, Members: '2', Gens: '1', MaxNet: '1' },
    without: ['Begin'],
  },
  {
    name: 'group-live',
    what: 'a sealed group is complete at last, whatever one fault does',
    module: 'WaitGroup',
    constants: { ...OF_REQUESTS, Members: '1', Gens: '1', MaxNet: '1' },
    liveness: 'Completes',
    without: ['Begin'],
  },
  {
    name: 'rate',
    what: 'two take from a bucket that holds two tokens, by clocks that differ, and their takes are late or twice',
    module: 'RateLimit',
    constants: { ...OF_REQUESTS, Burst: '2', Skew: '1', Patience: '1' },
    without: ['Hear', 'ArriveMute', 'GetLost', 'Repeat', 'GiveUp', 'Die'],
  },
  {
    name: 'key',
    what: 'two tasks of a key with one place: claims, ends and moves to the others of the key are late or twice',
    module: 'Key',
    constants: { ...OF_QUEUES, Limit: '1' },
    without: ['Retry', ...OF_GROUPS],
  },
  {
    name: 'key-group',
    what: 'two tasks of a key with two places, claimed and ended one by one and both in one transaction',
    module: 'Key',
    constants: { ...OF_QUEUES, Limit: '2', MaxClaims: '2', MaxNet: '1' },
    without: ['JumpsOver', 'Forget', 'Join'],
  },
  {
    name: 'key-handback',
    what: 'tasks of a key that are handed back, one request under way',
    module: 'Key',
    constants: { ...OF_QUEUES, Limit: '1', MaxClaims: '2', MaxNet: '1' },
    without: OF_GROUPS,
  },
  {
    name: 'key-live',
    what: 'a key with room is served, and each of its tasks ends, whatever one fault does',
    module: 'Key',
    constants: { ...OF_QUEUES, Limit: '1', MaxNet: '1' },
    liveness: 'Served AllEnd',
    without: ['Retry', ...OF_GROUPS],
  },
  {
    name: 'line',
    what: 'two tasks join a line, one by one or both in one transaction, run in it, end, are cancelled and revived, and are handed back; rows are swept and lost',
    module: 'Line',
    constants: { ...OF_QUEUES, Tickets: '3', MaxClaims: '2', MaxNet: '1' },
    without: [],
  },
  {
    name: 'line-three',
    what: 'three tasks of a line, one request under way',
    module: 'Line',
    constants: { ...OF_QUEUES, Tasks: '3', Tickets: '3', MaxNet: '1' },
    without: ['Retry'],
  },
  {
    name: 'line-live',
    what: 'each task that joined a line ends, whatever one fault does',
    module: 'Line',
    constants: { ...OF_QUEUES, Tickets: '2', MaxNet: '1' },
    liveness: 'JoinedEnd',
    without: ['Retry'],
  },
  {
    name: 'batch',
    what: 'the children of a batch end at once, some by the hand of a contender, and the last one wakes the waiter, which an operator may cancel and retry',
    module: 'Batch',
    constants: { ...OF_QUEUES, MaxAttempts: '2', Faults: '2' },
    without: ['Retry'],
  },
  {
    name: 'batch-live',
    what: 'the waiter of a batch comes at last, whatever one fault does',
    module: 'Batch',
    constants: { ...OF_QUEUES, MaxAttempts: '1', MaxNet: '1' },
    liveness: 'IsCalled',
    without: ['Retry', 'Takes', 'Discard'],
  },
  {
    name: 'schedule',
    what: 'ticks that are delivered twice, and dispatchers that die before or after they make an occurrence’s task',
    module: 'Schedule',
    constants: { ...OF_REQUESTS, Times: '2', Faults: '2' },
    without: [],
  },
  {
    name: 'schedule-live',
    what: 'each occurrence becomes a task, whatever one fault does',
    module: 'Schedule',
    constants: { ...OF_REQUESTS, Times: '2', MaxNet: '1' },
    liveness: 'AllMade',
    without: [],
  },
  {
    name: 'journal',
    what: 'two workers and a callback that is answered or times out, while its task suspends, spills and dies, and requests are late or twice',
    module: 'Journal',
    constants: OF_JOURNALS,
    without: [],
  },
  {
    name: 'journal-live',
    what: 'a task that waits for a callback without a timeout ends once it is answered, whatever one fault does',
    module: 'Journal',
    constants: { ...OF_JOURNALS, HasTimeout: 'FALSE' },
    liveness: 'AnsweredEnds',
    without: ['TimeIsUp'],
  },
];

/** The configuration that TLC reads. */
export function configOf(model: Model, changes: Readonly<Record<string, string>> = {}): string {
  const property = model.liveness ?? OF_STEPS[model.module];
  const constants = Object.entries({ ...model.constants, ...changes }).map(([name, value]) => `${name} = ${value}`);
  return [
    `SPECIFICATION ${model.liveness === undefined ? 'Spec' : 'Fair'}`,
    'CONSTANTS',
    ...['a = a', 'b = b', ...constants, ...OPERATORS[model.module]].map((line) => `  ${line}`),
    `INVARIANTS ${INVARIANTS[model.module].join(' ')}`,
    ...(property === undefined ? [] : [`PROPERTIES ${property}`]),
    // Symmetry would hide behaviours from a property over whole ones.
    ...(model.liveness === undefined ? ['SYMMETRY Sym'] : []),
    'CHECK_DEADLOCK FALSE',
    '',
  ].join('\n');
}
