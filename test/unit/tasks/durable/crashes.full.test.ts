/** A worker dies at each request over an order's whole life, resumptions included. */
import { expect, test } from 'vitest';
import type { CrashPlace } from '../../../../shared/testing/worker-process.ts';
import { isOver } from '../../../support/durable-world.ts';
import { RESULT, STOCK, orderWorld } from './order.ts';

const ROUNDS = 60;

/** @returns the requests of all workers, and how many died */
async function live(kills: readonly CrashPlace[]) {
  const { world, told } = orderWorld();
  await world.leasehold.tasks.enqueue('order', { order: 'o-1' }, { id: 'o-1' });
  const left = [...kills];
  let requests = 0;
  for (let round = 0; round < ROUNDS && !isOver(await world.task('o-1')); round++) {
    const next = left[0];
    const process = await world.work(next && { ...next, request: next.request - requests });
    requests += process.life.requests.length;
    if (process.isDead) left.shift();
    if (await world.pass('o-1')) continue;
    const answer = await world.leasehold.tasks.callbacks.succeed(told.approval ?? '', '"yes"');
    // It waits for its child, whose worker has died.
    if (answer === 'over') await world.clock.advance(40_000);
  }
  const deaths = kills.length - left.length;
  expect(await world.task('o-1')).toMatchObject({ state: 'done', result: RESULT });
  expect(world.rows(STOCK)).toEqual([{ id: 'o-1', reserved: 1 }]);
  expect(world.rows().filter(({ name }) => name === 'ship')).toHaveLength(1);
  // A step whose record a later step has seen does not run again.
  expect(told.ran).toEqual([...told.ran].sort((a, b) => Number(a[0]) - Number(b[0])));
  const most = Math.max(...Object.values(Object.groupBy(told.ran, (one) => one)).map((all = []) => all.length));
  expect(most).toBeLessThanOrEqual(1 + deaths);
  return requests;
}

const OUTCOMES = ['unsent', 'unanswered'] as const;

test('an order has one end, and one effect each, wherever a worker dies', async () => {
  const requests = await live([]);
  for (let request = 1; request <= requests; request++)
    for (const outcome of OUTCOMES) await live([{ request, outcome }]);

  expect(requests).toBeGreaterThan(50);
});

test('the same with two deaths', async () => {
  const requests = await live([]);
  // Places that have no common divisor with each other, so that both kills wander.
  for (let n = 0; n < 40; n++) {
    const first = 1 + ((n * 7) % requests);
    const second = first + 1 + ((n * 13) % (requests + 10));
    await live([
      { request: first, outcome: OUTCOMES[n % 2] ?? 'unsent' },
      { request: second, outcome: OUTCOMES[(n >> 1) % 2] ?? 'unsent' },
    ]);
  }
});
