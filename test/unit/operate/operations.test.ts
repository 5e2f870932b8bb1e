/** Operators' acts are written down before they are done: an operator who cannot write does nothing. */
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import { callbackIdOf } from '../../../shared/tasks/durable/callback-id.ts';
import { expect, test } from 'vitest';
import { AuditStore } from '../../../shared/operate/audit/audit-store.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { MismatchError } from '../../../shared/core/errors.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { Leasehold } from '../../../shared/client/leasehold.ts';
import type { Stores } from '../../../shared/client/stores.ts';
import { createStores } from '../../../shared/client/stores.ts';
import type { OperationVerb } from '../../../shared/operate/operations.ts';
import { Operations } from '../../../shared/operate/operations.ts';
import { Callbacks } from '../../../shared/tasks/durable/callbacks.ts';
import { DEFAULT_SHARDS } from '../../../shared/tasks/task/task.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { FakeClock } from '../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'leases';
const STARTS_AT = Date.parse('2026-01-01T00:00:00Z');
/** When the operator read the list of dead tasks. */
const LOOKED_AT = STARTS_AT + 60_000;
const ANN = { by: 'ann', reason: 'a drill' };

class World {
  /** Partition keys of the rows that are written, in order. */
  readonly written: string[] = [];
  isAuditRefused = false;
  isOutcomeRefused = false;
  readonly clock = new FakeClock(new Date(STARTS_AT));
  readonly stores: Stores;
  readonly audit: AuditStore;
  readonly leasehold: Leasehold;
  readonly operations: Operations;

  constructor() {
    const { clock } = this;
    const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
    const sender = new Sender({
      driver: this.#watched(simulatedDriver(memoryDynamo(TABLE, () => clock.now()))),
      runtime,
    });
    this.leasehold = new Leasehold({ sender, gauge: noSkewGauge, runtime }, { table: TABLE });
    this.stores = createStores(sender, { table: TABLE, shards: DEFAULT_SHARDS });
    this.audit = new AuditStore({ sender, runtime }, TABLE);
    const { tasks, operator, locks, semaphores, sessions } = this.leasehold;
    const schedules = schedulesOf(this.leasehold);
    this.operations = new Operations({
      audit: this.audit,
      tasks,
      callbacks: new Callbacks({ store: this.stores.tasks, runtime }),
      operator,
      locks,
      semaphores,
      sessions,
      schedules,
      runtime,
    });
  }

  /** A waiting task is claimed, and dies of its error. */
  async die(id: string, name: string): Promise<void> {
    const { tasks } = this.stores;
    const now = this.clock.now();
    const task = await tasks.get({ queue: 'media', id });
    const claim = task?.state === 'ready' && (await tasks.claim(task, 'gone', { now, nonce: systemIds.unique() }));
    if (!claim || claim.kind !== 'applied') throw new Error('not claimed');
    await tasks.discard(claim.row, { name, message: 'no size', at: now }, { now, nonce: systemIds.unique() });
  }

  async acts(): Promise<readonly string[]> {
    return (await Array.fromAsync(this.audit.list()))
      .map(({ verb, target, outcome }) => `${verb} ${target}: ${outcome}`)
      .reverse();
  }

  #watched(driver: DynamoDriver): DynamoDriver {
    return {
      attempt: (kind, input, signal) => {
        const isRead = kind === 'get' || kind === 'batchGet' || kind === 'query';
        const [row = ''] = /(?<="pk":")[^"]*/.exec(JSON.stringify(input)) ?? [];
        const isRefused = this.isAuditRefused || (kind === 'update' && this.isOutcomeRefused);
        if (!isRead && row.startsWith('audit') && isRefused)
          throw new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not for you' });
        if (!isRead) this.written.push(row);
        return driver.attempt(kind, input, signal);
      },
    };
  }
}

const task = { queue: 'media', id: 'a', leaseCounter: undefined };
const CALLBACK = callbackIdOf({ queue: 'media', id: 'a' }, 'op.secret');

const INPUTS: readonly (readonly [OperationVerb, object])[] = [
  ['task.run-now', task],
  ['task.retry', task],
  ['task.cancel', task],
  ['queue.pause', { queue: 'media' }],
  ['queue.resume', { queue: 'media' }],
  ['queue.retry', { queue: 'media' }],
  ['key.recount', { queue: 'media', key: 'customer-7' }],
  ['key.pass', { queue: 'media', key: 'customer-7' }],
  ['callback.succeed', { callbackId: CALLBACK, result: 'yes' }],
  ['callback.fail', { callbackId: CALLBACK, failure: { message: 'no' } }],
  ['lock.release', { key: 'reports', leaseCounter: 1 }],
  ['semaphore.evict', { name: 'uploads', token: 1 }],
  ['semaphore.limit', { name: 'uploads', limit: 2, seen: 1 }],
  ['session.destroy', { id: 'gone' }],
];

test.each(INPUTS)('%s is written down first, and not done when that fails', async (verb, input) => {
  const world = new World();
  await world.leasehold.tasks.enqueue('resize', null, { id: 'a', queue: 'media', delay: '1d' });
  world.written.length = 0;

  await world.operations.execute(verb, input as never, ANN);
  const [first] = world.written;
  world.isAuditRefused = true;
  world.written.length = 0;

  expect(first).toMatch(/^audit/);
  await expect(world.operations.execute(verb, input as never, ANN)).rejects.toThrow('not for you');
  expect(world.written).toEqual([]);
});

test.each([
  ['of a name', { name: 'resize' }, ['old', 'young']],
  ['with a fault', { fault: 'TypeError: no size' }, ['old', 'other']],
  ['that had died by the time of the look', { diedUntil: LOOKED_AT }, ['old', 'other']],
  ['of the whole queue', {}, ['old', 'other', 'young']],
])('queue.retry retries only tasks %s', async (_which, input, retried) => {
  const world = new World();
  for (const [id, name] of Object.entries({ old: 'resize', other: 'send', young: 'resize' }))
    await world.leasehold.tasks.enqueue(name, null, { id, queue: 'media' });
  await world.die('old', 'TypeError');
  await world.die('other', 'TypeError');
  await world.clock.advance(LOOKED_AT - STARTS_AT + 1);
  await world.die('young', 'RangeError');

  await world.operations.execute('queue.retry', { queue: 'media', ...input }, ANN);

  const waiting = [];
  for (const id of ['old', 'other', 'young'])
    if ((await world.leasehold.tasks.get(id, 'media'))?.state === 'ready') waiting.push(id);
  expect(waiting).toEqual(retried);
});

test('leaves a task alone that was claimed since it was seen, and records that', async () => {
  const world = new World();
  await world.leasehold.tasks.enqueue('resize', null, { id: 'a', queue: 'media', delay: '1d' });

  await expect(world.operations.execute('task.cancel', { ...task, leaseCounter: 7 }, ANN)).rejects.toThrow(
    MismatchError,
  );

  expect(await world.acts()).toEqual(['task.cancel media/a 7: failed: MismatchError']);
});

test('is done, and said to be, although its outcome could not be written down', async () => {
  const world = new World();
  world.isOutcomeRefused = true;

  expect(await world.operations.execute('queue.pause', { queue: 'media' }, ANN)).toMatchObject({ isPaused: true });
  expect(await world.acts()).toEqual(['queue.pause media: begun']);
});
