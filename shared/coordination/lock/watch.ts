/**
 * Watches keys: one poll per key and process, shared by all its waiters.
 *
 * Polls are 0.75 to 1 second apart and eventually consistent, so a change is known within about a second, for less than one read unit
 * a second per key: half a unit for the lock's row each time, and as much for its holder's session every other time.
 * A response of an outdated replica is ignored, so a key's modify index never goes back for a watcher.
 */
import type { SessionRecord } from '../../session/session-record.ts';
import type { Due } from '../../core/wait/shared-poll.ts';
import { SharedPoll, oneByOne } from '../../core/wait/shared-poll.ts';
import type { LockReader, LockSnapshot } from './lock-reader.ts';
import type { LockRecord } from './lock-record.ts';
import type { LockPorts } from './lock-verdict.ts';

const POLL_MS = { min: 750, max: 1_000 };

/** State of a key between polls. */
interface Seen {
  polls: number;
  lastIndex: number;
  session: SessionRecord | undefined;
}

export class LockWatch {
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #poll: SharedPoll<LockSnapshot, Seen>;

  constructor(ports: LockPorts, reader: LockReader) {
    this.#ports = ports;
    this.#reader = reader;
    const { clock, random } = ports.runtime;
    this.#poll = new SharedPoll<LockSnapshot, Seen>(clock, {
      begin: () => ({ polls: 0, lastIndex: 0, session: undefined }),
      pauseMs: () => POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next(),
      read: oneByOne((due) => this.#read(due)),
    });
  }

  /**
   * Returns the first state that is new to the caller; undefined if `signal` aborts first.
   * @throws StoreUnavailableError, CorruptItemError; both end the watch
   */
  next(
    key: string,
    isNews: (sighting: LockSnapshot) => boolean,
    signal: AbortSignal,
  ): Promise<LockSnapshot | undefined> {
    return this.#poll.next(key, isNews, signal);
  }

  /** Call this after this process has written these keys: notifies their local waiters at once. */
  nudge(keys: readonly string[]): void {
    this.#poll.nudge((key) => keys.includes(key));
  }

  /** Call this after this process has ended a session: also notifies the waiters of its keys. */
  nudgeHeldBy(id: string): void {
    this.#poll.nudge((_, { polls, session }) => polls === 0 || session?.id === id);
  }

  /** Returns undefined for a response of an outdated replica. */
  async #read({ key, memory, isNudged }: Due<Seen>): Promise<LockSnapshot | undefined> {
    const asked = memory.polls++ % 2 === 0 || isNudged ? memory.session?.id : undefined;
    const { lock, session } = await this.#ports.locks.getWithSession(key, asked, { consistent: isNudged });
    memory.session = await this.#holderOf(lock, session ?? memory.session);
    const sighting = await this.#reader.judge(lock, memory.session);
    const index = sighting.lock?.modifyIndex ?? 0;
    // Index 0 means that TTL deleted the row, so the response cannot be outdated.
    if (index !== 0 && index < memory.lastIndex) return undefined;
    memory.lastIndex = index;
    return sighting;
  }

  /** The read may be stale, so a session is read again before it counts as expired. */
  async #holderOf(lock: LockRecord | undefined, read: SessionRecord | undefined): Promise<SessionRecord | undefined> {
    if (lock?.state !== 'held') return undefined;
    const isLive = read?.status === 'live' && (read.expiresAt ?? Infinity) > this.#ports.runtime.clock.now();
    return isLive && read.id === lock.session ? read : this.#ports.sessions.get(lock.session);
  }
}
