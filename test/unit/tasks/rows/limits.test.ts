/** Each write on behalf of a session ends with its trust: every operation of the stores hands its limits on to the sender. */
import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import type { WriteLimits } from '../../../../shared/core/lease/write.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createQueueStore } from '../../../../shared/tasks/rows/dynamo-queue-store.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import type { CancelledTask, ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { claimed, enqueued, newTask, numbered, stamp } from '../../../support/tasks.ts';

const TABLE = 'leasehold';
const ERROR = { name: 'Error', message: 'boom', at: 1 };
const PAYLOAD = { bytes: 7, digest: 'd', nonce: 'n', reference: undefined, isApart: false };

function openStores() {
  const written: string[] = [];
  const driver = simulatedDriver(memoryDynamo(TABLE, Date.now));
  const counting: DynamoDriver = {
    attempt(kind, input, signal) {
      if (kind === 'put' || kind === 'update' || kind === 'delete' || kind === 'transactWrite') written.push(kind);
      return driver.attempt(kind, input, signal);
    },
  };
  const sender = new Sender({ driver: counting, runtime: systemRuntime });
  return {
    written,
    tasks: createTaskStore(sender, { table: TABLE, shards: 1 }),
    queues: createQueueStore(sender, TABLE),
  };
}

type Stores = ReturnType<typeof openStores>;

let stores: Stores;
let ready: ReadyTask;
let running: RunningTask;

beforeEach(async () => {
  stores = openStores();
  ready = await enqueued(stores.tasks);
  running = await claimed(stores.tasks);
});

type Act = (stores: Stores, limits: WriteLimits) => Promise<unknown>;

const OF_TASKS: Readonly<Record<string, Act>> = {
  getPayload: ({ tasks }, limits) => tasks.getPayload({ ...running, payload: PAYLOAD }, limits),
  deletePayload: ({ tasks }, limits) => tasks.deletePayload(running, PAYLOAD, limits),
  keepFailure: ({ tasks }, limits) => tasks.keepFailure(claimOf(running), 'stack', stamp(), limits),
  claim: ({ tasks }, limits) => tasks.claim(ready, 's', stamp(), limits),
  join: ({ tasks }, limits) =>
    tasks.join({ ...ready, links: { concurrency: { key: 'k', limit: 1, rate: undefined } } }, stamp(), limits),
  passTurn: ({ tasks }, limits) =>
    tasks.passTurn(
      { ...ready, state: 'cancelled', links: { line: { key: 'k', ticket: 1 } } } as unknown as CancelledTask,
      stamp(),
      limits,
    ),
  takeOver: ({ tasks }, limits) => tasks.takeOver(running, 's', stamp(), limits),
  complete: ({ tasks }, limits) => tasks.complete(claimOf(running), 1, stamp(), limits),
  commit: ({ tasks }, limits) => tasks.commit(claimOf(running), 1, [], numbered(), limits),
  bar: ({ tasks }, limits) => tasks.bar(claimOf(running), numbered(), limits),
  retry: ({ tasks }, limits) => tasks.retry(claimOf(running), { error: ERROR, readyAt: 1 }, stamp(), limits),
  waitForChildren: ({ tasks }, limits) =>
    tasks.waitForChildren(claimOf(running), 'b', [newTask({ links: { batch: 'b' } })], numbered(), limits),
  discard: ({ tasks }, limits) => tasks.discard(claimOf(running), ERROR, stamp(), limits),
  giveUp: ({ tasks }, limits) => tasks.giveUp(claimOf(running), 'enough', stamp(), limits),
  release: ({ tasks }, limits) => tasks.release(claimOf(running), stamp(), limits),
  snooze: ({ tasks }, limits) => tasks.snooze(claimOf(running), 1, stamp(), limits),
  progress: ({ tasks }, limits) => tasks.progress(claimOf(running), 1, numbered(), limits),
};
const OF_QUEUES: Readonly<Record<string, Act>> = {
  announceNames: ({ queues }, limits) => queues.announceNames('q', undefined, ['a'], stamp(), limits),
  noteHints: ({ queues }, limits) =>
    queues.noteHints(
      'q',
      {
        tookMs: 1,
        unknownNames: [],
        announcedNames: [],
        workerSettings: { concurrency: 1, startWithinMs: 1 },
      },
      stamp(),
      limits,
    ),
};

const VERBS = [...Object.entries(OF_TASKS), ...Object.entries(OF_QUEUES)];

describe.each(VERBS)('%s', (_verb, act) => {
  test('writes nothing without trust', async () => {
    const lost = new LeaseLostError('session', 'expired', 'test');
    stores.written.length = 0;
    const ensureTrusted = (): never => {
      throw lost;
    };

    await expect(act(stores, { ensureTrusted })).rejects.toBe(lost);
    expect(stores.written).toEqual([]);
  });
});

/** Reads, and writes of no session: what operators do, or what is done for a holder that is over. */
const WITHOUT_LIMITS = {
  tasks: [
    ...['enqueue', 'get', 'replace', 'follow', 'renew', 'page', 'pageOfGroups', 'getKeys', 'getTurns', 'getMany'],
    ...['putPayload', 'enqueueWith', 'createBatch', 'getBatch', 'getFailure', 'markDead', 'cancel', 'expire'],
  ],
  queues: ['get', 'glance', 'change', 'noteUse', 'noteStarts', 'listFinished'],
};

test('each operation has limits, or is known to have none', () => {
  const verbsOf = (store: object): string[] =>
    Object.entries(store).flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));

  expect(verbsOf(stores.tasks).sort()).toEqual([...Object.keys(OF_TASKS), ...WITHOUT_LIMITS.tasks].sort());
  expect(verbsOf(stores.queues).sort()).toEqual([...Object.keys(OF_QUEUES), ...WITHOUT_LIMITS.queues].sort());
});
