/** Late writes of a holder that was taken over, and late copies of its own writes, sent straight to the row: each is refused. */
import { expect, test } from 'vitest';
import { durableTask } from '../../../../api/durable.ts';
import type { CheckpointWrite } from '../../../../shared/tasks/durable/journal-store.ts';
import { createJournalStore } from '../../../../shared/tasks/rows/task/dynamo-journal-store.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { DurableWorld } from '../../../support/durable-world.ts';

async function suspendedWorld() {
  const main = durableTask({
    name: 'main',
    run: async (_: unknown, ctx) => {
      await ctx.step('a', async () => 'a');
      await ctx.wait({ hours: 1 });
      return 'of the code';
    },
  });
  const world = new DurableWorld({ tasks: { main } });
  await world.leasehold.tasks.enqueue('main', null, { id: 'r' });
  await world.work();
  const journals = createJournalStore(world.stores.tasks);
  const stamp = (sequence: number) => ({ now: world.clock.now(), nonce: crypto.randomUUID(), sequence });
  /** Claims it, as a worker with this session would. */
  const claimed = async (session: string) => {
    const task = await world.task('r');
    if (task.state === 'running') {
      const taken = await world.stores.tasks.takeOver(task, session, stamp(0));
      if (taken.kind === 'applied') return taken.row;
    }
    if (task.state === 'ready') {
      const taken = await world.stores.tasks.claim(task, session, stamp(0));
      if (taken.kind === 'applied') return taken.row;
    }
    throw new Error(`${session} could not claim it`);
  };
  await world.clock.advance(3_600_000);
  return { world, journals, stamp, claimed };
}

const write = (seen: number): CheckpointWrite => ({
  elements: ['{"e":[],"w":[1,1]}'],
  seen,
  newParts: [],
  parts: 0,
  life: 1,
  keptUntil: 1,
  opened: [],
  closed: [],
  hasBeats: false,
  effects: [],
});

test('a holder that was taken over writes nothing more', async () => {
  const { world, journals, stamp, claimed } = await suspendedWorld();
  const zombie = claimOf(await claimed('zombie'));
  await claimed('heir');
  const before = world.rows();
  const seen = 1;
  const late = [
    await journals.checkpoint(zombie, write(seen), stamp(99)),
    await journals.checkpoint(zombie, { ...write(seen), elements: [], newParts: ['[]'] }, stamp(99)),
    await journals.checkpoint(
      zombie,
      { ...write(seen), effects: [{ Put: { TableName: 'leasehold', Item: { pk: 'mine', sk: 'x' } } }] },
      stamp(99),
    ),
    await journals.suspend(zombie, { elements: [], seen, readyAt: 1 }, stamp(99)),
    await journals.end(zombie, ['{"e":[]}'], { result: 'stolen' }, stamp(99)),
  ];

  expect(late.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'refused', 'refused', 'refused']);
  expect(world.rows()).toEqual(before);
});

test('a late copy of a write is refused by its successor', async () => {
  const { journals, stamp, claimed } = await suspendedWorld();
  const claim = claimOf(await claimed('holder'));
  expect((await journals.checkpoint(claim, write(1), stamp(2))).kind).toBe('applied');

  expect((await journals.checkpoint(claim, write(1), stamp(1))).kind).toBe('refused');
  expect((await journals.suspend(claim, { elements: [], seen: 1, readyAt: 1 }, stamp(2))).kind).toBe('refused');
});

test('a write that has not seen an arrival is refused', async () => {
  const { journals, stamp, claimed } = await suspendedWorld();
  const claim = claimOf(await claimed('holder'));

  expect((await journals.checkpoint(claim, write(0), stamp(1))).kind).toBe('refused');
  expect((await journals.suspend(claim, { elements: [], seen: 0, readyAt: 1 }, stamp(1))).kind).toBe('refused');
});
