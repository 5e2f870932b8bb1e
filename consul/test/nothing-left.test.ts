/** All work of a request has ended when the response is sent: no work continues afterwards, or after a freeze. */
import { describe, expect, test } from 'vitest';
import { createConsulApp } from '../http/app.ts';
import { within } from '../http/blocking.ts';
import type { Exchange } from '../http/exchange.ts';
import { DEFAULT_SETTINGS } from '../http/gateway.ts';
import { Polls, snapshotOf } from '../http/polls.ts';
import { Waits } from '../http/waits.ts';
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import type { Remote } from '../remote/remote.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { CountingClock, ManualClock } from '../../test/support/manual-clock.ts';

/** The state of a promise after all other work has run. */
async function stateOf<T>(promise: Promise<T>): Promise<T | 'pending'> {
  await new ManualClock('2026-11-21T00:00:00Z').advance(0);
  return Promise.race([promise, Promise.resolve('pending' as const)]);
}

describe('deleting a prefix', () => {
  test('is answered once every deletion that was begun has ended, and begins none after one has failed', async () => {
    const slow = Promise.withResolvers<{ readonly kind: 'deleted' }>();
    const begun: string[] = [];
    const keys = Array.from({ length: 100 }, (_, at) => `p/${at}`);
    const prefixes = {
      viewAtOnce: () =>
        Promise.resolve({ fingerprint: '00', entries: keys.map((key) => ({ key })), unread: [], unjudged: [] }),
    };
    const locks = {
      delete: (key: string) => {
        begun.push(key);
        return key === 'p/0'
          ? Promise.reject(new StoreUnavailableError('the table is not there', { applied: 'no' }))
          : slow.promise;
      },
    };
    const failures: unknown[] = [];
    const app = createConsulApp({
      remote: { prefixes, locks } as unknown as Remote,
      runtime: systemRuntime,
      tokens: undefined,
      settings: { ...DEFAULT_SETTINGS, node: 'gateway', maxClockSkewMs: 100 },
      closing: new AbortController().signal,
      onFailure: (failure) => void failures.push(failure),
    });

    const answer = app.fetch(new Request('http://gateway/v1/kv/p/?recurse', { method: 'DELETE' }));

    expect(await stateOf(answer)).toBe('pending');
    const begunBefore = begun.length;
    slow.resolve({ kind: 'deleted' });
    expect((await answer).status).toBe(500);
    expect(begunBefore).toBeLessThan(keys.length);
    expect(begun).toHaveLength(begunBefore);
    expect(failures).toEqual([
      { method: 'DELETE', path: '/v1/kv/p/', error: expect.any(StoreUnavailableError) as unknown },
    ]);
  });
});

test.each([
  ['news', () => Promise.resolve('news')],
  ['an error', () => Promise.reject(new Error('no answer'))],
])('a blocking query that ends with %s leaves no timer', async (_what, wait) => {
  const clock = new CountingClock('2026-11-21T00:00:00Z');
  const gateway = { runtime: { ...systemRuntime, clock }, waits: new Waits(DEFAULT_SETTINGS.waits) };
  const exchange = { gateway, signal: new AbortController().signal };

  await within(exchange as unknown as Exchange, 600_000, wait).catch(() => undefined);

  await clock.advance(0);
  expect(clock.sleeping).toBe(0);
});

describe('a wait for a change', () => {
  const unchanged = snapshotOf('the same', [], 0);
  const isNews = ({ fingerprint }: typeof unchanged): boolean => fingerprint !== unchanged.fingerprint;
  const pollMs = 1_000;

  function open() {
    const clock = new ManualClock('2026-11-21T00:00:00Z');
    const over = new AbortController();
    return { clock, over, polls: new Polls({ ...systemRuntime, clock }) };
  }

  test('ends with a poll in flight when its time is over', async () => {
    const { clock, over, polls } = open();
    const looking = Promise.withResolvers<typeof unchanged>();
    const waiting = polls.next('x', () => looking.promise, isNews, over.signal);
    await clock.advance(pollMs);

    over.abort();

    expect(await stateOf(waiting)).toBe('pending');
    looking.resolve(unchanged);
    expect(await waiting).toBeUndefined();
  });

  test('ends immediately between two polls', async () => {
    const { clock, over, polls } = open();
    let looks = 0;
    const look = () => Promise.resolve({ ...unchanged, value: String(++looks) });
    const waiting = polls.next('x', look, isNews, over.signal);
    await clock.advance(pollMs);

    over.abort();

    expect(await stateOf(waiting)).toBeUndefined();
    await clock.advance(10 * pollMs);
    expect(looks).toBe(1);
  });

  test('leaves the poll to the others that wait for it', async () => {
    const { clock, over, polls } = open();
    const looking = Promise.withResolvers<typeof unchanged>();
    const look = () => looking.promise;
    const leaving = polls.next('x', look, isNews, over.signal);
    const staying = polls.next('x', look, isNews, new AbortController().signal);
    await clock.advance(pollMs);

    over.abort();

    expect(await stateOf(leaving)).toBeUndefined();
    const changed = snapshotOf('another', ['changed'], 1);
    looking.resolve(changed);
    expect(await staying).toEqual(changed);
  });

  test('reports a failed poll', async () => {
    const { clock, over, polls } = open();
    const look = () => Promise.reject(new Error('no answer'));
    const waiting = polls.next('x', look, isNews, over.signal);
    waiting.catch(() => undefined);
    await clock.advance(pollMs);

    await expect(waiting).rejects.toThrow('no answer');
  });
});
