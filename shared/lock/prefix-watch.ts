/**
 * Watching prefixes: one poll per prefix and process, whoever waits for it.
 *
 * Each poll is a glance: half a read unit for the listing and for each row, a second time for sessions every third time.
 * Only when a glance differs from the one before is the prefix read in earnest, and its waiters told.
 */
import { messageOf } from '../errors.ts';
import type { PrefixReader, PrefixView } from './prefix.ts';
import type { LockPorts } from './standing.ts';

const POLL_MS = { min: 750, max: 900 };
/** A session is looked at every so many glances: it costs as much as its key. */
const SESSIONS_EVERY = 3;

interface Poll {
  readonly listeners: Set<Listener>;
  readonly idle: AbortController;
  /** Somebody came since the last poll, and may have looked before the change that it told of. */
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
   * The first view whose fingerprint is another than the caller's; undefined when `signal` aborts before.
   * @throws StoreUnavailableError, CorruptItemError: watching goes no further
   */
  async next(prefix: string, fingerprint: string, signal: AbortSignal): Promise<PrefixView | undefined> {
    if (signal.aborted) return undefined;
    return new Promise((resolve, reject) => {
      const listener: Listener = (event) => {
        if ('view' in event && event.view.fingerprint === fingerprint) return;
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

  #subscribe(prefix: string, listener: Listener): void {
    const known = this.#polls.get(prefix);
    if (known !== undefined) {
      known.listeners.add(listener);
      known.hasNewcomer = true;
      return;
    }
    const poll = { listeners: new Set([listener]), idle: new AbortController(), hasNewcomer: true };
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
      await clock.sleep(POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next(), poll.idle.signal);
      if (poll.idle.signal.aborted) return;
      try {
        const glance = await this.#reader.glance(prefix, { withSessions: count % SESSIONS_EVERY === 0 });
        if (glance === last && !poll.hasNewcomer) continue;
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
