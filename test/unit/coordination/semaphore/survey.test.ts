/** Which holders and waiters of a full semaphore a contender finds dead, by the states of their sessions. */
import { describe, expect, test } from 'vitest';
import { PermitBook } from '../../../../shared/coordination/semaphore/permit-book.ts';
import { SemaphoreInspector } from '../../../../shared/coordination/semaphore/semaphore-inspector.ts';
import type { HolderRecord, SemaphoreRecord, Ticket } from '../../../../shared/coordination/semaphore/semaphore.ts';
import { sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

const TTL_MS = 10_000;
const SKEW_MS = 1_000;
const LOCK_DELAY_MS = 15_000;

interface State {
  /** Milliseconds after its last heartbeat at which the contender looks. */
  readonly lookAfterMs: number;
  readonly ttl?: null;
  readonly lockDelay?: number;
  readonly bring: (scene: { readonly world: World; readonly there: Process; readonly id: string }) => Promise<unknown>;
  readonly isKept: boolean;
  /** Milliseconds after its last heartbeat at which it may be found dead. */
  readonly until: number | null;
}

const crash = async ({ there }: { readonly there: Process }) => {
  there.driver.isDown = true;
};
const LIVE_UNTIL_MS = TTL_MS + SKEW_MS;
const OPENS_MS = LIVE_UNTIL_MS + LOCK_DELAY_MS + SKEW_MS;

const STATES: Readonly<Record<string, State>> = {
  'is live': { lookAfterMs: 0, bring: crash, isKept: true, until: LIVE_UNTIL_MS },
  'is live, and has no TTL': { lookAfterMs: 90_000, ttl: null, bring: crash, isKept: true, until: null },
  'may be live by another clock': {
    lookAfterMs: LIVE_UNTIL_MS - 1,
    bring: crash,
    isKept: true,
    until: LIVE_UNTIL_MS,
  },
  'has just expired': { lookAfterMs: LIVE_UNTIL_MS, bring: crash, isKept: true, until: OPENS_MS },
  'expired, and has no lock-delay': {
    lookAfterMs: LIVE_UNTIL_MS,
    lockDelay: 0,
    bring: crash,
    isKept: false,
    until: null,
  },
  'was ended': {
    lookAfterMs: 0,
    bring: ({ there, id }) => there.ports.sessions.invalidate({ id, reason: 'ended', now: 0, nonce: 'x' }),
    isKept: false,
    until: null,
  },
  'was destroyed': {
    lookAfterMs: 0,
    bring: ({ there: { leasehold }, id }) => leasehold.sessions.destroy(id),
    isKept: true,
    until: LOCK_DELAY_MS + SKEW_MS,
  },
  'was destroyed, and its lock-delay is over': {
    lookAfterMs: LOCK_DELAY_MS + SKEW_MS,
    bring: ({ there: { leasehold }, id }) => leasehold.sessions.destroy(id),
    isKept: false,
    until: null,
  },
  'has no row': {
    lookAfterMs: 0,
    bring: ({ world, id }) =>
      world.driver.attempt(
        'delete',
        { TableName: world.table, Key: { ...sessionKey(id) } },
        new AbortController().signal,
      ),
    isKept: false,
    until: null,
  },
  'is damaged': {
    lookAfterMs: 0,
    bring: async ({ world, id }) => {
      const Item = { ...(await world.row(sessionKey(id))), renewals: 'damaged' };
      await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
    },
    isKept: true,
    until: null,
  },
};

const holder = (session: string, since = 1): HolderRecord => ({
  session,
  since,
  permits: 1,
  token: since,
  closedUntil: undefined,
});
const ticket = (session: string, since = 1): Ticket => ({ session, since, permits: 1, until: Infinity });

const rowOf = (holders: readonly HolderRecord[], waiting: readonly Ticket[]): SemaphoreRecord => ({
  name: 's',
  limit: 2,
  declared: 2,
  free: 2 - holders.length,
  leaseCounter: 9,
  revision: 1,
  nonce: 'n',
  holders,
  waiting,
  lastEviction: undefined,
  left: {},
  floor: 0,
});

/** Places of the session in question, among claims of a session that lives without a TTL. */
const PLACES: Readonly<Record<string, (its: string, other: string) => SemaphoreRecord>> = {
  'the only holder': (its) => rowOf([holder(its)], []),
  'a holder beside another': (its, other) => rowOf([holder(other), holder(its)], []),
  'the head of the queue': (its) => rowOf([], [ticket(its)]),
  'the head of the queue behind a holder': (its, other) => rowOf([holder(other)], [ticket(its), ticket(other, 2)]),
  'second in the queue': (its, other) => rowOf([holder(other)], [ticket(other, 2), ticket(its)]),
  'a holder that also waits': (its) => rowOf([holder(its)], [ticket(its, 2)]),
};

async function open({ ttl, lockDelay = LOCK_DELAY_MS }: Partial<State> = {}) {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const mine = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
  const lasting = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
  const asked = await there.leasehold.session({
    ttl: ttl === null ? null : TTL_MS,
    lockDelay,
    ...(ttl === null ? { heartbeat: '1d' } : {}),
  });
  const inspector = new SemaphoreInspector(mine.holder, here.ports);
  return { world, there, mine, inspector, id: asked.id, other: lasting.id };
}

describe.each(Object.entries(STATES))('a session that %s', (_state, state) => {
  test.each(Object.entries(PLACES))('as %s', async (_place, place) => {
    const { world, there, inspector, id, other } = await open(state);
    const startedAt = world.clock.now();
    await state.bring({ world, there, id });
    world.clock.step(state.lookAfterMs);
    const row = place(id, other);
    const kept = ({ session }: { readonly session: string }): boolean => session === other || state.isKept;

    const { pruned, until } = await inspector.survey(row);

    expect(pruned.holders).toEqual(row.holders.filter(kept));
    expect(pruned.waiting).toEqual(row.waiting.filter(kept));
    expect(pruned.free).toBe(2 - row.holders.filter(kept).length);
    expect(until).toBe(state.until === null ? null : startedAt + state.until);
    // Late requests of removed claims are barred.
    expect(Object.keys(pruned.left)).toEqual(state.isKept ? [] : [id]);
  });
});

describe('a claim of the contender itself', () => {
  test.each([
    ['a holder', (id: string, since: number) => rowOf([holder(id, since)], [])],
    ['a waiter', (id: string, since: number) => rowOf([], [ticket(id, since)])],
  ])('as %s is dead exactly if no code here knows it', async (_place, place) => {
    const { world, inspector, mine } = await open();
    const known = PermitBook.of(mine.holder).open('s', world.clock.now());

    const counts = [known, known + 1].map(async (since) => {
      const { holders, waiting } = (await inspector.survey(place(mine.id, since))).pruned;
      return holders.length + waiting.length;
    });

    expect(await Promise.all(counts)).toEqual([1, 0]);
  });
});

test.each([
  ['an eviction', -1, (id: string, at: number) => rowOf([{ ...holder(id), closedUntil: at }], []), true],
  ['an eviction', 0, (id: string, at: number) => rowOf([{ ...holder(id), closedUntil: at }], []), false],
  ['a ticket', -1, (id: string, at: number) => rowOf([], [{ ...ticket(id), until: at }]), true],
  ['a ticket', 0, (id: string, at: number) => rowOf([], [{ ...ticket(id), until: at }]), false],
] as const)(
  '%s of a live session blocks until its time and the clock bound (%i ms)',
  async (_w, byMs, place, isKept) => {
    const { world, inspector, other } = await open();
    const at = world.clock.now() + 5_000;
    world.clock.step(5_000 + SKEW_MS + byMs);

    const { holders, waiting } = (await inspector.survey(place(other, at))).pruned;

    expect(holders.length + waiting.length).toBe(isKept ? 1 : 0);
  },
);
