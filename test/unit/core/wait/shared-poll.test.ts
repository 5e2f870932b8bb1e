/** Looks that watchers share, in virtual time. */
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { defined } from '../../../../shared/core/defined.ts';
import type { Due } from '../../../../shared/core/wait/shared-poll.ts';
import { SharedPoll } from '../../../../shared/core/wait/shared-poll.ts';
import { CountingClock } from '../../../support/manual-clock.ts';

type Read = (due: readonly Due<undefined>[], tell: (key: string, seen: number) => void) => Promise<void>;

/** Looks see how many there were before; each is written down with its time and keys. */
function open(options: { readonly togetherMs?: number; readonly read?: Read } = {}) {
  const clock = new CountingClock('2026-08-01T00:00:00Z');
  const startedAt = clock.monotonic();
  const polls: { readonly at: number; readonly keys: readonly string[]; readonly isNudged: boolean }[] = [];
  const poll = new SharedPoll<number>(clock, {
    begin: () => undefined,
    pauseMs: (count) => 100 * 2 ** count,
    ...defined({ togetherMs: options.togetherMs }),
    read: async (due, tell) => {
      const seen = polls.length;
      polls.push({
        at: clock.monotonic() - startedAt,
        keys: due.map(({ key }) => key),
        isNudged: due.some((one) => one.isNudged),
      });
      if (options.read !== undefined) await options.read(due, tell);
      else for (const { key } of due) tell(key, seen);
    },
  });
  const forever = new AbortController();
  return { clock, polls, poll, forever };
}

const never = (): boolean => false;

describe('a key that is watched', () => {
  test('is polled once for all waiters, at growing intervals, until the last one leaves', async () => {
    const { clock, polls, poll, forever } = open();
    const waits = [1, 1, 2].map((first) => poll.next('a', (seen) => seen >= first, forever.signal));

    await clock.advance(10_000);

    expect(await Promise.all(waits)).toEqual([1, 1, 2]);
    expect(polls.map(({ at }) => at)).toEqual([100, 300, 700]);
  });

  test('is left silently by a waiter whose signal aborts', async () => {
    const { clock, polls, poll } = open();
    const stop = new AbortController();
    const waiting = poll.next('a', never, stop.signal);
    await clock.advance(150);

    stop.abort();

    expect(await waiting).toBeUndefined();
    await clock.advance(0);
    expect(clock.sleeping).toBe(0);
    await clock.advance(10_000);
    expect(polls).toHaveLength(1);
    expect(await poll.next('a', () => true, stop.signal)).toBeUndefined();
  });

  test('leaves nothing on the signal of its waiter, however the wait ends', async () => {
    let isBroken = false;
    const { clock, poll, forever } = open({
      read: ([one], tell) => {
        tell(one!.key, 1);
        return isBroken ? Promise.reject(new Error('broken')) : Promise.resolve();
      },
    });
    const seen = poll.next('a', () => true, forever.signal);
    await clock.advance(200);
    await seen;
    isBroken = true;
    const failed = expect(poll.next('a', never, forever.signal)).rejects.toThrow('broken');
    await clock.advance(200);
    await failed;

    expect(getEventListeners(forever.signal, 'abort')).toEqual([]);
  });

  test('is polled immediately after a nudge, and again if a poll was in flight', async () => {
    const gate = Promise.withResolvers<undefined>();
    const { clock, polls, poll, forever } = open({
      read: async ([one], tell) => {
        if (polls.length === 1) await gate.promise;
        if (one?.isNudged) tell(one.key, 7);
      },
    });
    const waiting = poll.next('a', () => true, forever.signal);
    await clock.advance(150);

    poll.nudge((key) => key === 'b');
    poll.nudge((key) => key === 'a');
    await clock.advance(20);
    expect(polls).toHaveLength(1);
    gate.resolve(undefined);
    await clock.advance(5);

    expect(polls).toMatchObject([
      { at: 100, isNudged: false },
      { at: 170, isNudged: true },
    ]);
    expect(await waiting).toBe(7);
  });
});

describe('several watched keys', () => {
  test('do not wait for an unanswered poll of another key', async () => {
    const { clock, polls, poll, forever } = open({
      read: async ([one], tell) => {
        if (one?.key === 'stuck') await Promise.withResolvers<undefined>().promise;
        else if (one !== undefined) tell(one.key, 1);
      },
    });
    void poll.next('stuck', () => true, forever.signal);
    await clock.advance(150);
    const other = poll.next('other', () => true, forever.signal);
    await clock.advance(150);

    expect(await other).toBe(1);
    await clock.advance(60_000);
    expect(polls.map(({ keys }) => keys)).toEqual([['stuck'], ['other']]);
  });

  test('share a poll when they are due at about the same time', async () => {
    const { clock, polls, poll, forever } = open({ togetherMs: 50 });
    const waits = [poll.next('a', () => true, forever.signal)];
    await clock.advance(40);
    waits.push(poll.next('b', () => true, forever.signal));
    await clock.advance(20);
    const late = poll.next('c', () => true, forever.signal);
    await clock.advance(200);

    await Promise.all([...waits, late]);
    expect(polls).toMatchObject([
      { at: 100, keys: ['a', 'b'] },
      { at: 160, keys: ['c'] },
    ]);
  });

  test('end with the error of their own poll only', async () => {
    const { clock, poll, forever } = open({
      read: async ([one], tell) => {
        if (one?.key === 'damaged') throw new TypeError('unreadable');
        if (one !== undefined) tell(one.key, 1);
        await Promise.resolve();
      },
    });
    const damaged = Promise.allSettled([1, 2].map(() => poll.next('damaged', () => true, forever.signal)));
    const sound = poll.next('sound', () => true, forever.signal);
    await clock.advance(150);

    expect(await damaged).toMatchObject([{ reason: { message: 'unreadable' } }, { reason: { message: 'unreadable' } }]);
    expect(await sound).toBe(1);
  });
});
