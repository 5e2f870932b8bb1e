/**
 * Write units per verb, by our own capacity model, of rows as the statements write them.
 * `npm run units` measures the same verbs on an engine and shows the two side by side.
 */
import type { SizedItem, TableShape } from '../dynamo/capacity.ts';
import { inTransaction, sized, writeUnits, writeUnitsOfBytes } from '../dynamo/capacity.ts';
import type { DynamoItem } from '../dynamo/driver.ts';
import { DIRECTORY_INDEX, READY_INDEX, RETENTION_DAYS, TABLE, ttlEpochSeconds } from '../dynamo/schema.ts';
import { createSemaphore } from '../dynamo/statements/semaphore.ts';
import { createSession } from '../dynamo/statements/session.ts';
import { enqueueTask } from '../dynamo/statements/task.ts';

/** The table's and each index's share, for throughput is limited for each of them. */
export interface VerbUnits {
  readonly table: number;
  readonly readyIndex: number;
  readonly directoryIndex: number;
  readonly total: number;
}

export interface TaskShape {
  readonly inputBytes: number;
  readonly resultBytes: number;
  /** Items of the user's own, of up to 1 KB, that a task writes in its `commit`; 0: it completes without a transaction. */
  readonly commitItems: number;
}

export interface VerbTable {
  readonly enqueue: VerbUnits;
  readonly claim: VerbUnits;
  readonly complete: VerbUnits;
  /** With the user's items. */
  readonly commit: VerbUnits;
  readonly retry: VerbUnits;
  readonly refusedClaim: VerbUnits;
  readonly createSession: VerbUnits;
  readonly heartbeat: VerbUnits;
  readonly endSession: VerbUnits;
  readonly acquirePermit: VerbUnits;
  readonly releasePermit: VerbUnits;
  /** Bytes of a finished task's row, the service's own 100 included. */
  readonly storedBytesPerTask: number;
}

/** The table as the capacity model sees it. */
export const TABLE_SHAPE: TableShape = {
  keys: [TABLE.partitionKey, TABLE.sortKey],
  indexes: [READY_INDEX, DIRECTORY_INDEX].map(({ name, partitionKey, sortKey }) => ({
    name,
    keys: [partitionKey, sortKey],
    projection: 'KEYS_ONLY',
  })),
};

const STORAGE_OVERHEAD_BYTES = 100;
/** Any moment: all of this century are equally long. */
const NOW = 1_795_000_000_123;
const UUID = '00000000-0000-4000-8000-000000000000';
const JSON_QUOTES_BYTES = 2;

export function verbTable(shape: TaskShape): VerbTable {
  const ready = readyTask(shape);
  const running: DynamoItem = { ...ready, state: 'running', session: UUID, claimedAt: NOW, attempts: 1 };
  const done = doneTask(running, shape);
  const retried: DynamoItem = {
    ...ready,
    attempts: 1,
    readyAt: NOW + 1,
    lastError: { name: 'Error', message: 'x'.repeat(60), at: NOW },
  };
  const live = createSession('t', SESSION).input.Item as DynamoItem;
  const ended: DynamoItem = { ...live, status: 'invalid', reason: 'ended', invalidatedAt: NOW };
  const free = createSemaphore('t', { name: 'workers/default', limit: 10 }, undefined, STAMP).input.Item as DynamoItem;
  const held = createSemaphore('t', { name: 'workers/default', limit: 10 }, PERMIT, STAMP).input.Item as DynamoItem;
  const complete = unitsOf(running, done);
  return {
    enqueue: unitsOf(undefined, ready),
    claim: unitsOf(ready, running),
    complete,
    commit: shape.commitItems === 0 ? complete : commitUnits(running, done, shape.commitItems),
    retry: unitsOf(running, retried),
    refusedClaim: tableOnly(writeUnitsOfBytes(sized(running).bytes)),
    createSession: unitsOf(undefined, live),
    heartbeat: unitsOf(live, { ...live, expiresAt: NOW + 1, renewals: 1 }),
    endSession: unitsOf(live, ended),
    acquirePermit: unitsOf(free, held),
    releasePermit: unitsOf(held, free),
    storedBytesPerTask: sized(done).bytes + STORAGE_OVERHEAD_BYTES,
  };
}

const STAMP = { now: NOW, nonce: UUID };
const SESSION = {
  ...{
    id: UUID,
    name: 'worker/default',
    node: 'x'.repeat(60),
    ttlMs: 30_000,
    lockDelayMs: 15_000,
    behaviour: 'release',
  },
  ...STAMP,
};
const PERMIT = { session: UUID, since: NOW, permits: 1 };

function readyTask({ inputBytes }: TaskShape): DynamoItem {
  const input = 'x'.repeat(Math.max(0, inputBytes - JSON_QUOTES_BYTES));
  const task = { queue: 'default', id: UUID, name: 'task.name', input, priority: 'normal' as const, runAt: NOW };
  return enqueueTask('t', task, 8, STAMP).input.Item as DynamoItem;
}

function doneTask(running: DynamoItem, { resultBytes }: TaskShape): DynamoItem {
  const { [READY_INDEX.partitionKey]: _, [READY_INDEX.sortKey]: __, ...rest } = running;
  const finished = { ...rest, state: 'done', finishedAt: NOW, ttl: ttlEpochSeconds(NOW, RETENTION_DAYS.task) };
  return resultBytes === 0 ? finished : { ...finished, result: 'x'.repeat(resultBytes) };
}

function unitsOf(before: DynamoItem | undefined, after: DynamoItem): VerbUnits {
  return verbUnits(writeUnits(TABLE_SHAPE, size(before), sized(after)));
}

/** The task's row doubles, its index does not; the user's items double as well. */
function commitUnits(running: DynamoItem, done: DynamoItem, items: number): VerbUnits {
  const own = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, sized(running), sized(done))));
  const theirs = 2 * items;
  return { ...own, table: own.table + theirs, total: own.total + theirs };
}

function tableOnly(table: number): VerbUnits {
  return verbUnits({ table, indexes: {} });
}

function verbUnits({ table, indexes }: ReturnType<typeof writeUnits>): VerbUnits {
  const readyIndex = indexes[READY_INDEX.name] ?? 0;
  const directoryIndex = indexes[DIRECTORY_INDEX.name] ?? 0;
  return { table, readyIndex, directoryIndex, total: table + readyIndex + directoryIndex };
}

function size(item: DynamoItem | undefined): SizedItem | undefined {
  return item === undefined ? undefined : sized(item);
}
