/**
 * Write units per operation, by our own capacity model, for rows as the statements write them.
 * `npm run bench -- units` measures the same operations on an engine and compares the two.
 */
import { inTransaction, readUnitsOfBytes, sized, writeUnits, writeUnitsOfBytes } from '../../dynamo/engine/capacity.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { READY_INDEX, RETENTION_DAYS, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import { DEFLATE_FROM_BYTES } from '../../dynamo/engine/stored-json.ts';
import { putPayload } from '../../tasks/rows/payload-statements.ts';
import { createSemaphore } from '../../coordination/semaphore/row/semaphore-statements.ts';
import { createSession } from '../../session/row/session-statements.ts';
import { pastAttempt } from '../../tasks/rows/task/history.ts';
import { enqueueTask } from '../../tasks/rows/task/task-statements.ts';
import type { NewSession } from '../../session/session-store.ts';
import type { NewTask } from '../../tasks/task/task-store.ts';
import { INPUT_LIMIT_BYTES } from '../../tasks/task/task.ts';
import type { Workload } from './workload.ts';
import type { VerbUnits } from './verb-units.ts';
import {
  NOW,
  STAMP,
  STORAGE_OVERHEAD_BYTES,
  TABLE_SHAPE,
  UUID,
  refusedCommitUnits,
  tableOnly,
  together,
  unitsOf,
  verbUnits,
} from './verb-units.ts';

export type TaskShape = Pick<Workload, 'inputBytes' | 'resultBytes' | 'deflatedShare' | 'commitItems'>;

export interface VerbTable {
  readonly enqueue: VerbUnits;
  readonly claim: VerbUnits;
  readonly complete: VerbUnits;
  /** With the user's items. */
  readonly commit: VerbUnits;
  /** Refused by one of their conditions, and barred. */
  readonly refusedCommit: VerbUnits;
  readonly retry: VerbUnits;
  readonly refusedClaim: VerbUnits;
  /** Cost of an input that is stored outside its row; 0 for other inputs. */
  readonly removePayload: VerbUnits;
  /** Its read units per attempt. */
  readonly payloadReadUnits: number;
  readonly createSession: VerbUnits;
  readonly heartbeat: VerbUnits;
  readonly endSession: VerbUnits;
  readonly acquirePermit: VerbUnits;
  readonly releasePermit: VerbUnits;
  /** Bytes of a finished task's own row, the service's own 100 included. */
  readonly storedBytes: number;
}

const DIGEST_DIGITS = 64;

export function verbTable(shape: TaskShape): VerbTable {
  const ready = readyTask(shape);
  const payload = payloadRow(shape);
  const running: DynamoItem = { ...ready, state: 'running', session: UUID, claimedAt: NOW, attempts: 1 };
  const done = doneTask(running, shape);
  const retried: DynamoItem = {
    ...ready,
    attempts: 1,
    readyAt: NOW + 1,
    lastError: ERROR,
    past0: pastAttempt({ leaseCounter: NOW, session: UUID, claimedAt: NOW }, 'failed', NOW, ERROR),
  };
  const live = createSession('t', SESSION).input.Item as DynamoItem;
  // The ended session also leaves the directory.
  const { directoryKey: _key, directoryName: _name, ...unlisted } = live;
  const ended: DynamoItem = { ...unlisted, status: 'invalid', reason: 'ended', invalidatedAt: NOW };
  const free = createSemaphore('t', { name: 'workers/default', limit: 10 }, undefined, STAMP).input.Item as DynamoItem;
  const held = createSemaphore('t', { name: 'workers/default', limit: 10 }, PERMIT, STAMP).input.Item as DynamoItem;
  const complete = unitsOf(running, done);
  return {
    enqueue: payload === undefined ? unitsOf(undefined, ready) : inOne(ready, payload),
    claim: unitsOf(ready, running),
    complete,
    commit: shape.commitItems === 0 ? complete : commitUnits(running, done, shape.commitItems),
    refusedCommit: refusedCommitUnits(running, { ...running, sequence: 1 }, shape.commitItems),
    retry: unitsOf(running, retried),
    refusedClaim: tableOnly(writeUnitsOfBytes(sized(running).bytes)),
    removePayload: tableOnly(payload === undefined ? 0 : writeUnitsOfBytes(sized(payload).bytes)),
    payloadReadUnits: payload === undefined ? 0 : readUnitsOfBytes(sized(payload).bytes, { consistent: true }),
    createSession: unitsOf(undefined, live),
    heartbeat: unitsOf(live, { ...live, expiresAt: NOW + 1, renewals: 1 }),
    endSession: unitsOf(live, ended),
    acquirePermit: unitsOf(free, held),
    releasePermit: unitsOf(held, free),
    storedBytes: sized(done).bytes + STORAGE_OVERHEAD_BYTES,
  };
}

