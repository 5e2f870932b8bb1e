/**
 * Live sessions, and the most recently ended ones. The directory lists sessions by name, including sessions that expired in the last weeks;
 * so it is read in steps, and sessions with holdings are read first.
 */
import type { ConsoleConnection } from '../connection.ts';
import type { Holding, LockPage, SemaphorePage, SessionPage } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';
import type { SessionBook } from './session-book.ts';

/** A unit each. */
const READ_PER_LOOK = 20;
const FRESH_MS = 1_500;
const ENDED_SHOWN = 30;
/** Pause between two complete walks. */
const WALK_EVERY_MS = 60_000;

export class SessionsReader {
  readonly #connection: ConsoleConnection;
  readonly #book: SessionBook;
  /** Listed, and not read yet. */
  #pending: readonly string[] = [];
  #after: unknown;
  #seen = 0;
  #completedAt: number | undefined;
  #isUnderWay = true;

  constructor(connection: ConsoleConnection, book: SessionBook) {
    this.#connection = connection;
    this.#book = book;
  }

  async read(holdings: ReadonlyMap<string, readonly Holding[]>): Promise<Priced<SessionPage>> {
    const stores = this.#connection.open();
    const holders = [...holdings.keys()];
    await this.#book.refresh(stores, [...holders, ...this.#book.living()], { limit: READ_PER_LOOK, freshMs: FRESH_MS });
    await this.#walkOn(stores);
    const living = this.#book.living();
    const shown = [...living, ...this.#book.ended(ENDED_SHOWN)];
    const sessions = shown.flatMap((id) => this.#book.line(id, holdings.get(id) ?? []) ?? []);
    const walk = { seen: this.#seen, isComplete: this.#completedAt !== undefined };
    return { value: { now: this.#connection.now(), sessions, walk }, units: stores.spent() };
  }

  async #walkOn(stores: ReturnType<ConsoleConnection['open']>): Promise<void> {
    if (this.#pending.length === 0) await this.#turnPage(stores);
    const batch = this.#pending.slice(0, READ_PER_LOOK);
    await this.#book.refresh(stores, batch, { limit: READ_PER_LOOK });
    this.#pending = this.#pending.slice(READ_PER_LOOK).filter((id) => !this.#book.isKnown(id));
  }

  async #turnPage(stores: ReturnType<ConsoleConnection['open']>): Promise<void> {
    const now = this.#connection.now();
    if (!this.#isUnderWay) {
      if (now - (this.#completedAt ?? 0) < WALK_EVERY_MS) return;
      this.#isUnderWay = true;
      this.#seen = 0;
    }
    const { ids, next } = await stores.sessions.page('', this.#after);
    this.#seen += ids.length;
    this.#pending = ids.filter((id) => !this.#book.isKnown(id));
    this.#after = next;
    if (next === undefined) {
      this.#completedAt = now;
      this.#isUnderWay = false;
    }
  }
}

/** Adds holdings, by session, to what the polls of queues saw. */
export function withHoldings(
  known: ReadonlyMap<string, readonly Holding[]>,
  { locks }: LockPage,
  { semaphores }: SemaphorePage,
): ReadonlyMap<string, readonly Holding[]> {
  const held = new Map<string, readonly Holding[]>(known);
  const note = (session: string, holding: Holding): void => {
    const before = held.get(session) ?? [];
    const isKnown = before.some(
      ({ kind, name, leaseCounter }) =>
        kind === holding.kind && name === holding.name && leaseCounter === holding.leaseCounter,
    );
    if (!isKnown) held.set(session, [...before, holding]);
  };
  for (const { key, holder } of locks)
    if (holder !== undefined) note(holder.session, { kind: 'lock', name: key, leaseCounter: holder.leaseCounter });
  for (const { name, holders } of semaphores)
    for (const { session, token } of holders) note(session, { kind: 'permit', name, leaseCounter: token });
  return held;
}
