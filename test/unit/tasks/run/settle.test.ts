/** The end of a claim and the consequences of an attempt that threw: every decision by its own entries alone. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import {
  MAX_HAND_BACKS,
  judgeFailure,
  judgeHandBack,
  judgeOutage,
  settlementOf,
} from '../../../../shared/tasks/run/settle.ts';
import type { Claim, PastAttempt, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { ERROR_MESSAGE_LIMIT_CHARACTERS } from '../../../../shared/tasks/task/task.ts';

const OURS = { session: 'me', leaseCounter: 7 };
const POLICY = { maxAttempts: 3, maxDeaths: 3, backoff: { baseMs: 100, capMs: 1_000 } };
const SETTLED = { done: 'done', failed: 'retried', released: 'released', snoozed: 'snoozed' } as const;
const half = { next: () => 0.5 };

const entry = fc.record({
  session: fc.constantFrom('me', 'other'),
  leaseCounter: fc.integer({ min: 6, max: 8 }),
  how: fc.constantFrom('done', 'failed', 'released', 'snoozed', 'died', 'cancelled'),
});

test('a claim has ended as the entry of its own tenure says, whatever others left in the history', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), fc.constantFrom('ready', 'running', 'dead'), (past, state) => {
      const row = { state, session: 'other', leaseCounter: 9, past } as unknown as TaskRecord;
      const own = past.find(({ session, leaseCounter }) => session === 'me' && leaseCounter === 7)?.how;
      const expected = own === undefined ? undefined : SETTLED[own as keyof typeof SETTLED];
      expect(settlementOf(OURS as Claim, row)).toBe(expected);
    }),
    { seed: 1, numRuns: 500 },
  );
});

test.each([
  [{ session: 'me', leaseCounter: 7 }, 'done'],
  [{ session: 'me', leaseCounter: 8 }, undefined],
  [{ session: 'other', leaseCounter: 7 }, undefined],
])('a done row of %j', (tenure, settlement) => {
  const row = { state: 'done', ...tenure, past: new Array<PastAttempt>() } as unknown as TaskRecord;
  expect(settlementOf(OURS as Claim, row)).toBe(settlement);
  expect(settlementOf(OURS as Claim, undefined)).toBeUndefined();
});

describe('an error', () => {
  test('of any length is cut before it is stored', () => {
    const thrown = Object.assign(new Error('x'.repeat(400_000)), { name: 'N'.repeat(5_000) });
    const { error } = judgeFailure(thrown, 1, POLICY, { now: 5, random: half });
    expect(error.message.length).toBeLessThanOrEqual(ERROR_MESSAGE_LIMIT_CHARACTERS + 1);
    expect(error.name.length).toBeLessThanOrEqual(101);
    expect(error.at).toBe(5);
  });

  test.each([
    ['an error keeps its name', new TypeError('no'), 'TypeError', 'no'],
    ['what is no error is called one', { name: 'Mine' }, 'Error', "{ name: 'Mine' }"],
    ['an error whose name is no text is called one', Object.assign(new Error('no'), { name: 7 }), 'Error', 'no'],
    ['a text that just fits is not cut', new Error('x'.repeat(ERROR_MESSAGE_LIMIT_CHARACTERS)), 'Error', undefined],
  ])('%s', (_what, thrown, name, message) => {
    const { error } = judgeFailure(thrown, 1, POLICY, { now: 5, random: half });
    expect(error.name).toBe(name);
    expect(error.message).toBe(message ?? 'x'.repeat(ERROR_MESSAGE_LIMIT_CHARACTERS));
  });

  test('delays as RetryAfter says, never less than nothing', () => {
    expect(judgeFailure(new RetryAfter('1m', 'later'), 1, POLICY, { now: 0, random: half })).toMatchObject({
      kind: 'retry',
      delayMs: 60_000,
    });
    expect(() => new RetryAfter(-1, 'earlier')).toThrow('-1');
  });
});

describe('an outage of the store', () => {
  const away = new StoreUnavailableError('no answer', { applied: 'no' });

  test('pauses at least half a second and at most a minute, even in a long outage', () => {
    fc.assert(
      fc.property(
        fc.option(fc.integer({ min: 0, max: 86_400_000 }), { nil: undefined }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failingMs, drawn) => {
          const now = 100_000_000;
          const failingSince = failingMs === undefined ? undefined : now - failingMs;
          const judged = judgeOutage(away, { failingSince }, POLICY, { now, random: { next: () => drawn } });
          expect(judged?.isRefunded).toBe(true);
          expect(judged?.delayMs).toBeGreaterThanOrEqual(500);
          expect(judged?.delayMs).toBeLessThanOrEqual(60_000);
        },
      ),
      { seed: 1, numRuns: 200 },
    );
  });

  test('counts as a failure after a day, or when there is one attempt', () => {
    const at = { now: 100_000_000, random: half };
    expect(judgeOutage(away, { failingSince: at.now - 86_400_001 }, POLICY, at)).toBeUndefined();
    expect(judgeOutage(away, { failingSince: undefined }, { maxAttempts: 1 }, at)).toBeUndefined();
    expect(judgeOutage(new Error('mine'), { failingSince: undefined }, POLICY, at)).toBeUndefined();
  });
});

describe('a task that is handed back', () => {
  const whole = { isDeadline: true, isSpent: false, hasProgressed: false, ranMs: 30_000, lifeMs: 60_000 };
  const last = { handBacks: MAX_HAND_BACKS - 1 };

  test('is dead at the fifth deadline in a row that it had half a life before', () => {
    expect(judgeHandBack({ ...last, handBacks: MAX_HAND_BACKS - 2 }, whole, 0)).toEqual({
      kind: 'release',
      handBacks: MAX_HAND_BACKS - 1,
    });
    expect(judgeHandBack(last, whole, 0)).toMatchObject({
      kind: 'dead',
      error: { name: 'NeverFits', message: expect.stringContaining('5 times in a row') as unknown },
    });
    expect(judgeHandBack(last, whole, 0)).toMatchObject({
      error: { message: expect.stringContaining('the last time after 30 s') as unknown },
    });
  });

  test.each([
    ['for a stop that is no deadline', { isDeadline: false }, undefined],
    ['after less than half a life', { ranMs: 29_999 }, undefined],
    ['with progress', { hasProgressed: true }, 0],
  ])('lives on %s', (_why, change, handBacks) => {
    expect(judgeHandBack(last, { ...whole, ...change }, 0)).toEqual({ kind: 'release', handBacks });
  });

  test.each([
    ['at the deadline', true, 'its worker reached its deadline 30 s after it had begun'],
    ['at a stop', false, 'its worker was stopped 30 s after it had begun'],
  ])('is dead if it may begin once, and has begun: %s', (_when, isDeadline, message) => {
    expect(judgeHandBack(last, { ...whole, isDeadline, isSpent: true, hasProgressed: true }, 7)).toEqual({
      kind: 'dead',
      error: { name: 'HandedBack', at: 7, message: expect.stringContaining(message) as unknown },
    });
  });
});
