/** Rechecking when a row has changed: for a while, not forever. */
import { expect, test } from 'vitest';
import type { Patience } from '../../../../shared/core/wait/retry-contended.ts';
import { contended, retryContended } from '../../../../shared/core/wait/retry-contended.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

/** Tries on a clock that only pauses move, with half of each longest pause. */
function retried<Result>(attempt: Parameters<typeof retryContended<Result>>[2], patience: Partial<Patience> = {}) {
  const clock = new FakeClock(new Date('2026-03-01T12:00:00Z'));
  const at: number[] = [];
  const startedAt = clock.monotonic();
  const result = retryContended<Result>('row', { clock, random: { next: () => 0.5 }, ...patience }, (round) => {
    at.push(Math.round(clock.monotonic() - startedAt));
    return attempt(round);
  }).catch((error: unknown) => error);
  return clock.runUntil(result, () => true).then((ended) => ({ ended, at }));
}

test('tries until an attempt has decided something, absent or not', async () => {
  const { ended } = await retried(({ round }) => Promise.resolve(round < 3 ? contended() : 'done'));
  const { ended: absent } = await retried(() => Promise.resolve(undefined));

  expect([ended, absent]).toEqual(['done', undefined]);
});

test('tries once at once with what a refusal showed, then pauses and has the next attempt read', async () => {
  const reads: number[] = [];

  const { at } = await retried(({ round, isAfterPause }) => {
    if (isAfterPause) reads.push(round);
    return Promise.resolve(round < 6 ? contended() : 'done');
  });

  expect({ at, reads }).toEqual({ at: [0, 0, 12, 12, 37, 37], reads: [3, 5] });
});

test('pauses at once after a refusal that showed nothing', async () => {
  const { at } = await retried(({ round }) => Promise.resolve(round < 4 ? contended(undefined, { isBlind: true }) : 0));

  expect(at).toEqual([0, 12, 37, 87]);
});

test('gives up after 20 s, and reports that nothing was done', async () => {
  const { ended, at } = await retried(() => Promise.resolve(contended()));

  expect(ended).toMatchObject({ name: 'StoreUnavailableError', applied: 'no' });
  expect(String(ended)).toMatch(
    /row was changed by others in each of \d+ attempts within 1\d{4} ms, and nothing was done/,
  );
  expect(at.at(-1)).toBeGreaterThan(18_000);
});

test('gives up when the trust of a holder ends, but tries five times however slow they are', async () => {
  const { at } = await retried(() => Promise.resolve(contended()), { budgetMs: 30 });

  expect(at).toEqual([0, 0, 12, 12, 37]);
});

test('reports an unknown outcome if a response was lost, and tells the later rounds', async () => {
  const told: string[] = [];

  const { ended } = await retried(
    ({ round, earlierAttempt }) => {
      told.push(earlierAttempt);
      return Promise.resolve(contended({ earlierAttempt: round === 2 ? 'unknown' : 'none' }));
    },
    { budgetMs: 0 },
  );

  expect(ended).toMatchObject({ applied: 'unknown' });
  expect(told).toEqual(['none', 'none', 'unknown', 'unknown', 'unknown']);
});
