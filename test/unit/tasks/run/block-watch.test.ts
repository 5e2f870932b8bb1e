/** Tasks that compute, on a clock that only computing moves. */
import { expect, test } from 'vitest';
import { blockWatchOf } from '../../../../shared/tasks/run/block-watch.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const TRUST_MS = 2_700;

/** A worker whose session has a TTL of 3 s, last renewed `sinceMs` ago. */
function open(sinceMs = 0) {
  const world = { now: 10_000, renewedAt: 10_000 - sinceMs, lateMs: 0, renewals: 0, logged: [] as unknown[] };
  const clock = { monotonic: () => world.now, sleep: () => Promise.resolve() };
  const session = {
    timing: { ttlMs: 3_000, heartbeatMs: 1_000 },
    remainingTrustMs: () => world.renewedAt + TRUST_MS - world.now,
    async renew() {
      await Promise.resolve();
      world.renewedAt = world.now;
      world.renewals++;
      return TRUST_MS;
    },
    takeLateMs: () => world.lateMs,
  };
  const log = { ...silent, warn: (message: string, fields: unknown) => void world.logged.push([message, fields]) };
  const watch = blockWatchOf({ session, runtime: { clock }, log } as never);
  /** The trust when the code began. */
  const begun: number[] = [];
  const compute = (ms: number, id = 't') =>
    watch.run({ id, name: 'computes' }, () => {
      begun.push(session.remainingTrustMs());
      world.now += ms;
    });
  return { world, begun, compute, watch };
}

test('four at once, each shorter than the trust, never begin with less trust than they need', async () => {
  const { world, begun, compute } = open();

  await Promise.all([1, 2, 3, 4].map((n) => compute(1_800, `t-${n}`)));

  expect(begun).toEqual([TRUST_MS, TRUST_MS, TRUST_MS, TRUST_MS]);
  expect(world.logged).toHaveLength(4);
  expect(world.logged[0]).toEqual(['task blocked the event loop', { task: 't-1', name: 'computes', blockedMs: 1_800 }]);
});

test('covers the first too, costs no renewal if short, and ends the task if longer than any trust', async () => {
  const { world, begun, compute } = open(1_000);
  await compute(20);
  expect([begun, world.renewals]).toEqual([[TRUST_MS], 1]);

  for (let n = 0; n < 50; n++) await compute(20);
  expect(world.renewals).toBe(1);

  await compute(60_000);
  await compute(10);
  await compute(10);
  expect(world.renewals).toBe(2);
});

test('code that blocks after an await counts as long as it made a heartbeat late', async () => {
  const { world, begun, compute, watch } = open();
  await watch.run({ id: 'a', name: 'awaits' }, async () => {
    await Promise.resolve();
    world.now += 1_800;
    world.lateMs = 1_200;
  });
  world.lateMs = 0;

  await compute(1);

  expect(begun).toEqual([TRUST_MS]);
});

test('a block is forgotten after ten minutes, and code that throws counts as well', async () => {
  const { world, compute, watch } = open();
  const bad = watch.run({ id: 'a', name: 'bad' }, () => {
    world.now += 1_700;
    throw new Error('no');
  });
  await expect(bad).rejects.toThrow('no');
  await compute(1);
  expect(world.renewals).toBe(1);

  world.now += 600_000;
  world.renewedAt = world.now - 2_000;
  await compute(1);
  expect(world.renewals).toBe(1);
});
