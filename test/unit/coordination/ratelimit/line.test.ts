/** Callers of one process that wait for tokens of one bucket: their requests, and that each of them gets its tokens. */
import { describe, expect, test } from 'vitest';
import type { Take } from '../../../../shared/coordination/ratelimit/rate-limiter.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const CROWD = 100;

describe('callers of one process that wait for tokens', () => {
  test.each([1, 10])('stand in a line, so that a crowd sends five requests a token: burst %d', async (burst) => {
    const world = simulatedWorld();
    const process = world.start();
    const limiter = process.leasehold.rateLimiter('calls', { rate: 10, per: '1s', burst });
    const startedAt = world.clock.now();

    const { requests } = await process.cost(() =>
      passTime(world, Promise.all(Array.from({ length: CROWD }, () => limiter.take('vendor'))), 10),
    );

    // Two when it asks first, one when it is first in the line, two when its tokens are there and the bucket is full.
    // Without the line 4,400.
    expect(requests).toBeLessThan(6 * CROWD);
    // A token each 100 ms; what flows in between two takes is lost to a bucket that holds only one.
    expect(world.clock.now() - startedAt).toBeGreaterThanOrEqual((CROWD - burst) * 100);
    expect(world.clock.now() - startedAt).toBeLessThan(1.5 * CROWD * 100);
  });

  test('take available tokens immediately and in parallel; only the others line up', async () => {
    const world = simulatedWorld();
    const process = world.start();
    const limiter = process.leasehold.rateLimiter('calls', { rate: 1, per: '1h', burst: 20 });
    await limiter.tryTake('vendor');

    const { requests } = await process.cost(() =>
      Promise.all(Array.from({ length: 19 }, () => limiter.take('vendor'))),
    );

    expect(requests).toBe(19);
  });

  test('are refused immediately if there will not be enough tokens in time, even behind others', async () => {
    const world = simulatedWorld();
    const limiter = world.start().leasehold.rateLimiter('calls', { rate: 1, per: '1m', burst: 1 });
    await limiter.take('vendor');
    const patient = limiter.take('vendor', { wait: '2m' });
    await world.idle();
    const startedAt = world.clock.now();

    const hasty = await limiter.take('vendor', { wait: '30s' });

    expect(hasty.kind).toBe('limited');
    expect(world.clock.now()).toBe(startedAt);
    expect((await passTime(world, patient)).kind).toBe('taken');
  });

  test('get tokens that come in the last moment of their wait, and not later ones', async () => {
    const world = simulatedWorld();
    const limiter = world.start().leasehold.rateLimiter('calls', { rate: 1, per: '10s', burst: 1 });
    await limiter.take('vendor');

    expect(await limiter.take('vendor', { wait: 9_999 })).toMatchObject({ kind: 'limited', waitMs: 10_000 });
    expect(await passTime(world, limiter.take('vendor', { wait: 10_000 }))).toMatchObject({ kind: 'taken' });
  });

  test("learn when tokens may be available if they time out in the line, and keep the others' positions", async () => {
    const world = simulatedWorld();
    const limiter = world.start().leasehold.rateLimiter('calls', { rate: 1, per: '10s', burst: 1 });
    await limiter.take('vendor');
    const takes = (['5m', '15s', '5m'] as const).map((wait) => limiter.take('vendor', { wait }));

    const [first, second, third] = (await passTime(world, Promise.all(takes))) as [Take, Take, Take];

    expect([first.kind, third.kind]).toEqual(['taken', 'taken']);
    expect(second).toMatchObject({ kind: 'limited', waitMs: expect.any(Number) as number });
  });

  test('wait separately for each number of tokens, so that a large take does not delay a small one', async () => {
    const world = simulatedWorld();
    const limiter = world.start().leasehold.rateLimiter('calls', { rate: 1, per: '1s', burst: 10 });
    await limiter.take('vendor', { tokens: 10 });
    const large = limiter.take('vendor', { tokens: 10 });
    const startedAt = world.clock.now();

    expect((await passTime(world, limiter.take('vendor'))).kind).toBe('taken');

    expect(world.clock.now() - startedAt).toBeLessThan(3_000);
    expect((await passTime(world, large)).kind).toBe('taken');
  });
});
