/**
 * Watching keys: one poll per key and process, shared by all that wait for it.
 *
 * Between 0.75 and 1 second apart, eventually consistent, so that a change is known within about a second, at less than one read unit
 * a second per key: half a unit for the lock's row each time, and as much for its holder's session every other time.
 * What an old replica answers is not shown: a key's modify index never goes back in what one watcher sees.
 */
import { messageOf } from '../errors.ts';
import type { SessionRecord } from '../session/record.ts';
import type { LockRecord } from './record.ts';
import type { LockReader, Sighting } from './reader.ts';
import type { LockPorts } from './standing.ts';

const POLL_MS = { min: 750, max: 1_000 };

type Listener = (event: { readonly sighting: Sighting } | { readonly error: Error }) => void;

export class LockWatch {
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #polls = new Map<string, Poll>();

  constructor(ports: LockPorts, reader: LockReader) {
    this.#ports = ports;
    this.#reader = reader;
  }

  /**
   * The first sighting that is news to the caller; undefined when `signal` aborts before.
   * @throws StoreUnavailableError, CorruptItemError: watching goes no further
   */
  async next(key: string, isNews: (sighting: Sighting) => boolean, signal: AbortSignal): Promise<Sighting | undefined> {
    if (signal.aborted) return undefined;
    const poll = this.#pollOf(key);
    return new Promise((resolve, reject) => {
      const listener: Listener = (event) => {
        if ('error' in event) {
          stop();
          reject(event.error);
        } else if (isNews(event.sighting)) {
          stop();
          resolve(event.sighting);
        }
      };
      const abort = (): void => {
        stop();
        resolve(undefined);
      };
      const stop = (): void => {
        poll.unsubscribe(listener);
        signal.removeEventListener('abort', abort);
      };
      signal.addEventListener('abort', abort, { once: true });
      poll.subscribe(listener);
    });
  }

  /** Keys that this process has just written: callers that wait for them here are told at once. */
  nudge(keys: readonly string[]): void {
    for (const key of keys) this.#polls.get(key)?.nudge();
  }

  /** A session that this process has just ended: so are those who wait for a key that it held, or may have held. */
  nudgeHeldBy(session: string): void {
    for (const poll of this.#polls.values()) if (poll.mayBeHeldBy(session)) poll.nudge();
  }

  #pollOf(key: string): Poll {
    const known = this.#polls.get(key);
    if (known !== undefined) return known;
    const poll = new Poll(key, this.#ports, this.#reader, () => {
      this.#polls.delete(key);
    });
    this.#polls.set(key, poll);
    return poll;
  }
}

/** The one poll of a key, as long as it has a listener. */
class Poll {
  readonly #key: string;
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #onIdle: () => void;
  readonly #listeners = new Set<Listener>();
  readonly #idle = new AbortController();
  #session: SessionRecord | undefined;
  #count = 0;
  /** Aborts the pause before the next look; another one for each pause. */
  #pause = new AbortController();
  /** What is written already must be seen by the next look. */
  #isNudged = false;

  constructor(key: string, ports: LockPorts, reader: LockReader, onIdle: () => void) {
    this.#key = key;
    this.#ports = ports;
    this.#reader = reader;
    this.#onIdle = onIdle;
  }

  subscribe(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) void this.#run();
  }

  unsubscribe(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    this.#onIdle();
    this.#idle.abort();
  }

  nudge(): void {
    this.#isNudged = true;
    this.#pause.abort();
  }

  mayBeHeldBy(session: string): boolean {
    return this.#count === 0 || this.#session?.id === session;
  }

  async #run(): Promise<void> {
    const { clock, random } = this.#ports.runtime;
    let lastIndex = 0;
    for (;;) {
      const pauseMs = POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next();
      if (!this.#isNudged) await clock.sleep(pauseMs, AbortSignal.any([this.#idle.signal, this.#pause.signal]));
      if (this.#idle.signal.aborted) return;
      this.#pause = new AbortController();
      try {
        const sighting = await this.#read();
        const index = sighting.lock?.modifyIndex ?? 0;
        // Index 0 is a row that was swept: nothing older can be behind it.
        if (index !== 0 && index < lastIndex) continue;
        lastIndex = index;
        this.#tell({ sighting });
      } catch (error) {
        this.#tell({ error: error instanceof Error ? error : new Error(messageOf(error)) });
      }
    }
  }

  async #read(): Promise<Sighting> {
    const consistent = this.#isNudged;
    this.#isNudged = false;
    const known = this.#session?.id;
    const asked = this.#count++ % 2 === 0 || consistent ? known : undefined;
    const { lock, session } = await this.#ports.locks.getWithSession(this.#key, asked, { consistent });
    this.#session = await this.#holderOf(lock, session ?? this.#session);
    return this.#reader.judge(lock, this.#session);
  }

  /** What was read may be old; before a session is taken for dead, it is read again. */
  async #holderOf(lock: LockRecord | undefined, read: SessionRecord | undefined): Promise<SessionRecord | undefined> {
    if (lock?.state !== 'held') return undefined;
    const isLive = read?.status === 'live' && (read.expiresAt ?? Infinity) > this.#ports.runtime.clock.now();
    return isLive && read.id === lock.session ? read : this.#ports.sessions.get(lock.session);
  }

  #tell(event: Parameters<Listener>[0]): void {
    for (const listener of [...this.#listeners]) listener(event);
  }
}
