/**
 * Access to rows, on one page.
 *
 * A rule names the table or one index, single actions, and patterns of their partition keys.
 * No role scans, uses PartiQL, writes in unconditional batches, or administers the table.
 * No role deletes a row that counts leases, because it would forget its counter. Only payloads and positions in lines are deleted.
 * A transaction is authorised item by item, by its actions; there is no separate action to allow.
 */
import { continuationSchedule } from '../functions/env.ts';
import type { DIRECTORY_INDEX } from '../shared/dynamo/engine/schema.ts';
import { ATTRIBUTES } from '../shared/dynamo/engine/attribute-names.ts';
import { KEPT_OPTIONS, READY_INDEX } from '../shared/dynamo/engine/schema.ts';

export type RowAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem'
  | 'Query';

export interface AccessRule {
  /** The table itself, or one index of it; never both, because an index is keyed differently. */
  readonly on: 'table' | (typeof READY_INDEX)['name'] | (typeof DIRECTORY_INDEX)['name'];
  readonly actions: readonly RowAction[];
  /** Patterns of partition keys, of the index where the rule is on one: `*` is any text. */
  readonly keys: readonly string[];
  /** The only attributes that a request may mention, in its row, its condition or its effect. Default: any. */
  readonly attributes?: readonly string[];
  /**
   * Whether a write must not return the old or new row (`ReturnValues`). A put whose condition fails still gets the row that refused it:
   * IAM has no condition for that.
   */
  readonly returnsNothing?: true;
}

const COORDINATION_ROWS = ['session#*', 'lock#*', 'semaphore#*', 'waitgroup#*', 'ratelimit#*'];
const COORDINATION_LISTINGS = ['session#*', 'lock#*', 'semaphore'];
/** The members of one wait group share a partition. */
const MEMBERS: AccessRule = { on: 'table', actions: ['Query'], keys: ['waitgroup#*'] };

const taskRows = (queue: string): string => `task#${queue}#*`;
/** Children with a parent or a callback are counted in their batch. */
const batchRows = (queue: string): string => `batch#${queue}#*`;
/** A key's row counts its running tasks. */
const keyRows = (queue: string): string => `key#${queue}#*`;
/** Inputs that are too large for a task's row. */
const payloadRows = (queue: string): string => `payload#${queue}#*`;
/** The stacks of failed attempts. */
const failureRows = (queue: string): string => `failure#${queue}#*`;
/** Older parts of the journals of durable tasks. */
const journalRows = (queue: string): string => `journal#${queue}#*`;
/** External events for durable tasks. */
const arrivalRows = (queue: string): string => `arrival#${queue}#*`;
/** The turn of a key's ordered tasks. */
const lineRows = (queue: string): string => `line#${queue}#*`;
const tickRows = (schedule: string): string => `tick#${schedule}#*`;
const queueRow = (queue: string): string => `queue#${queue}`;
/** The semaphore that caps a queue's live workers. */
const permitsRow = (queue: string): string => `permits#${queue}`;
/** The permits of all queues, which operators see next to other semaphores and may change. */
const PERMITS = 'permits#*';
const scheduleRows = (queue: string): string => `schedule#${queue}#*`;
/** Due schedules in the ready index, and all schedules in the directory. */
const scheduleEntries = (queue: string): string => `schedule#${queue}`;
const AUDIT_ROWS = 'audit#*';
/** Without `ttl`, which would delete the record. */
const ACT_ATTRIBUTES = ['pk', 'sk', 'v', 'id', 'by', 'reason', 'name', 'value', 'status', 'createdAt', 'nonce'];
/** Without `ttl`, which no writer of the queue's row sets. */
const QUEUE_ATTRIBUTES = [
  ...['pk', 'sk', 'v', 'queue', 'paused', 'pausedTenants', 'reason', 'updatedAt', 'lanes', 'shards', 'listedSince'],
  ...['took', 'concurrency', 'startWithin', 'unknown', 'names', 'starts', 'nonce', 'directoryKey', 'directoryName'],
];
const readyEntries = (queue: string): string => `${queue}#*`;
/** Tasks of tenants and of keys with a limit, in the directory. */
const groupEntries = (queue: string): string => `group#${queue}#*`;
const deadListing = (queue: string): string => `dead#${queue}#*`;
/** Finished tasks of a queue that lists them. */
const endedListing = (queue: string): string => `ended#${queue}#*`;

