/**
 * Watching prefixes: one poll per prefix and process, shared by all that wait for it.
 *
 * Each poll is a glance: half a read unit for the listing and for each row, a second time for sessions every third time.
 * Only when a glance differs from the one before is the prefix read in earnest, and its waiters told.
 */
import { messageOf } from '../errors.ts';
import type { PrefixReader, PrefixView } from './prefix.ts';
import type { LockPorts } from '../lock/standing.ts';

const POLL_MS = { min: 750, max: 900 };
/** A session is looked at every so many glances: it costs as much as its key. */
const SESSIONS_EVERY = 3;

interface Poll {
  readonly listeners: Set<Listener>;
  readonly idle: AbortController;
  /** Aborts the pause before the next look; another one for each pause. */
  pause: AbortController;
  /** This process has written something below the prefix, or ended a session: the next look is in earnest. */
  isNudged: boolean;
  /** A waiter came since the last poll, and may have looked before the change that it told of. */
  hasNewcomer: boolean;
}

type Listener = (event: { readonly view: PrefixView } | { readonly error: Error }) => void;

export class PrefixWatch {
  readonly #ports: LockPorts;
  readonly #reader: PrefixReader;
  readonly #polls = new Map<string, Poll>();

  constructor(ports: LockPorts, reader: PrefixReader) {
    this.#ports = ports;
    this.#reader = reader;
  }

  /**
   * The first view that is news to the caller; undefined when `signal` aborts before.
   * @throws StoreUnavailableError, CorruptItemError: watching goes no further
   */
  async next(
    prefix: string,
    isNews: (view: PrefixView) => boolean,
    signal: AbortSignal,
  ): Promise<PrefixView | undefined> {
    if (signal.aborted) return undefined;
    return new Promise((resolve, reject) => {
      const listener: Listener = (event) => {
        if ('view' in event && !isNews(event.view)) return;
        stop();
        if ('error' in event) reject(event.error);
        else resolve(event.view);
      };
      const abort = (): void => {
        stop();
        resolve(undefined);
      };
      const stop = (): void => {
        signal.removeEventListener('abort', abort);
        this.#unsubscribe(prefix, listener);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#subscribe(prefix, listener);
    });
  }

  /** Keys that this process has just written: callers that wait for a prefix of them here are told at once. */
  nudge(keys: readonly string[]): void {
    for (const [prefix, poll] of this.#polls) if (keys.some((key) => key.startsWith(prefix))) nudge(poll);
  }

  /** A session that this process has just ended: it may have held a key below any prefix. */
  nudgeAll(): void {
    for (const poll of this.#polls.values()) nudge(poll);
  }

  #subscribe(prefix: string, listener: Listener): void {
    const known = this.#polls.get(prefix);
    if (known !== undefined) {
      known.listeners.add(listener);
      known.hasNewcomer = true;
      return;
    }
    const poll: Poll = {
      ...{ listeners: new Set([listener]), idle: new AbortController() },
      ...{ pause: new AbortController(), isNudged: false, hasNewcomer: true },
    };
    this.#polls.set(prefix, poll);
    void this.#run(prefix, poll);
  }

  #unsubscribe(prefix: string, listener: Listener): void {
    const poll = this.#polls.get(prefix);
    poll?.listeners.delete(listener);
    if (poll === undefined || poll.listeners.size > 0) return;
    this.#polls.delete(prefix);
    poll.idle.abort();
  }

  async #run(prefix: string, poll: Poll): Promise<void> {
    const { clock, random } = this.#ports.runtime;
    let last: string | undefined;
    for (let count = 0; ; count++) {
      const pauseMs = POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next();
      if (!poll.isNudged) await clock.sleep(pauseMs, AbortSignal.any([poll.idle.signal, poll.pause.signal]));
      if (poll.idle.signal.aborted) return;
      poll.pause = new AbortController();
      try {
        const { isNudged } = poll;
        poll.isNudged = false;
        const glance = isNudged
          ? undefined
          : await this.#reader.glance(prefix, { withSessions: count % SESSIONS_EVERY === 0 });
        if (!isNudged && glance === last && !poll.hasNewcomer) continue;
        poll.hasNewcomer = false;
        const view = await this.#reader.read(prefix);
        last = glance;
        this.#tell(poll, { view });
      } catch (error) {
        this.#tell(poll, { error: error instanceof Error ? error : new Error(messageOf(error)) });
      }
    }
  }

  #tell({ listeners }: Poll, event: Parameters<Listener>[0]): void {
    for (const listener of [...listeners]) listener(event);
  }
}

function nudge(poll: Poll): void {
  poll.isNudged = true;
  poll.pause.abort();
}
