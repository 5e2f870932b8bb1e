import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError, ConfigurationError } from '../../shared/core/errors.ts';
import { RateLimiter } from '../../shared/coordination/ratelimit/rate-limiter.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import type { RateOptions } from '../../shared/coordination/ratelimit/bucket.ts';
import { bucketOf, drawOf } from '../../shared/coordination/ratelimit/bucket.ts';
import type { Member } from '../support/crowd.ts';
import { SKEW_MS, describeCrowd } from '../support/crowd.ts';

describeCrowd('the rate limit', (start) => {
  let here: Member;
  let there: Member;
  let name: string;

  beforeEach(() => {
    here = start();
    there = start();
    name = `rate-${here.ports.runtime.ids.unique()}`;
  });

  const limiterIn = (process: Member, rate: RateOptions): RateLimiter =>
    new RateLimiter(name, rate, process.ports, { maxClockSkewMs: SKEW_MS });

  const TEN_A_SECOND = { rate: 10, per: '1s', burst: 20 } as const;

  test('lets a burst through, and then returns when there will be enough', async () => {
    const limiter = limiterIn(here, TEN_A_SECOND);

    const takes = [];
    for (let n = 0; n < 21; n++) takes.push(await limiter.tryTake('ann'));

    expect(takes.slice(0, 20).map((take) => take.kind === 'taken' && take.remaining)).toEqual(
      Array.from({ length: 20 }, (_, n) => 19 - n),
    );
    expect(takes[20]).toEqual({ kind: 'limited', waitMs: 100, until: here.clock.now() + 100 });
  });

  test('refills with time, and never above the burst', async () => {
    const limiter = limiterIn(here, TEN_A_SECOND);
    await limiter.tryTake('ann', { tokens: 20 });

    await here.clock.advance(350);
    expect(await limiter.get('ann')).toBe(3);
    expect(await limiter.tryTake('ann', { tokens: 3 })).toEqual({ kind: 'taken', remaining: 0 });
    await here.clock.advance(3_600_000);
    expect(await limiter.get('ann')).toBe(20);
    expect(await limiter.tryTake('ann', { tokens: 20 })).toEqual({ kind: 'taken', remaining: 0 });
    expect((await limiter.tryTake('ann')).kind).toBe('limited');
  });

  test('takes nothing when it refuses', async () => {
    const limiter = limiterIn(here, TEN_A_SECOND);
    await limiter.tryTake('ann', { tokens: 15 });

    expect(await limiter.tryTake('ann', { tokens: 10 })).toMatchObject({ kind: 'limited', waitMs: 500 });
    expect(await limiter.tryTake('ann', { tokens: 5 })).toEqual({ kind: 'taken', remaining: 0 });
  });

  test('counts a take from the time of the request, and adds what refills until it arrives', async () => {
    const { ports, clock } = here;
    const draw = drawOf('calls', bucketOf('calls', TEN_A_SECOND), 1, clock.now());
    const asked = stampOf(ports.runtime);
    await clock.advance(100);
    await there.clock.advance(100);

    const late = await ports.buckets.takeFromFull({ name, key: 'ann' }, draw, asked);

    expect(late.kind).toBe('applied');
    const limiter = limiterIn(there, TEN_A_SECOND);
    expect(await limiter.tryTake('ann', { tokens: 20 })).toEqual({ kind: 'taken', remaining: 0 });
    expect((await limiter.tryTake('ann')).kind).toBe('limited');
  });

  test('keeps keys apart', async () => {
    const limiter = limiterIn(here, { rate: 1, per: '1m' });

    const takes = [await limiter.tryTake('a#b'), await limiter.tryTake('a'), await limiter.tryTake('a#b')];

    expect(takes.map(({ kind }) => kind)).toEqual(['taken', 'taken', 'limited']);
  });

  test('is one limit for all processes', async () => {
    // The bucket does not fill while takers that met pause.
    const rate = { rate: 5, per: '1h' } as const;
    const limiters = [limiterIn(here, rate), limiterIn(there, rate)];

    const takes = Promise.all(Array.from({ length: 12 }, (_, n) => limiters[n % 2]!.tryTake('ann')));
    await here.live(there.live(takes));

    expect((await takes).filter(({ kind }) => kind === 'taken')).toHaveLength(5);
  });

  test('keeps to its rate over time for a process whose clock is ahead by at most the bound', async () => {
    const limiter = limiterIn(here, { rate: 100, per: '1s', burst: 1 });
    const ahead = limiterIn(there, { rate: 100, per: '1s', burst: 1 });
    there.clock.step(SKEW_MS);
    let taken = 0;

    for (let step = 0; step < 200; step++) {
      for (const take of [await limiter.tryTake('ann'), await ahead.tryTake('ann')]) if (take.kind === 'taken') taken++;
      await Promise.all([here.clock.advance(5), there.clock.advance(5)]);
    }

    // A second at a hundred a second, one in the bucket, ten that flow in while clocks differ.
    expect(taken).toBeLessThanOrEqual(100 + 1 + 10);
    expect(taken).toBeGreaterThanOrEqual(100);
  });

  describe('waiting', () => {
    test('takes as soon as there is enough', async () => {
      const limiter = limiterIn(here, TEN_A_SECOND);
      await limiter.tryTake('ann', { tokens: 20 });
      const startedAt = here.clock.now();

      const take = await here.live(limiter.take('ann', { tokens: 10 }), 10);

      expect(take.kind).toBe('taken');
      expect(here.clock.now() - startedAt).toBeGreaterThanOrEqual(1_000);
      expect(here.clock.now() - startedAt).toBeLessThan(1_200);
    });

    test('does not begin when there will not be enough in time', async () => {
      const limiter = limiterIn(here, TEN_A_SECOND);
      await limiter.tryTake('ann', { tokens: 20 });

      expect(await limiter.take('ann', { tokens: 10, wait: 999 })).toMatchObject({ kind: 'limited' });
    });

    test('is ended by its signal, with its reason', async () => {
      const limiter = limiterIn(here, { rate: 1, per: '1h' });
      await limiter.tryTake('ann');
      const stop = new AbortController();
      const waiting = limiter.take('ann', { signal: stop.signal });

      await here.live(here.clock.sleep(1_000));
      stop.abort(new Error('enough'));

      await expect(here.live(waiting)).rejects.toThrow('enough');
    });
  });

  test('costs one request and one unit per take, and a second to begin with a full bucket', async () => {
    const limiter = limiterIn(here, TEN_A_SECOND);

    expect(await here.costOf(() => limiter.tryTake('ann'))).toEqual({ requests: 2, writeUnits: 2, readUnits: 0 });
    for (let n = 0; n < 5; n++)
      expect(await here.costOf(() => limiter.tryTake('ann'))).toEqual({ requests: 1, writeUnits: 1, readUnits: 0 });
    expect(await here.costOf(() => limiter.tryTake('ann', { tokens: 20 }))).toEqual({
      requests: 1,
      writeUnits: 1,
      readUnits: 0,
    });
  });

  test('refuses to calculate with a clock that is proven wrong', async () => {
    const ports = { ...here.ports, gauge: { provenSkewMs: () => 60_000 } };
    const limiter = new RateLimiter(name, TEN_A_SECOND, ports, { maxClockSkewMs: SKEW_MS });

    await expect(limiter.tryTake('ann')).rejects.toThrow(ClockSkewError);
  });

  test.each([
    [{ rate: 0, per: '1s' }, /rate = 0/],
    [{ rate: -1, per: '1s' }, /rate = -1/],
    [{ rate: Number.NaN, per: '1s' }, /rate = NaN/],
    [{ rate: 1, per: 0 }, /per 0/],
    [{ rate: 1, per: '1s', burst: 0.5 }, /burst = 0.5/],
    [{ rate: 1, per: 'soon' as '1s' }, /per = "soon"/],
  ] as const)('refuses %j', (rate, message) => {
    expect(() => limiterIn(here, rate)).toThrow(ConfigurationError);
    expect(() => limiterIn(here, rate)).toThrow(message);
  });

  test.each([[0], [-1], [Number.NaN], [21]])('refuses to take %d of twenty', async (tokens) => {
    const limiter = limiterIn(here, TEN_A_SECOND);

    await expect(limiter.tryTake('ann', { tokens })).rejects.toThrow(ConfigurationError);
    await expect(limiter.tryTake('')).rejects.toThrow(ConfigurationError);
  });
});
