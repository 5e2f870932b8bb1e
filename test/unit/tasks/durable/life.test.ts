/** What happens to a durable task in the life that every task has. */
import { describe, expect, test } from 'vitest';
import { durableTask } from '../../../../api/durable.ts';
import { leaseholdOf } from '../../../../api/index.ts';
import { defineTask } from '../../../../api/tasks.ts';
import { createTestKit } from '../../../../api/testing.ts';
import { asking, kitWith } from './kit-with.ts';

describe('in the life of a task', () => {
  test('a suspended task is cancelled at once, and its answer is over', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith((_, ctx) => ask(ctx));
    await kit.drain();
    await kit.operator.cancel('r', { reason: 'not needed' });

    expect((await task()).state).toBe('cancelled');
    expect(await kit.tasks.callbacks.succeed(ids[0] ?? '', 'x')).toBe('over');
    expect(await kit.tasks.callbacks.heartbeat(ids[0] ?? '')).toBe('over');
  });

  test('a declined question is asked again when an operator retries it, with another id', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith((_, ctx) => ask(ctx));
    await kit.drain();
    await kit.tasks.callbacks.fail(ids[0] ?? '', { message: 'no' });
    await kit.drain();
    expect((await task()).state).toBe('dead');
    await kit.operator.retry('r');
    await kit.drain();

    expect(new Set(ids).size).toBe(2);
    expect(await kit.tasks.callbacks.succeed(ids[0] ?? '', 'late')).toBe('over');
    expect(await kit.tasks.callbacks.succeed(ids[1] ?? '', 'yes')).toBe('accepted');
    await kit.drain();
    expect((await task()).state).toBe('done');
  });

  test('a cancellation that comes just before the suspension is not missed', async () => {
    const { ask } = asking();
    const world: { kit?: ReturnType<typeof createTestKit> } = {};
    const { kit, task } = await kitWith(async (_, ctx) => {
      await ctx.step('a', async () => {
        await world.kit?.operator.cancel('r', { reason: 'not needed' });
      });
      return ask(ctx);
    });
    world.kit = kit;
    await kit.drain();

    expect((await task()).state).toBe('cancelled');
  });

  test('it frees the slot of its key while it waits', async () => {
    const { ask, ids } = asking();
    const main = durableTask({ name: 'main', run: async (_: unknown, ctx) => ask(ctx) });
    const kit = createTestKit({ tasks: { main } });
    for (const id of ['1', '2', '3']) await kit.tasks.enqueue('main', null, { id, key: 'k', limit: 1 });
    await kit.drain();
    expect(ids).toHaveLength(3);
    for (const id of ids) await kit.tasks.callbacks.succeed(id, 'yes');
    await kit.drain();

    for (const id of ['1', '2', '3']) expect((await kit.tasks.get(id))?.state).toBe('done');
  });

  test('its line waits for it, and each tenant has its own', async () => {
    const { ask, ids } = asking();
    const ran: string[] = [];
    const main = durableTask({
      name: 'main',
      run: async (name: string, ctx) => {
        await ctx.step('begin', async () => void ran.push(`${name} begins`));
        await ask(ctx);
        await ctx.wait({ seconds: 5 });
        await ctx.step('end', async () => void ran.push(`${name} ends`));
      },
    });
    const kit = createTestKit({ tasks: { main } });
    for (const id of ['l1', 'l2']) await kit.tasks.enqueue(main, id, { id, key: 'k', ordered: true });
    for (const id of ['t1', 't2']) await kit.tasks.enqueue(main, id, { id, tenant: id });
    for (let round = 0; round < 12; round++) {
      await kit.drain();
      for (const id of ids.splice(0)) expect(await kit.tasks.callbacks.succeed(id, 'yes')).toBe('accepted');
      await kit.advance('5s');
    }

    expect(ran.filter((one) => one.startsWith('l'))).toEqual(['l1 begins', 'l1 ends', 'l2 begins', 'l2 ends']);
    for (const id of ['l1', 'l2', 't1', 't2']) expect((await kit.tasks.get(id))?.state).toBe('done');
  });

  test('other work under its id has nothing of its journal', async () => {
    const { ask, ids } = asking();
    const ran: unknown[] = [];
    const main = durableTask({
      name: 'main',
      run: async (input: number, ctx) => {
        await ctx.step('a', async () => void ran.push(input));
        return ask(ctx);
      },
    });
    const kit = createTestKit({ tasks: { main } });
    for (const input of [1, 2]) {
      await kit.tasks.enqueue(main, input, { id: 'r', onDuplicate: 'replace' });
      await kit.drain();
    }
    expect(ran).toEqual([1]);
    expect(await kit.tasks.callbacks.succeed(ids[0] ?? '', 'former')).toBe('accepted');
    await kit.drain();
    expect(ran).toEqual([1, 2]);
    expect(await kit.tasks.callbacks.succeed(ids[0] ?? '', 'former')).toBe('over');
    expect(await kit.tasks.callbacks.succeed(ids[1] ?? '', 'yes')).toBe('accepted');
    await kit.drain();

    expect(await kit.tasks.get('r')).toMatchObject({ state: 'done', result: 'yes' });
  });

  test('other work follows a suspended execution, which ends what it has begun', async () => {
    const ended: unknown[] = [];
    const main = durableTask({
      name: 'main',
      retry: { maxAttempts: 1 },
      run: async (input: number, ctx) => {
        await ctx.step('begin', async () => input);
        await ctx.wait({ seconds: 5 });
        ended.push(input);
      },
    });
    const kit = createTestKit({ tasks: { main } });
    await kit.tasks.enqueue(main, 1, { id: 'r' });
    await kit.drain();

    const told = await kit.tasks.enqueue(main, 2, { id: 'r', onDuplicate: 'replace' });

    expect(told).toMatchObject({ created: true, follows: true });
    for (let round = 0; round < 3; round++) {
      await kit.advance('5s');
      await kit.drain();
    }
    expect(ended).toEqual([1, 2]);
    expect(await kit.tasks.get('r')).toMatchObject({ state: 'done', runId: 'r~2' });
  });

  test('the end of a worker hands it back, also with one attempt', async () => {
    const main = durableTask({
      name: 'main',
      retry: { maxAttempts: 1 },
      run: async (_: unknown, ctx) => {
        await ctx.step('a', async () => 'a');
        await ctx.step('b', async () => kit.advance('50s'));
        return 'ended';
      },
    });
    const kit = createTestKit({ tasks: { main } });
    await kit.tasks.enqueue(main, null, { id: 'r' });
    await kit.drain({ lifetime: '20s', timePasses: true });
    expect(await kit.tasks.get('r')).toMatchObject({ state: 'ready' });
    await kit.drain();

    expect(await kit.tasks.get('r')).toMatchObject({ state: 'done', result: 'ended' });
  });

  test('a follower takes the place of a suspension', async () => {
    const { ask } = asking();
    const ran: unknown[] = [];
    const world: { kit?: ReturnType<typeof createTestKit> } = {};
    const main = durableTask({
      name: 'main',
      run: async (input: number, ctx) => {
        await ctx.step('a', async () => {
          ran.push(input);
          if (input === 1) await world.kit?.tasks.enqueue('main', 2, { id: 'r', onDuplicate: 'replace' });
        });
        return input === 1 ? ask(ctx) : 'of the follower';
      },
    });
    const kit = createTestKit({ tasks: { main } });
    world.kit = kit;
    await kit.tasks.enqueue(main, 1, { id: 'r' });
    await kit.drain();

    expect(ran).toEqual([1, 2]);
    expect(await kit.tasks.get('r')).toMatchObject({ state: 'done', result: 'of the follower' });
  });

  test('the end of a worker hands it back with its steps', async () => {
    const ran: number[] = [];
    const world: { kit?: ReturnType<typeof createTestKit> } = {};
    const { kit, task } = await kitWith(async (_, ctx) => {
      for (let at = 0; at < 6; at++)
        await ctx.step(`step-${at}`, async () => {
          ran.push(at);
          await world.kit?.advance('30s');
        });
    });
    world.kit = kit;
    for (let round = 0; round < 6; round++) await kit.drain({ lifetime: '70s' });

    expect(await task()).toMatchObject({ state: 'done', handBacks: 0 });
    // Two steps were under way when the time of their workers was over, and are not recorded.
    expect(ran).toEqual([0, 1, 2, 2, 3, 4, 4, 5]);
  });

  test('a batch counts its end', async () => {
    const { ask, ids } = asking();
    const main = durableTask({ name: 'main', run: async (_: unknown, ctx) => ask(ctx) });
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task): Promise<unknown> =>
        task.children === undefined
          ? task.waitFor([{ task: 'main', input: null, options: { id: 'r' } }])
          : Promise.resolve(task.children),
    });
    const kit = createTestKit({ tasks: { main, parent } });
    await kit.tasks.enqueue(parent, null, { id: 'p' });
    await kit.drain();
    await kit.tasks.callbacks.succeed(ids[0] ?? '', 'yes');
    await kit.drain();

    expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', result: { done: 1 } });
  });
});

