/** The times of `leasehold run`: `--wait` is for all its leases together, and a program that lost them ends within the lock-delay. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { CliConnection } from '../../../cli/connection.ts';
import { graceOf } from '../../../cli/commands/run.ts';
import { Guard } from '../../../cli/run/guard.ts';
import { acquireRights } from '../../../cli/run/rights.ts';
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

test.each([
  ['as long as usual', { lockDelay: 15_000 }, 5_000],
  ['no longer than the lock-delay', { lockDelay: 2_000 }, 2_000],
  ['not at all without a lock-delay', { lockDelay: 0 }, 0],
  ['as long as was asked for', { lockDelay: 15_000, grace: 9_000 }, 9_000],
])('a program that lost its lease may shut down: %s', (_, options, graceMs) => {
  expect(graceOf(options)).toBe(graceMs);
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
