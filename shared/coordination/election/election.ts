/**
 * Leader election: at most one leader per term, and terms that strictly increase.
 *
 * The leadership is a lock; its lease counter is the term, and its value is the leader's proclamation, such as an address.
 *
 * Guarantees
 *   - A term has one leader: the session that received the lock's counter.
 *   - A later leader has a larger term, across restarts, releases and sweeps. A receiver of a term can order it against others,
 *     and a store that compares terms (`Fence`) accepts nothing from a former leader.
 *   - An observer never sees a term, or a proclamation within a term, older than one that it has seen.
 *
 * Does not guarantee
 *   - That a former leader has noticed. It stops by its own clocks, or at its next heartbeat; `leadership.signal` aborts then.
 *   - That an observer sees every leader: one that came and went between two polls is missed.
 *
 *       campaign ──▶ elected (term n) ──▶ proclaim … ──▶ resign: the next campaigner is elected at once
 *                          └── its session expires: the next one is elected after the lock-delay
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { LockClient } from '../lock/lock-client.ts';
import type { Lock } from '../lock/lock.ts';
import type { LockInfo, Refusal } from '../lock/lock-record.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import { WAIT_OPTIONS, validSignal } from '../../core/wait/wait.ts';
import type { SessionLocks } from '../lock/session-locks.ts';

/** The leader, for observers. */
export interface Leader {
  readonly term: number;
  readonly session: string;
  /** Name and node of its session, display only. */
  readonly name: string;
  readonly node: string;
  /** Its proclamation. */
  readonly value: string;
  readonly since: number;
  /** When its session expires, unless it is renewed, as it usually is. */
  readonly until: number | null;
}

/** One change that an observer sees. `leader` is absent between two terms. */
export interface Reign {
  /** The current leader's term, or the last one's. */
  readonly term: number;
  readonly leader: Leader | undefined;
}

export type Campaign = { readonly kind: 'elected'; readonly leadership: Leadership } | Refusal;

/** Prefix of the names of election locks, which separates them from the user's own locks. */
const KEY_PREFIX = 'election/';

export function electionKey(name: string): string {
  return `${KEY_PREFIX}${validName('election name', name)}`;
}

/** The right to lead, as long as `signal` is not aborted. */
export class Leadership implements AsyncDisposable {
  readonly election: string;
  readonly #lock: Lock;

  constructor(election: string, lock: Lock) {
    this.election = election;
    this.#lock = lock;
  }

  /** Larger than the term of any earlier leader. */
  get term(): number {
    return this.#lock.fencingToken;
  }

  get fencingToken(): number {
    return this.#lock.fencingToken;
  }

  get sequencer(): string {
    return this.#lock.sequencer;
  }

  /** Aborts, with a `LeaseLostError`, when this is no longer the leader. */
  get signal(): AbortSignal {
    return this.#lock.signal;
  }

  get value(): string {
    return this.#lock.value ?? '';
  }

  nextSequence(): number {
    return this.#lock.nextSequence();
  }

  /** @throws LeaseLostError when this is no longer the leader */
  ensureTrusted(): void {
    this.#lock.ensureTrusted();
  }

  /**
   * Replaces the proclamation within the same term.
   * @throws LeaseLostError when this is no longer the leader:
   *   nothing more is written, but an attempt without a response may have been applied
   */
  proclaim(value: string): Promise<void> {
    return this.#lock.update(value);
  }

  /** Ends the leadership, so the next campaigner is elected at once. @returns false when the leadership was already lost */
  resign(): Promise<boolean> {
    return this.#lock.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }
}

export interface CampaignOptions {
  /** The leader's proclamation, such as its address. */
  readonly value?: string | undefined;
}

/** One session's candidacy. */
export class Election {
  readonly name: string;
  readonly #key: string;
  readonly #locks: SessionLocks;

  constructor(name: string, locks: SessionLocks) {
    this.name = name;
    this.#key = electionKey(name);
    this.#locks = locks;
  }

  /** Tries to become leader. Returns the leadership, or the current leader, without waiting. Being elected again by the same session keeps the term and replaces the value. */
  async tryCampaign(options: CampaignOptions = {}): Promise<Campaign> {
    const { value = '' } = validOptions('the options of a campaign', options, ['value']);
    const acquisition = await this.#locks.tryAcquire(this.#key, { value, reentrant: true });
    if (acquisition.kind !== 'acquired') return acquisition;
    return { kind: 'elected', leadership: new Leadership(this.name, acquisition.lock) };
  }

  /**
   * Waits to be elected. The leader is the session, so a second campaign by any of its callers keeps the term.
   * @throws LockUnavailableError when the wait is over; it names the leader
   * @throws LeaseLostError when the session is lost; the reason of `signal`
   */
  async campaign(options: CampaignOptions & WaitOptions = {}): Promise<Leadership> {
    const { value = '', ...wait } = validOptions('the options of a campaign', options, ['value', ...WAIT_OPTIONS]);
    return new Leadership(this.name, await this.#locks.acquire(this.#key, { value, ...wait, reentrant: true }));
  }
}

/** Elections, for processes that are not candidates. */
export class ElectionClient {
  readonly #locks: LockClient;

  constructor(locks: LockClient) {
    this.#locks = locks;
  }

  /** Returns the current leader, strongly consistent; undefined without a leader. */
  async get(name: string): Promise<Leader | undefined> {
    return leaderOf(await this.#locks.get(electionKey(name)));
  }

  /**
   * Yields the leader, and then each change, until `signal` aborts. Waits out an unavailable store.
   * Terms and proclamations never go back.
   */
  async *observe(name: string, options: { readonly signal?: AbortSignal | undefined } = {}): AsyncGenerator<Reign> {
    const { signal } = validOptions('the options of observing an election', options, ['signal']);
    validSignal(signal);
    const key = electionKey(name);
    const never = new AbortController().signal;
    let info: LockInfo | undefined;
    let shown: Reign | undefined;
    let index = 0;
    while (signal?.aborted !== true) {
      try {
        info =
          shown === undefined
            ? await this.#locks.get(key)
            : (await this.#locks.nextSighting(key, (seen) => isNews(seen, shown, index), signal ?? never))?.info;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        continue;
      }
      if (isAborted(signal)) return;
      index = Math.max(index, info?.modifyIndex ?? 0);
      shown = { term: Math.max(info?.leaseCounter ?? 0, shown?.term ?? 0), leader: leaderOf(info) };
      yield shown;
    }
  }
}

function isNews(info: LockInfo | undefined, shown: Reign | undefined, index: number): boolean {
  if (info !== undefined && info.modifyIndex < index) return false;
  const leader = leaderOf(info);
  // A reader without write access learns of a leader's end only from its session, because the row stays unchanged.
  if (leader === undefined) return shown?.leader !== undefined;
  // A leader ends only once. The same row means the same leader, and its end may already have been shown: an outdated replica may still
  // show a live session.
  if (info?.modifyIndex === index) return false;
  return leader.term !== shown?.leader?.term || leader.value !== shown.leader.value;
}

/** A function, because in a loop the compiler would assume that an earlier value still holds. */
function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function leaderOf(info: LockInfo | undefined): Leader | undefined {
  if (info?.holder === undefined) return undefined;
  const { session, leaseCounter, name, node, since, until } = info.holder;
  return { term: leaseCounter, session, name, node, value: info.value ?? '', since, until };
}
