/**
 * Waiting for a change in what the library has no watch of: sessions, checks, nodes.
 * One poll for each thing and process, shared by all that wait for it, and none when none do.
 */
import { hash } from 'node:crypto';
import { messageOf } from '../shared/errors.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import type { Content } from './prefix-index.ts';

export interface Look<T> extends Content {
  readonly value: T;
}

/** @param facts what makes up the content: another text means a change */
export function lookOf<T>(value: T, facts: readonly unknown[], newestAt: number): Look<T> {
  return { value, newestAt, fingerprint: hash('sha256', JSON.stringify(facts)) };
}

const POLL_MS = { min: 800, max: 950 };

type Listener = (look: Look<unknown> | Error) => void;

interface Poll {
  /** Aborts the pause before the next look; another one for each pause. */
  pause: AbortController;
  isNudged: boolean;
  readonly listeners: Set<Listener>;
  readonly idle: AbortController;
  /** When its last look is over. */
  readonly ended: Promise<void>;
}

export class Polls {
  readonly #runtime: Runtime;
  readonly #polls = new Map<string, Poll>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * The first look that is news to the caller; undefined when `signal` aborts before:
   * a look without another waiting caller is then over, too.
   */
  next<T>(
    what: string,
    look: () => Promise<Look<T>>,
    isNews: (look: Look<T>) => boolean,
    signal: AbortSignal,
  ): Promise<Look<T> | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const listener = (seen: Look<unknown> | Error): void => {
        if (!(seen instanceof Error) && !isNews(seen as Look<T>)) return;
        signal.removeEventListener('abort', abort);
        this.#leave(what, listener);
        if (seen instanceof Error) reject(seen);
        else resolve(seen as Look<T>);
      };
      const abort = (): void => {
        const left = this.#leave(what, listener);
        resolve(left?.ended.then(() => undefined));
      };
      signal.addEventListener('abort', abort, { once: true });
      const known = this.#polls.get(what);
      if (known === undefined) this.#polls.set(what, this.#begin(look, listener));
      else known.listeners.add(listener);
    });
  }

  /** Something of all that was just changed by this gateway: those who wait here need not wait for the next poll. */
  nudge(): void {
    for (const poll of this.#polls.values()) {
      poll.isNudged = true;
      poll.pause.abort();
    }
  }

  #begin(look: () => Promise<Look<unknown>>, listener: Listener): Poll {
    const [listeners, idle] = [new Set([listener]), new AbortController()];
    const poll = { listeners, idle, pause: new AbortController(), isNudged: false };
    return Object.assign(poll, { ended: this.#run(look, poll) });
  }

  /** @returns the poll, if that was the last to wait for it */
  #leave(what: string, listener: Listener): Poll | undefined {
    const poll = this.#polls.get(what);
    poll?.listeners.delete(listener);
    if (poll === undefined || poll.listeners.size > 0) return undefined;
    this.#polls.delete(what);
    poll.idle.abort();
    return poll;
  }

  async #run(look: () => Promise<Look<unknown>>, poll: Omit<Poll, 'ended'>): Promise<void> {
    const { clock, random } = this.#runtime;
    const { listeners, idle } = poll;
    for (;;) {
      const pauseMs = POLL_MS.min + (POLL_MS.max - POLL_MS.min) * random.next();
      if (!poll.isNudged) await clock.sleep(pauseMs, AbortSignal.any([idle.signal, poll.pause.signal]));
      if (idle.signal.aborted) return;
      poll.pause = new AbortController();
      poll.isNudged = false;
      const seen = await look().catch((error: unknown) =>
        error instanceof Error ? error : new Error(messageOf(error)),
      );
      for (const listener of [...listeners]) listener(seen);
    }
  }
}
