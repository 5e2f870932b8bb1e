/** Effects of rounding on rates, from one token a day to billions a second. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RateOptions } from '../../../../shared/coordination/ratelimit/bucket.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const idle = defineTask({ name: 'idle', run: () => undefined });
const STARTS_AT = Date.parse('2026-01-01T00:00:00Z');

function open(rate: RateOptions) {
  const kit = createTestKit({ tasks: { idle }, startsAt: new Date(STARTS_AT) });
  return { kit, limiter: kit.leasehold.rateLimiter('bytes', rate) };
}

const RATES = [1, 6, 7, 999, 3_000, 300_000, 700_000, 1_500_000, 3_000_000, 10_000_000, 7e9];

test.each(RATES)('gives out its inflow at %d a second', async (rate) => {
  const { kit, limiter } = open({ rate, per: '1s', burst: rate });
  const chunk = Math.max(1, rate / 20);
  await limiter.tryTake('k', { tokens: rate });

  let taken = 0;
  const seconds = 5;
  for (let ms = 0; ms < seconds * 1_000; ms += 10) {
    await kit.advance(10);
    while (taken < 2 * seconds * rate && (await limiter.tryTake('k', { tokens: chunk })).kind === 'taken')
      taken += chunk;
  }

  expect(taken).toBeLessThanOrEqual(seconds * rate * 1.001);
  expect(taken).toBeGreaterThanOrEqual(seconds * rate * 0.999 - chunk);
});

test.each<RateOptions>([
  { rate: 1, per: '1s', burst: Number.MAX_SAFE_INTEGER },
  { rate: 1, per: '1s', burst: Number.MAX_VALUE },
  { rate: 1e-300, per: '1s', burst: 1 },
  { rate: Number.MIN_VALUE, per: '1s', burst: 1 },
])('refuses when it is made what no row could hold: %j', (rate) => {
  expect(() => open(rate)).toThrow(
    /^rate limit bytes: burst = .* ms to flow in, .*: pass a smaller burst, or a higher rate$/,
  );
});

test('takes a burst that flows in within 100,000 years', async () => {
  const { limiter } = open({ rate: 1, per: '1s', burst: 3e12 });

  for (const remaining of [3e12 - 1, 3e12 - 2])
    expect(await limiter.tryTake('k')).toEqual({ kind: 'taken', remaining });
});

test('never gives out more than its burst plus the inflow, for any takes', async () => {
  const settings = fc.record({
    rate: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.double({ min: 0.01, max: 1e9, noNaN: true })),
    per: fc.constantFrom('1s' as const, '1m' as const, '1h' as const),
    burst: fc.double({ min: 1, max: 1e6, noNaN: true }),
  });
  const step = fc.record({ share: fc.double({ min: 1e-6, max: 1, noNaN: true }), pauseMs: fc.nat({ max: 2_000 }) });
  await fc.assert(
    fc.asyncProperty(settings, fc.array(step, { minLength: 1, maxLength: 15 }), async (rate, steps) => {
      const { kit, limiter } = open(rate);
      const perMs = { '1s': 1_000, '1m': 60_000, '1h': 3_600_000 }[rate.per];
      let taken = 0;
      for (const { share, pauseMs } of steps) {
        await kit.advance(pauseMs);
        const tokens = share * rate.burst;
        const readBefore = await limiter.get('k');
        const isTaken = (await limiter.tryTake('k', { tokens })).kind === 'taken';
        if (isTaken) taken += tokens;
        if (readBefore >= tokens) expect(isTaken).toBe(true);

        const flown = (rate.rate / perMs) * (kit.clock.now() - STARTS_AT);
        const withinOneMicrosecond = rate.rate / perMs / 1_000;
        expect(taken).toBeLessThanOrEqual((rate.burst + flown) * 1.001 + withinOneMicrosecond);
      }
    }),
    { numRuns: 150, seed: 7 },
  );
});

test('counts whole tokens, also in a bucket that was never touched', async () => {
  const { limiter } = open({ rate: 3, per: '2s', burst: 2.5 });

  expect(await limiter.get('k')).toBe(2);
  expect(await limiter.tryTake('k')).toEqual({ kind: 'taken', remaining: 1 });
});
