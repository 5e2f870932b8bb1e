/** The times of `leasehold run`: `--wait` is for all its leases together, and a program that lost them ends within the lock-delay. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { CliConnection } from '../../../cli/connection.ts';
import { graceOf } from '../../../cli/commands/run.ts';
import { Guard } from '../../../cli/run/guard.ts';
import type { Wanted } from '../../../cli/run/rights.ts';
import { acquireRights } from '../../../cli/run/rights.ts';
import { formatSequencer } from '../../../shared/core/lease/sequencer.ts';
import type { Session } from '../../../shared/client/session.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('each lease is waited for as long as the ones before have left', async () => {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const waits: (readonly [what: string, wait: number])[] = [];
  const held = async (what: string, options: { readonly wait: number }) => {
    waits.push([what, options.wait]);
    await clock.advance(6_000);
    return { fencingToken: 1, sequencer: 's', signal: new AbortController().signal };
  };
  const session = {
    id: 's',
    record: { node: 'here' },
    lock: (_: string, options: { readonly wait: number }) => held('lock', options),
    campaign: (_: string, options: { readonly wait: number }) => held('leader', options),
  } as unknown as Session;
  const semaphores = {
    acquire: async (_: unknown, __: string, options: { readonly wait: number }) => ({
      kind: 'acquired',
      permit: await held('permit', options),
    }),
  };
  const wanted = { lock: 'a', leader: 'b', semaphore: { name: 'c', limit: 1 } };
  const connection = { runtime: { clock }, semaphores, table: 't' } as unknown as CliConnection;

  await acquireRights(wanted, session, connection, { waitMs: 10_000, signal: new AbortController().signal });

  expect(waits).toEqual([
    ['lock', 10_000],
    ['leader', 4_000],
    ['permit', 0],
  ]);
});

describe('the leases of a command', () => {
  const right = (release: () => unknown) => ({
    fencingToken: 7,
    sequencer: 'of the store',
    signal: new AbortController().signal,
    release: () => Promise.resolve(release()),
    resign: () => Promise.resolve(release()),
  });

  async function acquired(wanted: Partial<Wanted>, answers: object = {}, waitMs = 0) {
    const asked: unknown[] = [];
    const session = {
      id: 's',
      holder: 'the holder',
      record: { node: 'here' },
      lock: (...call: unknown[]) => (asked.push(['lock', ...call]), Promise.resolve(right(() => 'freed'))),
      campaign: (...call: unknown[]) => (asked.push(['campaign', ...call]), Promise.resolve(right(() => 'resigned'))),
    };
    const acquire = (...call: unknown[]) => {
      asked.push(['acquire', ...call]);
      return Promise.resolve({ kind: 'acquired', permit: right(() => 'given back'), ...answers });
    };
    const clock = new ManualClock('2026-01-01T00:00:00Z');
    const connection = { runtime: { clock }, semaphores: { acquire }, table: 't' } as unknown as CliConnection;
    const { signal } = new AbortController();
    const all = { lock: undefined, leader: undefined, semaphore: undefined, ...wanted };
    const rights = await acquireRights(all, session as never, connection, { waitMs, signal });
    const released = await Promise.all(rights.map((one) => one.release()));
    return {
      asked,
      signal,
      released,
      rights: rights.map(({ what, fencingToken, sequencer }) => [what, fencingToken, sequencer]),
    };
  }

  test('are asked for with the value, the limit and the wait, in one order, and each is given back in its way', async () => {
    const wanted = { lock: 'a', leader: 'b', semaphore: { name: 'c', limit: 3 } };
    const { asked, signal, released, rights } = await acquired(wanted, {}, 500);

    expect(asked).toEqual([
      ['lock', 'a', { wait: 500, signal }],
      ['campaign', 'b', { value: 'here', wait: 500, signal }],
      ['acquire', 'the holder', 'c', { limit: 3, wait: 500, signal }],
    ]);
    expect(released).toEqual(['freed', 'resigned', 'given back']);
    const sequencer = formatSequencer({ table: 't', kind: 'semaphore', key: 'c', leaseCounter: 7, session: 's' });
    expect(rights).toEqual([
      ['lock a', 7, 'of the store'],
      ['leader b', 7, 'of the store'],
      ['semaphore c', 7, sequencer],
    ]);
  });

  test.each([
    [null, 0, 'not acquired without a wait (see --wait): semaphore c is full (2 of 2 in use)'],
    [
      Date.parse('2026-01-01T00:00:30Z'),
      60_000,
      'not acquired within 60s: semaphore c is full (2 of 2 in use); ' +
        'a holder that has crashed loses its permit at 2026-01-01T00:00:30.000Z',
    ],
  ])('of a full semaphore until %s, waited for %d ms, are not acquired', async (until, waitMs, message) => {
    const full = { kind: 'full', inUse: 2, limit: 2, until };

    await expect(acquired({ semaphore: { name: 'c', limit: 2 } }, full, waitMs)).rejects.toMatchObject({
      exitCode: 75,
      message,
    });
  });
});

test.each([
  ['as long as usual', { lockDelay: 15_000 }, 5_000],
  ['no longer than the lock-delay', { lockDelay: 2_000 }, 2_000],
  ['not at all without a lock-delay', { lockDelay: 0 }, 0],
  ['as long as was asked for', { lockDelay: 15_000, grace: 9_000 }, 9_000],
])('a program that lost its lease may shut down: %s', (_, options, graceMs) => {
  expect(graceOf(options)).toBe(graceMs);
});

test.each([
  [1, 1],
  [1_000, 1],
  [1_001, 2],
  [29_000, 29],
  [0, 1],
])('the guard is told a deadline in %d ms as one in %d s', (ms, seconds) => {
  const orders = new PassThrough();

  new Guard(orders).extend(ms);

  expect(String(orders.read())).toBe(`until ${seconds}\n`);
});

test('the guard of a lease that never expires gets no deadline, and after the release it gets nothing', () => {
  const orders = new PassThrough();
  const guard = new Guard(orders);

  guard.extend(Infinity);
  guard.hold(7);
  guard.release();
  guard.extend(1_000);
  guard.release();

  expect(String(orders.read())).toBe('hold 7\nfree\n');
});
