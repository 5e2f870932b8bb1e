/**
 * Waits for changes that the library cannot watch: sessions, checks, nodes.
 * One poll per subject and process serves all its waiters, and stops with the last one.
 */
import { hash } from 'node:crypto';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { SharedPoll, oneByOne } from '../../shared/core/wait/shared-poll.ts';
import type { Content } from './prefix-index.ts';

export interface Snapshot<T> extends Content {
  readonly value: T;
}

/** @param facts what makes up the content: another text means a change */
export function snapshotOf<T>(value: T, facts: readonly unknown[], newestAt: number): Snapshot<T> {
  return { value, newestAt, fingerprint: hash('sha256', JSON.stringify(facts)) };
}

const POLL_MS = { min: 800, max: 950 };
/** See `prefixes.ts`: a write does not wait for many reads of queries. */
const LOOKS_IN_FLIGHT = 8;

/** Something that requests wait for, as the first of them polls it. */
interface Watched {
  readonly read: () => Promise<Snapshot<unknown>>;
  waiters: number;
  /** Its last poll. */
  reading: Promise<Snapshot<unknown>> | undefined;
}

export class Polls {
  /** Runs a read for a query when few enough others are under way. */
  readonly inTurn = sideBySide(LOOKS_IN_FLIGHT);
  readonly #watched = new Map<string, Watched>();
  readonly #poll: SharedPoll<Snapshot<unknown>>;

  constructor({ clock, random }: Runtime) {
    this.#poll = new SharedPoll<Snapshot<unknown>>(clock, {
      begin: () => undefined,
      pauseMs: () => POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next(),
      read: oneByOne(async ({ key }) => {
        const watched = this.#watched.get(key);
        if (watched !== undefined) watched.reading = watched.read();
        return watched?.reading;
      }),
    });
  }

  /**
   * The first poll that is news to the caller; undefined if `signal` aborts before:
   * then a poll without another waiting caller ends, too.
   */
  async next<T>(
    what: string,
    read: () => Promise<Snapshot<T>>,
    isNews: (read: Snapshot<T>) => boolean,
    signal: AbortSignal,
  ): Promise<Snapshot<T> | undefined> {
    const watched = this.#watched.get(what) ?? { read, waiters: 0, reading: undefined };
    this.#watched.set(what, watched);
    watched.waiters++;
    try {
      const seen = await this.#poll.next(what, (found) => isNews(found as Snapshot<T>), signal);
      return seen as Snapshot<T> | undefined;
    } finally {
      if (--watched.waiters === 0) {
        this.#watched.delete(what);
        await watched.reading?.catch(() => undefined); // The waiters of that poll have received its error.
      }
    }
  }

  /** This gateway has just changed something of this kind: local waiters skip the pause before the next poll. */
  nudge(): void {
    this.#poll.nudge(() => true);
  }
}
