import { beforeEach, expect, test } from 'vitest';
import type { OperatorPorts } from '../../../../shared/tasks/queue/cancel-item.ts';
import { passTurn } from '../../../../shared/tasks/queue/pass-turn.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

let q: MemoryQueue;

beforeEach(async () => {
  q = openMemoryQueue();
  for (const id of ['a', 'b', 'c']) await q.client.enqueue('task', {}, { id, key: 'k', ordered: true });
});

const portsOf = (operations = q.operations): OperatorPorts =>
  ({
    tasks: q.tasks,
    queues: { get: () => Promise.resolve() },
    operations,
    runtime: q.runtime,
  }) as unknown as OperatorPorts;
const pass = (ports = portsOf()) => q.clock.runUntil(passTurn(ports, QUEUE, 'k'), () => true);

async function cancel(id: string): Promise<void> {
  const task = await q.tasks.get({ queue: QUEUE, id });
  if (task?.state !== 'ready') throw new Error(`${id} does not wait`);
  await q.tasks.cancel(task, { at: q.clock.now(), reason: 'test' }, { now: q.clock.now(), nonce: id });
}

test('passes no turn that has moved while it waited for the index', async () => {
  const passing = passTurn(portsOf(), QUEUE, 'k');
  await q.clock.advance(1_000);
  await cancel('a');

  expect(await q.clock.runUntil(passing, () => true)).toEqual({ kind: 'alive', head: 'b', state: 'ready' });
});

test('leaves the turn of a cancelled task to the worker that meets it', async () => {
  await cancel('b');
  await cancel('a');

  expect(await pass()).toEqual({ kind: 'alive', head: 'b', state: 'cancelled' });
});

test('passes no turn while a row of the queue is damaged, because its task may have it', async () => {
  const damage = new Error('damaged');
  const getManyNow: MemoryQueue['operations']['getManyNow'] = (_keys, onDamaged) => {
    onDamaged(damage);
    return Promise.resolve([]);
  };

  await expect(pass(portsOf({ ...q.operations, getManyNow }))).rejects.toBe(damage);
  expect(await pass()).toMatchObject({ kind: 'alive', head: 'a' });
});