const SESSION: NewSession = {
  id: UUID,
  name: 'worker/default',
  node: 'x'.repeat(60),
  ttlMs: 30_000,
  lockDelayMs: 15_000,
  behaviour: 'release',
  ...STAMP,
};
const PERMIT = { session: UUID, since: NOW, permits: 1 };

function readyTask(shape: TaskShape): DynamoItem {
  const { Item } = enqueueTask('t', taskOf(shape.inputBytes), 8, STAMP).input;
  return shape.inputBytes > INPUT_LIMIT_BYTES ? { ...Item } : { ...Item, input: storedText(shape.inputBytes, shape) };
}

/** The row of an input that does not fit into its task's. */
function payloadRow(shape: TaskShape): DynamoItem | undefined {
  if (shape.inputBytes <= INPUT_LIMIT_BYTES) return undefined;
  const { Item } = putPayload('t', TASK, '', { nonce: STAMP.nonce }).input;
  return { ...Item, text: storedText(shape.inputBytes, shape) };
}

/** JSON of the given size, in the form that its row stores. */
function storedText(bytes: number, { deflatedShare }: TaskShape): string {
  return 'x'.repeat(bytes < DEFLATE_FROM_BYTES ? bytes : Math.ceil(bytes * deflatedShare));
}

const ERROR = { name: 'Error', message: 'x'.repeat(60), at: NOW };
const TASK = { queue: 'default', id: UUID, name: 'task.name', priority: 'normal' as const, runAt: NOW };

function taskOf(inputBytes: number): NewTask {
  const payload = { text: '', bytes: inputBytes, digest: 'x'.repeat(DIGEST_DIGITS) };
  return { ...TASK, input: null, ...(inputBytes > INPUT_LIMIT_BYTES && { payload }) };
}

/** A task and its payload, created in one transaction. */
function inOne(ready: DynamoItem, payload: DynamoItem): VerbUnits {
  const rows = [ready, payload].map((row) => verbUnits(inTransaction(writeUnits(TABLE_SHAPE, undefined, sized(row)))));
  return rows.reduce(together);
}

function doneTask(running: DynamoItem, shape: TaskShape): DynamoItem {
  const { [READY_INDEX.partitionKey]: _, [READY_INDEX.sortKey]: __, ...rest } = running;
  const finished = { ...rest, state: 'done', finishedAt: NOW, ttl: ttlEpochSeconds(NOW, RETENTION_DAYS.task) };
  return shape.resultBytes === 0 ? finished : { ...finished, result: storedText(shape.resultBytes, shape) };
}

/** The task's row doubles, its index does not; the user's items double as well. */
function commitUnits(running: DynamoItem, done: DynamoItem, items: number): VerbUnits {
  const own = verbUnits(inTransaction(writeUnits(TABLE_SHAPE, sized(running), sized(done))));
  const theirs = 2 * items;
  return { ...own, table: own.table + theirs, total: own.total + theirs };
}