test('leaseholdOf finds the client of its worker', async () => {
  const { kit, task } = await kitWith(async (_, ctx, info) =>
    ctx.step('enqueue', async () => (await leaseholdOf(info).tasks.enqueue('main', null, { id: 'other' })).id),
  );
  await kit.runOnce();

  expect(await task()).toMatchObject({ state: 'done', result: 'other' });
});

test('waits and continues with one attempt, because a suspension does not count as an attempt', async () => {
  const { ask, ids } = asking();
  const { kit, task } = await kitWith(
    async (_, ctx) => {
      await ctx.wait({ hours: 1 });
      return ask(ctx);
    },
    { retry: { maxAttempts: 1 } },
  );
  await kit.drain();
  await kit.advance('1h');
  await kit.drain();
  await kit.tasks.callbacks.succeed(ids[0] ?? '', 'yes');
  await kit.drain();

  expect(await task()).toMatchObject({ state: 'done', result: 'yes', attempts: 1 });
});

test('a schedule that does not overlap waits for its suspended task', async () => {
  const { ask, ids } = asking();
  const main = durableTask({ name: 'main', run: async (_: unknown, ctx) => ask(ctx) });
  const kit = createTestKit({ tasks: { main } });
  await kit.schedules.define('hourly', main, null, { cron: '0 * * * *', overlap: 'skip' });
  for (let hour = 0; hour < 3; hour++) {
    await kit.advance('1h');
    await kit.tick();
    await kit.drain();
  }
  expect(ids).toHaveLength(1);
  await kit.tasks.callbacks.succeed(ids[0] ?? '', 'yes');
  await kit.drain();
  await kit.advance('1h');
  await kit.tick();
  await kit.drain();

  expect(ids).toHaveLength(2);
});

test('a task that expires does so only before its first invocation', async () => {
  const { ask, ids } = asking();
  const main = durableTask({ name: 'main', run: async (_: unknown, ctx) => ask(ctx) });
  const kit = createTestKit({ tasks: { main } });
  await kit.tasks.enqueue(main, null, { id: 'r', expires: '1m' });
  await kit.drain();
  await kit.advance('1h');
  await kit.tasks.callbacks.succeed(ids[0] ?? '', 'yes');
  await kit.drain();

  expect(await kit.tasks.get('r')).toMatchObject({ state: 'done', result: 'yes' });
});
