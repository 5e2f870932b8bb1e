/**
 * An answer from outside, read before one request of the holder and written before another: no wake-up is lost, and none is heard twice.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { expect, test } from 'vitest';
import { durableTask } from '../../../../api/durable.ts';
import { arrivalOf } from '../../../../shared/tasks/durable/arrival.ts';
import { callbackKeyOf } from '../../../../shared/tasks/durable/callback-id.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { DurableWorld, isOver } from '../../../support/durable-world.ts';

/** Code of the test is not part of the worker whose request it delays. */
const outside = AsyncLocalStorage.snapshot();

type Code = (ctx: DurableContext, ask: (id: string) => void) => Promise<unknown>;

const plain: Code = async (ctx, ask) => {
  const [answer, id] = await ctx.createCallback('answer');
  ask(id);
  await ctx.step('between', async () => 'x'.repeat(50));
  return answer;
};

const besideWaits: Code = async (ctx, ask) => {
  const both = await ctx.parallel('both', [
    async (branch) => plain(branch, ask),
    async (branch) => {
      await branch.wait({ seconds: 3 });
      await branch.step('one', async () => 1);
      await branch.wait({ seconds: 3 });
      return branch.step('two', async () => 2);
    },
  ]);
  return both.getResults()[0];
};

const untilTimeout: Code = async (ctx, ask) => {
  const [answer, id] = await ctx.createCallback('answer', { timeout: { seconds: 5 } });
  ask(id);
  const found = await answer.catch((error: unknown) => String(error));
  await ctx.wait({ seconds: 1 });
  return found;
};

/** @returns the requests of the holder after the callback was made, the result, and the answer's outcome */
async function answeredBetween(code: Code, read: number, write: number) {
  let callbackId: string | undefined;
  let count = 0;
  let seen: TaskRecord | undefined;
  let told: 'accepted' | 'over' | undefined;
  const main = durableTask({ name: 'main', run: (_: unknown, ctx) => code(ctx, (id) => void (callbackId ??= id)) });
  const world = new DurableWorld({
    tasks: { main },
    beforeRequest: async () => {
      if (callbackId === undefined) return;
      count++;
      await outside(async () => {
        if (count === read) seen = await world.task('r');
        if (count === write) await answer();
      });
    },
  });
  const answer = async (): Promise<void> => {
    const { openKey } = callbackKeyOf(callbackId ?? '');
    seen ??= await world.task('r');
    while (told === undefined) {
      const stamp = { now: world.clock.now(), nonce: crypto.randomUUID() };
      const arrival = arrivalOf(openKey, { a: 'succeed', r: 'yes' }, stamp);
      if (isOver(seen) || seen.journal?.open.has(openKey) !== true) told = 'over';
      else if ((await world.stores.tasks.arrive(seen, arrival, stamp)).kind === 'applied') told = 'accepted';
      else seen = await world.task('r');
    }
  };
  await world.leasehold.tasks.enqueue('main', null, { id: 'r' });
  for (let round = 0; round < 20 && !isOver(await world.task('r')); round++) {
    await world.work();
    if (!(await world.pass('r'))) {
      expect(told).toBeUndefined();
      await answer();
    }
  }
  const task = await world.task('r');
  if (told === undefined) await answer();
  expect(task.state).toBe('done');
  const result = task.state === 'done' ? task.result : undefined;
  expect({ read, write, isAccepted: told === 'accepted' }).toEqual({ read, write, isAccepted: result === 'yes' });
  return { requests: count, told };
}

test.each([
  ['an answer that comes alone', plain],
  ['an answer beside waits', besideWaits],
  ['an answer beside its timeout', untilTimeout],
])('%s is accepted exactly if the code sees it', async (_, code) => {
  const { requests } = await answeredBetween(code, Infinity, Infinity);
  const told = new Set<unknown>();
  // Every pair, in a pattern that is as fine as it may be for this tier.
  const step = Math.max(1, Math.floor(requests / 14));
  for (let read = 1; read <= requests + 1; read += step)
    for (let write = read; write <= requests + 1; write += step)
      told.add((await answeredBetween(code, read, write)).told);

  expect(told).toContain('accepted');
});
