/**
 * `WaiterQueue`: the waiters of one process for one key, first come, first served.
 *
 * Only the first one polls the store. The others wait, because its result holds for them too.
 * A release within the process wakes it at once. So a crowd in one process costs the same as a single waiter.
 * Waiters of one key with different requests, such as another number of permits or a slower poll, are of different kinds. Each kind has
 * its own line, so a large request does not delay a small one.
 */
import type { Clock } from '../runtime/clock.ts';
import { LONGEST_TIMER_MS } from '../runtime/clock.ts';

interface Line<Blocker> {
  /** In the order of their arrival. The first one has its turn. */
  readonly waiting: Set<Waiter<Blocker>>;
  /** The store's latest answer to the first waiter. */
  told: Blocker | undefined;
}

export class WaiterQueue<Blocker> {
  readonly #clock: Clock;
  /** By key, then by kind. */
  readonly #lines = new Map<string, Map<string, Line<Blocker>>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a waiter at the end of the line of its key and kind. The caller must call `end`. */
  join(key: string, kind = ''): Waiter<Blocker> {
    const kinds = this.#lines.get(key) ?? new Map<string, Line<Blocker>>();
    this.#lines.set(key, kinds);
    const line = kinds.get(kind) ?? { waiting: new Set(), told: undefined };
    kinds.set(kind, line);
    const turn = new Waiter(this.#clock, line, () => {
      kinds.delete(kind);
      if (kinds.size === 0) this.#lines.delete(key);
    });
    line.waiting.add(turn);
    return turn;
  }

  /** Call this after this process has released the key. */
  wake(key: string): void {
    for (const line of this.#lines.get(key)?.values() ?? []) wakeFirst(line);
  }
}

export class Waiter<Blocker> {
  readonly #clock: Clock;
  readonly #line: Line<Blocker>;
  readonly #onEmpty: () => void;
  #alarm = new AbortController();

  constructor(clock: Clock, line: Line<Blocker>, onEmpty: () => void) {
    this.#clock = clock;
    this.#line = line;
    this.#onEmpty = onEmpty;
  }

  get isFirst(): boolean {
    return firstOf(this.#line) === this;
  }

  /** The latest obstacle of the first in line; undefined before its first poll. */
  get told(): Blocker | undefined {
    return this.#line.told;
  }

  tell(obstacle: Blocker): void {
    this.#line.told = obstacle;
  }

  /** Waits until it is first, the time is over, or `signal` aborts. */
  async come(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.isFirst) await this.sleep(Math.min(ms, LONGEST_TIMER_MS), signal);
  }

  /** Waits until the time is over, a release within the process wakes it, or `signal` aborts. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([this.#alarm.signal, signal]));
    this.#alarm = new AbortController();
  }

  wake(): void {
    this.#alarm.abort();
  }

  /** Leaves the line; the next one is first. */
  end(): void {
    const wasFirst = this.isFirst;
    this.#line.waiting.delete(this);
    if (!wasFirst) return;
    wakeFirst(this.#line);
    if (this.#line.waiting.size === 0) this.#onEmpty();
  }
}

function firstOf<Blocker>({ waiting }: Line<Blocker>): Waiter<Blocker> | undefined {
  const [first] = waiting;
  return first;
}

function wakeFirst(line: Line<unknown>): void {
  firstOf(line)?.wake();
}
