/** Operators' acts are written down before they are done: an operator who cannot write does nothing. */
import { expect, test } from 'vitest';
import { AuditStore } from '../../../shared/operate/audit/audit-store.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { MismatchError } from '../../../shared/core/errors.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { Leasehold } from '../../../shared/client/leasehold.ts';
import type { OperationVerb } from '../../../shared/operate/operations.ts';
import { Operations } from '../../../shared/operate/operations.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { FakeClock } from '../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'leases';
const ANN = { by: 'ann', reason: 'a drill' };

class World {
  /** Partition keys of the rows that are written, in order. */
  readonly written: string[] = [];
  isAuditRefused = false;
  readonly audit: AuditStore;
  readonly leasehold: Leasehold;
  readonly operations: Operations;

  constructor() {
    const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
    const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
    const sender = new Sender({
      driver: this.#watched(simulatedDriver(memoryDynamo(TABLE, () => clock.now()))),
      runtime,
    });
    this.leasehold = new Leasehold({ sender, gauge: noSkewGauge, runtime }, { table: TABLE });
    this.audit = new AuditStore({ sender, runtime }, TABLE);
    const { tasks, operator, locks, semaphores, sessions, schedules } = this.leasehold;
    this.operations = new Operations({
      audit: this.audit,
      tasks,
      operator,
      locks,
      semaphores,
      sessions,
      schedules,
      runtime,
    });
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
        if (!isRead && row.startsWith('audit') && this.isAuditRefused)
          throw new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not for you' });
        if (!isRead) this.written.push(row);
        return driver.attempt(kind, input, signal);
      },
    };
  }
}

const task = { queue: 'media', id: 'a', leaseCounter: undefined };
const INPUTS: readonly (readonly [OperationVerb, object])[] = [
  ['task.run-now', task],
  ['task.retry', task],
  ['task.cancel', task],
  ['queue.pause', { queue: 'media' }],
  ['queue.resume', { queue: 'media' }],
  ['queue.retry', { queue: 'media' }],
  ['key.recount', { queue: 'media', key: 'customer-7' }],
  ['key.pass', { queue: 'media', key: 'customer-7' }],
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

test('leaves a task alone that was claimed since it was seen, and records that', async () => {
  const world = new World();
  await world.leasehold.tasks.enqueue('resize', null, { id: 'a', queue: 'media', delay: '1d' });

  await expect(world.operations.execute('task.cancel', { ...task, leaseCounter: 7 }, ANN)).rejects.toThrow(
    MismatchError,
  );

  expect(await world.acts()).toEqual(['task.cancel media/a 7: failed: MismatchError']);
});
