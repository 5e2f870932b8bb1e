/** The shared wait engine: when it polls, when it ends, and how it treats an unavailable store. */
import { setImmediate as drained } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { CorruptItemError, StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { WaiterQueue } from '../../../../shared/core/wait/waiter-queue.ts';
import type { PollResult, WaitPolicy, WaitOptions } from '../../../../shared/core/wait/wait.ts';
import { waitFor } from '../../../../shared/core/wait/wait.ts';
import { CountingClock } from '../../../support/manual-clock.ts';

const PAUSES = { firstMs: 100, longestMs: 1_000, spreadMs: 2_000 };
const BUSY: PollResult<string, string> = { kind: 'blocked', by: 'busy', until: null };
const away = (): StoreUnavailableError => new StoreUnavailableError('no answer', { applied: 'no' });

describe('a wait', () => {
  let clock: CountingClock;
  let turns: WaiterQueue<string>;

  beforeEach(() => {
    clock = new CountingClock('2026-03-01T12:00:00Z');
    turns = new WaiterQueue(clock);
  });

  function start(
    look: () => PollResult<string, string>,
    options: WaitOptions,
    rest: Partial<WaitPolicy<string>> = {},
  ): { readonly result: Promise<unknown>; readonly at: number[] } {
    const at: number[] = [];
    const startedAt = clock.monotonic();
    const seeing = (): Promise<PollResult<string, string>> => {
      at.push(clock.monotonic() - startedAt);
      return new Promise((resolve) => {
        resolve(look());
      });
    };
    const waiting = waitFor(seeing, { options, pauses: PAUSES, ...rest }, { clock, random: { next: () => 0.999 } });
    return { result: waiting.catch((error: unknown) => error), at };
  }

  test('makes one poll if the wait is 0, without passing time', async () => {
    const { result, at } = start(() => BUSY, { wait: 0 }, { line: { turns, key: 'k' } });

    expect(await result).toMatchObject({ kind: 'blocked', by: 'busy', waitedMs: 0 });
    expect(at).toEqual([0]);
  });

  test('that spins ends by name', async () => {
    const still = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve(), after: () => () => undefined };
    const policy = { options: {}, pauses: PAUSES };

    const waiting = waitFor(() => Promise.resolve(BUSY), policy, { clock: still, random: { next: () => 0 } });

    await expect(waiting).rejects.toThrow('a wait polled 1000 times while no time passed');
  });

  test('polls at growing pauses, and for the last time when its time is over', async () => {
    const { result, at } = start(() => BUSY, { wait: 2_000 });
    await clock.advance(3_000);

    expect(await result).toMatchObject({ kind: 'blocked', waitedMs: 2_000 });
    expect(at).toEqual([0, 99, 298, 697, 1_496, 2_000]);
  });

  test('keeps the ratio of the first pause to the longest one that the caller gives', async () => {
    const { result, at } = start(() => BUSY, { wait: 250, pause: 100 });
    await clock.advance(300);

    expect(await result).toMatchObject({ kind: 'blocked', waitedMs: 250 });
    expect(at).toEqual([0, 9, 28, 67, 146, 245, 250]);
  });

  test('does not poll during a closed time, and polls soon after', async () => {
    const opensAt = clock.now() + 10_000;
    const look = (): PollResult<string, string> =>
      clock.now() < opensAt
        ? { kind: 'blocked', by: 'closed', until: opensAt, isClosed: true }
        : { kind: 'found', found: 'it' };
    const { result, at } = start(look, {});
    await clock.advance(12_000);

    expect(await result).toEqual({ kind: 'found', found: 'it' });
    expect(at).toEqual([0, 10_999]);
  });

  test('outlasts an unavailable store', async () => {
    let isAway = true;
    const { result } = start(() => {
      if (isAway) throw away();
      return { kind: 'found', found: 'it' };
    }, {});
    await clock.advance(60_000);
    isAway = false;
    await clock.advance(1_000);

    expect(await result).toEqual({ kind: 'found', found: 'it' });
  });

  test('ends with the error of the store when that is still away at its end', async () => {
    const { result } = start(
      () => {
        throw away();
      },
      { wait: 5_000 },
    );
    await clock.advance(5_000);

    expect(await result).toBeInstanceOf(StoreUnavailableError);
  });

  test('ends at once with any other error', async () => {
    const { result, at } = start(() => {
      throw new CorruptItemError('lock k', 'session', 'is a number');
    }, {});

    expect(await result).toBeInstanceOf(CorruptItemError);
    expect(at).toEqual([0]);
  });

  test("ends in a line with the first waiter's result", async () => {
    const first = start(() => BUSY, {}, { line: { turns, key: 'k' } });
    const second = start(() => BUSY, { wait: 500 }, { line: { turns, key: 'k' } });
    await clock.advance(600);

    expect(await second.result).toMatchObject({ kind: 'blocked', by: 'busy', waitedMs: 500 });
    expect(second.at).toEqual([]);
    expect(first.at.length).toBeGreaterThan(1);
  });

  test('has a separate line per kind, woken by the same release', async () => {
    let isFree = false;
    start(() => BUSY, {}, { line: { turns, key: 'k', kind: 'big' } });
    const look = (): PollResult<string, string> => (isFree ? { kind: 'found', found: 'it' } : BUSY);
    const small = start(look, { pause: '1h' }, { line: { turns, key: 'k', kind: 'small' } });
    await drained();
    isFree = true;
    turns.wake('k');

    expect(await small.result).toEqual({ kind: 'found', found: 'it' });
    expect(small.at).toEqual([0, 0]);
  });

  test('does not wait for a waiter that polls more rarely', async () => {
    start(() => BUSY, { pause: '1h' }, { line: { turns, key: 'k' } });
    const often = start(() => BUSY, { pause: '1s', wait: 5_000 }, { line: { turns, key: 'k' } });
    await clock.advance(5_000);

    expect(await often.result).toMatchObject({ kind: 'blocked' });
    expect(often.at.length).toBeGreaterThan(5);
  });

  test('leaves no timer behind, however it ends', async () => {
    const stop = new AbortController();
    const session = { signal: stop.signal, ensureTrusted: () => undefined };
    const { result } = start(() => BUSY, { signal: stop.signal, wait: '1h' }, { session, line: { turns, key: 'k' } });
    await clock.advance(5_000);
    stop.abort(new Error('changed my mind'));

    expect(await result).toMatchObject({ message: 'changed my mind' });
    await drained();
    expect(clock.sleeping).toBe(0);
  });
});
