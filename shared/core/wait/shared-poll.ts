/**
 * Watches values that only polls can observe. All local waiters of one key share its polls,
 * and keys that are due at about the same time may share one read.
 *
 * A key is polled while it has a waiter. A poll in flight delays no other key, and is not doubled.
 * A key that this process has changed is nudged: it is polled at once, or again after a poll in flight.
 */
import { messageOf } from '../errors.ts';
import type { Clock } from '../runtime/clock.ts';

/** A key that is due for a poll. */
export interface Due<Memory> {
  readonly key: string;
  /** State that its polls keep for as long as it has waiters. */
  readonly memory: Memory;
  /** Whether this process has changed it, so that this poll must see the change. */
  readonly isNudged: boolean;
  /** Whether a waiter has arrived since the last poll. Its own read may predate the change that the poll reported. */
  readonly hasNewcomer: boolean;
}

interface PollPlan<Seen, Memory> {
  /** The initial state of a key's polls. */
  readonly begin: (key: string) => Memory;
  /** Pause before the next poll, given the number of polls so far. Drawn for each poll. */
  readonly pauseMs: (polls: number) => number;
  /** Keys that are due within this time are polled together. Without it, each key is polled alone. */
  readonly togetherMs?: number;
  /**
   * Polls the keys and reports each key's news.
   * An error ends the waits of all polled keys.
   */
  readonly read: (due: readonly Due<Memory>[], tell: (key: string, seen: Seen) => void) => Promise<void>;
}

/** A plan's `read` if reading keys together gains nothing; undefined: there is nothing to report. */
export function oneByOne<Seen, Memory>(
  read: (due: Due<Memory>) => Promise<Seen | undefined>,
): PollPlan<Seen, Memory>['read'] {
  return async (due, tell) => {
    for (const one of due) {
      const seen = await read(one);
      if (seen !== undefined) tell(one.key, seen);
    }
  };
}

type Listener<Seen> = (event: { readonly seen: Seen } | { readonly error: Error }) => void;

interface Watched<Seen, Memory> {
  readonly key: string;
  readonly memory: Memory;
  readonly listeners: Set<Listener<Seen>>;
  polls: number;
  dueAtMonotonicMs: number;
  isLooking: boolean;
  isNudged: boolean;
  hasNewcomer: boolean;
}

export class SharedPoll<Seen, Memory = undefined> {
  readonly #clock: Clock;
  readonly #plan: PollPlan<Seen, Memory>;
  readonly #watched = new Map<string, Watched<Seen, Memory>>();
  /** Aborts the pause, because another key may now be due first. */
  #pause = new AbortController();
  #isRunning = false;

  constructor(clock: Clock, plan: PollPlan<Seen, Memory>) {
    this.#clock = clock;
    this.#plan = plan;
  }

  /**
   * Returns the next poll's news for the caller, or undefined if `signal` aborts first.
   * @throws the poll's error
   */
  async next(key: string, isNews: (seen: Seen) => boolean, signal: AbortSignal): Promise<Seen | undefined> {
    if (signal.aborted) return undefined;
    return new Promise((resolve, reject) => {
      const listener: Listener<Seen> = (event) => {
        if ('seen' in event && !isNews(event.seen)) return;
        stop();
        if ('error' in event) reject(event.error);
        else resolve(event.seen);
      };
      const abort = (): void => {
        stop();
        resolve(undefined);
      };
      const stop = (): void => {
        signal.removeEventListener('abort', abort);
        this.#leave(key, listener);
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#join(key, listener);
    });
  }

  /** Call this for keys that this process has changed, or may have changed. */
  nudge(isMeant: (key: string, memory: Memory) => boolean): void {
    for (const one of this.#watched.values()) {
      if (!isMeant(one.key, one.memory)) continue;
      one.isNudged = true;
      one.dueAtMonotonicMs = -Infinity;
      this.#pause.abort();
    }
  }

  #join(key: string, listener: Listener<Seen>): void {
    const known = this.#watched.get(key);
    if (known !== undefined) {
      known.listeners.add(listener);
      known.hasNewcomer = true;
      return;
    }
    this.#watched.set(key, {
      key,
      memory: this.#plan.begin(key),
      listeners: new Set([listener]),
      polls: 0,
      dueAtMonotonicMs: this.#clock.monotonic() + this.#plan.pauseMs(0),
      isLooking: false,
      isNudged: false,
      hasNewcomer: true,
    });
    this.#pause.abort();
    if (!this.#isRunning) void this.#run();
  }

  #leave(key: string, listener: Listener<Seen>): void {
    const one = this.#watched.get(key);
    if (one?.listeners.delete(listener) !== true || one.listeners.size > 0) return;
    this.#watched.delete(key);
    this.#pause.abort();
  }

  /** Runs while there are waiters. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#watched.size > 0) {
      const now = this.#clock.monotonic();
      this.#pause = new AbortController();
      for (const due of this.#dueAt(now)) void this.#lookAt(due);
      const idle = [...this.#watched.values()].filter(({ isLooking }) => !isLooking);
      const nextAt = Math.min(...idle.map(({ dueAtMonotonicMs }) => dueAtMonotonicMs));
      await this.#clock.sleep(Math.max(1, Math.ceil(nextAt - now)), this.#pause.signal);
    }
    this.#isRunning = false;
  }

  /** Due keys, in groups that are polled together. */
  #dueAt(now: number): readonly (readonly Watched<Seen, Memory>[])[] {
    const { togetherMs } = this.#plan;
    const idle = [...this.#watched.values()].filter(({ isLooking }) => !isLooking);
    const due = idle.filter(({ dueAtMonotonicMs }) => dueAtMonotonicMs <= now);
    if (togetherMs === undefined) return due.map((one) => [one]);
    return due.length === 0 ? [] : [idle.filter(({ dueAtMonotonicMs }) => dueAtMonotonicMs <= now + togetherMs)];
  }

  async #lookAt(due: readonly Watched<Seen, Memory>[]): Promise<void> {
    const asked = due.map(({ key, memory, isNudged, hasNewcomer }) => ({ key, memory, isNudged, hasNewcomer }));
    for (const one of due) Object.assign(one, { isLooking: true, isNudged: false, hasNewcomer: false });
    try {
      await this.#plan.read(asked, (key, seen) => {
        for (const one of due) if (one.key === key) tell(one, { seen });
      });
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(messageOf(error));
      for (const one of due) tell(one, { error: failure });
    }
    const now = this.#clock.monotonic();
    for (const one of due) {
      one.polls++;
      one.isLooking = false;
      one.dueAtMonotonicMs = one.isNudged ? -Infinity : now + this.#plan.pauseMs(one.polls);
    }
    this.#pause.abort();
  }
}

function tell<Seen>(
  { listeners }: { readonly listeners: ReadonlySet<Listener<Seen>> },
  event: Parameters<Listener<Seen>>[0],
): void {
  for (const listener of [...listeners]) listener(event);
}
