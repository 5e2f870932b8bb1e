/**
 * Watching prefixes: one poll per prefix and process, shared by all that wait for it.
 *
 * Each poll is a glance: half a read unit for the listing and for each row, a second time for sessions every third time.
 * Only when a glance differs from the one before is the prefix read in earnest, and its waiters told.
 */
import type { LockPorts } from '../lock/standing.ts';
import type { Due } from '../wait/shared-poll.ts';
import { SharedPoll, oneByOne } from '../wait/shared-poll.ts';
import type { PrefixReader, PrefixView } from './prefix.ts';

const POLL_MS = { min: 750, max: 900 };
/** A session is looked at every so many glances: it costs as much as its key. */
const SESSIONS_EVERY = 3;

/** What is known of a prefix from look to look. */
interface Seen {
  looks: number;
  lastGlance: string | undefined;
}

export class PrefixWatch {
  readonly #reader: PrefixReader;
  readonly #poll: SharedPoll<PrefixView, Seen>;

  constructor({ runtime: { clock, random } }: LockPorts, reader: PrefixReader) {
    this.#reader = reader;
    this.#poll = new SharedPoll<PrefixView, Seen>(clock, {
      begin: () => ({ looks: 0, lastGlance: undefined }),
      pauseMs: () => POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next(),
      look: oneByOne((due) => this.#look(due)),
    });
  }

  /**
   * The first view that is news to the caller; undefined when `signal` aborts before.
   * @throws StoreUnavailableError, CorruptItemError: watching goes no further
   */
  next(prefix: string, isNews: (view: PrefixView) => boolean, signal: AbortSignal): Promise<PrefixView | undefined> {
    return this.#poll.next(prefix, isNews, signal);
  }

  /** Keys that this process has just written: callers that wait for a prefix of them here are told at once. */
  nudge(keys: readonly string[]): void {
    this.#poll.nudge((prefix) => keys.some((key) => key.startsWith(prefix)));
  }

  /** A session that this process has just ended: it may have held a key below any prefix. */
  nudgeAll(): void {
    this.#poll.nudge(() => true);
  }

  /** Undefined where nothing has changed. */
  async #look({ key: prefix, memory, isNudged, hasNewcomer }: Due<Seen>): Promise<PrefixView | undefined> {
    const withSessions = memory.looks++ % SESSIONS_EVERY === 0;
    const glance = isNudged ? undefined : await this.#reader.glance(prefix, { withSessions });
    if (!isNudged && glance === memory.lastGlance && !hasNewcomer) return undefined;
    const view = await this.#reader.read(prefix);
    memory.lastGlance = glance;
    return view;
  }
}