/**
 * The dispatcher: takes its tick, creates the tasks of due schedules in the schedules' lines, requests replaced tasks to stop,
 * sets the maximum number of workers and the lanes in use, and counts workers and the backlog.
 */
export function dispatchAccess(queue: string): AccessRule[] {
  return [
    { on: 'table', actions: ['PutItem'], keys: [tickRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [scheduleRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'], keys: [taskRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [keyRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [lineRows(queue)] },
    { on: 'table', actions: ['GetItem'], keys: [queueRow(queue)] },
    { on: 'table', actions: ['UpdateItem'], keys: [queueRow(queue)], attributes: QUEUE_ATTRIBUTES },
    { on: 'table', actions: ['GetItem', 'Query', 'PutItem', 'UpdateItem'], keys: [permitsRow(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem'], keys: ['session#*'] },
    { on: 'table', actions: ['UpdateItem'], keys: ['session#*'], attributes: REVOCATION_ATTRIBUTES },
    { on: 'ready', actions: ['Query'], keys: [readyEntries(queue), scheduleEntries(queue)] },
    { on: 'directory', actions: ['Query'], keys: [groupEntries(queue)] },
  ];
}

/** A dispatcher can notify a session that one of its tasks must stop. It cannot end the session or keep it alive. */
const REVOCATION_ATTRIBUTES = ['pk', 'sk', 'status', 'revoked'];

/**
 * The waker: counts workers and the backlog, reads tasks that were just inserted,
 * writes the maximum number of workers and the lanes in use, and notes its starts in the queue's row.
 * It writes no task, so it cannot trigger itself.
 */
export function wakeAccess(queue: string): AccessRule[] {
  return [
    { on: 'table', actions: ['BatchGetItem'], keys: [taskRows(queue), keyRows(queue), lineRows(queue), 'session#*'] },
    { on: 'table', actions: ['GetItem'], keys: [queueRow(queue), permitsRow(queue)] },
    { on: 'table', actions: ['UpdateItem'], keys: [queueRow(queue)], attributes: QUEUE_ATTRIBUTES },
    { on: 'table', actions: ['Query', 'PutItem', 'UpdateItem'], keys: [permitsRow(queue)] },
    { on: 'ready', actions: ['Query'], keys: [readyEntries(queue)] },
    { on: 'directory', actions: ['Query'], keys: [groupEntries(queue)] },
  ];
}

/**
 * A worker: takes a permit, keeps a session, claims and finishes tasks, and adds their children and callbacks to the same queue.
 */
export function workAccess(queue: string): AccessRule[] {
  return [
    {
      on: 'table',
      actions: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
      keys: [taskRows(queue)],
    },
    { on: 'table', actions: ['GetItem', 'PutItem', 'UpdateItem'], keys: [batchRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [keyRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [lineRows(queue)] },
    { on: 'table', actions: ['GetItem', 'PutItem', 'DeleteItem'], keys: [payloadRows(queue)] },
    { on: 'table', actions: ['PutItem'], keys: [failureRows(queue)] },
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem'], keys: ['session#*'] },
    { on: 'table', actions: ['GetItem', 'Query', 'PutItem', 'UpdateItem'], keys: [permitsRow(queue)] },
    { on: 'table', actions: ['PutItem'], keys: [tickRows(continuationSchedule(queue))] },
    { on: 'table', actions: ['GetItem'], keys: [queueRow(queue)] },
    { on: 'table', actions: ['UpdateItem'], keys: [queueRow(queue)], attributes: HINT_ATTRIBUTES },
    { on: 'ready', actions: ['Query'], keys: [readyEntries(queue)] },
    { on: 'directory', actions: ['Query'], keys: [groupEntries(queue)] },
    { on: 'table', actions: ['Query', 'PutItem', 'UpdateItem'], keys: [journalRows(queue), arrivalRows(queue)] },
  ];
}

/**
 * A worker in a container, with `createWorker`: it works like a deployed one, without permits, continuations and hints, and is its own
 * dispatcher: it defines the schedules of its module, and creates the tasks of due schedules.
 */
export function containerAccess(queue: string): AccessRule[] {
  const deployedOnly = new Set([permitsRow(queue), tickRows(continuationSchedule(queue))]);
  return [
    ...workAccess(queue).filter(
      ({ keys, attributes }) => attributes !== HINT_ATTRIBUTES && !keys.some((key) => deployedOnly.has(key)),
    ),
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [scheduleRows(queue)] },
    { on: 'ready', actions: ['Query'], keys: [scheduleEntries(queue)] },
  ];
}

/** A worker writes hints for plans into its queue's row, but cannot pause or resume the queue. */
const HINT_ATTRIBUTES = ['pk', 'sk', 'took', 'unknown', 'names', 'concurrency', 'startWithin'];

/**
 * Attributes of a new task: no attributes of a holder, an end, or a result.
 * IAM ignores conditions, so a producer could overwrite an existing row, but cannot make it look finished.
 */
const NEW_TASK_ATTRIBUTES = [
  ...['pk', 'sk', 'v', 'queue', 'name', 'priority', 'input', 'state', 'createdAt', 'createdBy', 'attempts'],
  ...['leaseCounter', 'nonce', 'readyKey', 'readyAt', 'directoryKey', 'directoryName', 'line', 'ticket', 'expiresAt'],
  ...KEPT_OPTIONS,
  ...['tenant', 'payload', 'batch', 'children', 'key', 'total', 'barred'],
];

/** Without `ttl` and `finishedAt`. */
const NEW_BATCH_ATTRIBUTES = [
  ...['pk', 'sk', 'v', 'queue', 'total', 'pending', 'left', 'done', 'dead', 'cancelled'],
  ...['waiter', 'childrenDigest', 'nonce'],
];
/** A join removes `ttl`; IAM cannot tell that from setting it. */
const JOIN_ATTRIBUTES = ['pk', 'sk', 'v', 'tail', 'turn', 'nonce', 'ttl'];

/** A producer: puts tasks and batches into the queue, and reads them. */
export function enqueueAccess(queue: string): AccessRule[] {
  return [
    { on: 'table', actions: ['GetItem', 'BatchGetItem'], keys: [taskRows(queue)] },
    { on: 'table', actions: ['PutItem'], keys: [taskRows(queue)], attributes: NEW_TASK_ATTRIBUTES },
    { on: 'table', actions: ['GetItem'], keys: [batchRows(queue), lineRows(queue)] },
    { on: 'table', actions: ['PutItem'], keys: [batchRows(queue)], attributes: NEW_BATCH_ATTRIBUTES },
    { on: 'table', actions: ['UpdateItem'], keys: [lineRows(queue)], attributes: JOIN_ATTRIBUTES },
    { on: 'table', actions: ['PutItem', 'DeleteItem'], keys: [payloadRows(queue)], returnsNothing: true },
  ];
}

/**
 * A producer that also gives new input to existing tasks, with `onDuplicate: 'replace'` or `'debounce'`.
 * An ended task then starts again, which removes its result and its end, so any attribute may be written.
 */
export function replaceAccess(queue: string): AccessRule[] {
  return [...enqueueAccess(queue), { on: 'table', actions: ['UpdateItem'], keys: [taskRows(queue)] }];
}

/**
 * The attributes that an answer writes in a durable task's row: its journal, and when it is due. Input, result and holder stay. IAM
 * does not distinguish an attribute in a condition from a written one, so the state is in the list.
 */
const ANSWER_ATTRIBUTES = [
  ...['pk', 'sk', 'state', 'nonce', 'journal', 'open', 'beats'],
  ...['readyKey', 'readyAt', 'directoryKey', 'directoryName'],
];

/** A principal that answers callbacks of durable tasks: reads a task, and notes the answer. */
export function callbackAccess(queue: string): AccessRule[] {
  return [
    { on: 'table', actions: ['GetItem'], keys: [taskRows(queue)] },
    {
      on: 'table',
      actions: ['UpdateItem'],
      keys: [taskRows(queue)],
      attributes: ANSWER_ATTRIBUTES,
      returnsNothing: true,
    },
    { on: 'table', actions: ['PutItem'], keys: [arrivalRows(queue)], returnsNothing: true },
  ];
}

/** All attributes but the keys of the ready index, which would put a coordination row among the tasks that may be due. */
const ATTRIBUTES_OUT_OF_READY = [...ATTRIBUTES].filter(
  (name) => name !== READY_INDEX.partitionKey && name !== READY_INDEX.sortKey,
);

/** A program that coordinates: sessions, locks, elections, semaphores and wait groups, but no tasks. */
export function coordinateAccess(): AccessRule[] {
  return [
    { on: 'table', actions: ['GetItem', 'BatchGetItem'], keys: COORDINATION_ROWS },
    {
      on: 'table',
      actions: ['PutItem', 'UpdateItem', 'ConditionCheckItem'],
      keys: COORDINATION_ROWS,
      attributes: ATTRIBUTES_OUT_OF_READY,
    },
    MEMBERS,
    { on: 'directory', actions: ['Query'], keys: COORDINATION_LISTINGS },
  ];
}

/** Defines, lists and removes recurring tasks. */
export function scheduleAccess(queue: string): AccessRule[] {
  return [
    { on: 'table', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'], keys: [scheduleRows(queue)] },
    { on: 'directory', actions: ['Query'], keys: [scheduleEntries(queue)] },
  ];
}

/** An observer: reads everything of the queue, payloads included, and all coordination rows; changes nothing. */
export function observeAccess(queue: string): AccessRule[] {
  return [
    {
      on: 'table',
      actions: ['GetItem', 'BatchGetItem'],
      keys: [
        ...[
          taskRows(queue),
          batchRows(queue),
          keyRows(queue),
          lineRows(queue),
          payloadRows(queue),
          failureRows(queue),
          scheduleRows(queue),
          tickRows(queue),
          queueRow(queue),
        ],
        ...COORDINATION_ROWS,
        PERMITS,
      ],
    },
    { on: 'table', actions: ['Query'], keys: [AUDIT_ROWS, PERMITS, journalRows(queue), arrivalRows(queue)] },
    MEMBERS,
    { on: 'ready', actions: ['Query'], keys: [readyEntries(queue), scheduleEntries(queue)] },
    {
      on: 'directory',
      actions: ['Query'],
      keys: [
        ...COORDINATION_LISTINGS,
        ...[deadListing(queue), endedListing(queue), groupEntries(queue), scheduleEntries(queue)],
      ],
    },
  ];
}

/**
 * An operator: observes, and acts: retry, cancel, pause, schedule, force-release, destroy a session; each action is recorded.
 * A cancelled child may be its batch's last, whose callback then enters the queue.
 */
export function operateAccess(queue: string): AccessRule[] {
  return [
    ...observeAccess(queue),
    {
      on: 'table',
      actions: ['UpdateItem', 'ConditionCheckItem'],
      keys: [taskRows(queue), batchRows(queue), keyRows(queue), ...COORDINATION_ROWS, PERMITS],
    },
    { on: 'table', actions: ['UpdateItem'], keys: [queueRow(queue)], attributes: QUEUE_ATTRIBUTES },
    { on: 'table', actions: ['PutItem'], keys: [taskRows(queue), arrivalRows(queue)] },
    { on: 'table', actions: ['UpdateItem'], keys: [lineRows(queue)] },
    { on: 'table', actions: ['UpdateItem'], keys: [scheduleRows(queue)] },
    { on: 'table', actions: ['PutItem', 'UpdateItem'], keys: [AUDIT_ROWS], attributes: ACT_ATTRIBUTES },
  ];
}
