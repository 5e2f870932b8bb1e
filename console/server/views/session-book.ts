/**
 * The console's view of sessions. Reading one costs a unit, so a session is read only if it is new,
 * or if it may have ended by now. An ended one never comes back and is not read again.
 */
import type { SessionRecord, Verdict } from '../../../shared/session/session-record.ts';
import { judgeSession } from '../../../shared/session/session-record.ts';
import type { ConsoleConnection, Stores } from '../connection.ts';
import type { Holding, LostLease, SessionLine, SessionStanding } from '../../model.ts';
import { DistinctCount } from './distinct-count.ts';

interface Known {
  /** Undefined: there is no such row (any more). */
  readonly session: SessionRecord | undefined;
  readonly readAt: number;
  readonly isDamaged: boolean;
}

/** Beyond it, the sessions that ended longest ago are forgotten. */
const KNOWN_LIMIT = 5_000;
const LOST_KEPT = 50;
/** So many lost sessions are about ten megabytes of ids: a console may stay open for weeks. */
const COUNTED_LIMIT = 100_000;

export class SessionBook {
  readonly #connection: ConsoleConnection;
  readonly #known = new Map<string, Known>();
  readonly #lost = new Map<string, LostLease>();
  /** Remembers ids when the rest is forgotten: a session that is met again is not counted again. */
  readonly #lostSinceOpening = new DistinctCount(COUNTED_LIMIT);
  readonly #openedAt: number;

  constructor(connection: ConsoleConnection) {
    this.#connection = connection;
    this.#openedAt = connection.now();
  }

  /**
   * Reads sessions whose state is missing or stale, missing ones first.
   * @param options.limit maximum number of reads, a unit each
   * @param options.freshMs how long the state of a live session is fresh; without it, until it may have expired
   */
  async refresh(
    stores: Stores,
    ids: Iterable<string>,
    options: { readonly limit: number; readonly freshMs?: number },
  ): Promise<void> {
    const now = this.#connection.now();
    const due = [...new Set(ids)]
      .filter((id) => this.#isDue(id, now, options.freshMs ?? Infinity))
      .sort((one, other) => (this.#known.get(one)?.readAt ?? 0) - (this.#known.get(other)?.readAt ?? 0))
      .slice(0, options.limit);
    if (due.length === 0) return;
    const damaged = new Set<string>();
    const records = await stores.sessions.getMany(due, (id) => {
      damaged.add(id);
    });
    for (const id of due) this.#note(id, { session: records.get(id), readAt: now, isDamaged: damaged.has(id) });
  }

  /** Those that live, or may. */
  living(): readonly string[] {
    return [...this.#known.keys()].filter((id) => {
      const standing = this.standing(id);
      return standing === 'live' || standing === 'damaged' || standing === 'expired';
    });
  }

  isKnown(id: string): boolean {
    return this.#known.has(id);
  }

  /** Undefined if unknown. */
  standing(id: string): SessionStanding | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    if (known.isDamaged) return 'damaged';
    if (known.session?.status === 'invalid') return known.session.reason === 'ended' ? 'ended' : 'lost';
    return STANDINGS[this.#judge(known).kind];
  }

  /** Returns a session's line, or undefined until it is read. */
  line(id: string, holds: readonly Holding[]): SessionLine | undefined {
    const session = this.#known.get(id)?.session;
    const standing = this.standing(id);
    if (session === undefined || standing === undefined) return undefined;
    const { name, node, createdAt, expiresAt, ttlMs } = session;
    const isOver = session.status === 'invalid';
    return {
      id,
      name,
      node,
      standing,
      createdAt,
      ttlMs,
      holds,
      renewedAt: expiresAt === null || ttlMs === null ? null : expiresAt - ttlMs,
      endedAt: isOver ? session.invalidatedAt : undefined,
      reason: isOver ? session.reason : undefined,
    };
  }

  /** Where a session's holder is or was, and its code. */
  worker(id: string): Pick<SessionRecord, 'node' | 'codeVersion'> | undefined {
    const session = this.#known.get(id)?.session;
    return session && { node: session.node, codeVersion: session.codeVersion };
  }

  /** The latest first. */
  ended(limit: number): readonly string[] {
    return [...this.#known]
      .flatMap(([id, { session }]) => (session?.status === 'invalid' ? [{ id, at: session.invalidatedAt }] : []))
      .sort((one, other) => other.at - one.at)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  /** How many leases were lost since the console was opened, as far as it has seen. */
  get lostSinceOpening(): number {
    return this.#lostSinceOpening.count;
  }

  /** How many of the leases that are known to be lost were lost after a moment. */
  lostAfter(moment: number): number {
    return [...this.#lost.values()].filter(({ at }) => at > moment).length;
  }

  /** Leases that were lost, the latest of them, the latest first. */
  lost(): readonly LostLease[] {
    return [...this.#lost.values()].sort((one, other) => other.at - one.at).slice(0, LOST_KEPT);
  }

  #isDue(id: string, now: number, freshMs: number): boolean {
    const known = this.#known.get(id);
    if (known === undefined) return true;
    if (known.isDamaged || known.session?.status !== 'live') return false;
    return now - known.readAt >= freshMs || this.#judge(known).kind !== 'live';
  }

  #judge({ session }: Known): Verdict {
    return judgeSession(session, this.#connection.now(), this.#connection.options.maxClockSkewMs);
  }

  #note(id: string, known: Known): void {
    this.#known.delete(id);
    this.#known.set(id, known);
    const { session } = known;
    if (session !== undefined) this.#noteLoss(session, this.#judge(known));
    if (this.#known.size > KNOWN_LIMIT) this.#forget();
  }

  #noteLoss(session: SessionRecord, verdict: Verdict): void {
    const { id, name, node } = session;
    if (session.status === 'invalid') {
      if (session.reason === 'ended') return;
      this.#noteLost({ session: id, name, node, at: session.invalidatedAt, reason: session.reason });
    } else if (verdict.kind === 'expired') {
      this.#noteLost({ session: id, name, node, at: session.expiresAt ?? 0, reason: 'expired' });
    }
  }

  /** The directory lists what expired in the last weeks, too: that is news to this console, and no loss of today. */
  #noteLost(lease: LostLease): void {
    this.#lost.set(lease.session, lease);
    if (lease.at > this.#openedAt) this.#lostSinceOpening.meet(lease.session);
  }

  #forget(): void {
    for (const [id, { session }] of this.#known) {
      if (session?.status === 'live') continue;
      this.#known.delete(id);
      this.#lost.delete(id);
      return;
    }
  }
}

const STANDINGS: Readonly<Record<Verdict['kind'], SessionStanding>> = {
  live: 'live',
  expired: 'expired',
  closed: 'lost',
  free: 'ended',
  damaged: 'damaged',
};
