/**
 * Waits until contention has passed: poll, pause, poll again. Locks, elections, permits, wait groups and rate limits share this loop.
 *
 *   - Pauses grow, with full jitter, so that contenders in many processes spread out. A holder may release at any time, and other processes
 *     learn of it only by polling. If the time of a change is known in advance, the next poll is at that time,
 *     and no poll is sent before a closed period is over.
 *   - The waiters of one process form a line, and only the first one polls (`waiter-queue.ts`). If several can be served at once,
 *     each polls once for itself before it joins the line.
 *   - A deadline, a signal and the waiter's session end the wait. The last poll comes when the time is over; a wait of 0 is one poll.
 *   - An unavailable store counts as a holder: a poll that fails with `StoreUnavailableError` found nothing, and the wait continues
 *     within its time. If the last poll fails at the deadline, its error is thrown. Every other error ends the wait at once.
 *
 * Clock: the deadline counts monotonic time; `until` is a moment of the wall clock.
 */
import { ConfigurationError, StoreUnavailableError, shown } from '../errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { fullJitterMs } from '../runtime/random.ts';
import type { Duration } from '../validate/duration.ts';
import { givenMs } from '../validate/duration.ts';
import type { Waiter, WaiterQueue } from './waiter-queue.ts';

export interface WaitOptions {
  /** Maximum wait, which includes an unavailable store. Default: no limit, or as long as the session lives. */
  readonly wait?: Duration | undefined;
  /** The longest pause between two polls. The first pauses are shorter. */
  readonly pause?: Duration | undefined;
  /** Ends the wait by throwing its reason. */
  readonly signal?: AbortSignal | undefined;
}

export const WAIT_OPTIONS = ['wait', 'pause', 'signal'] as const;

/** The result of one poll: the value, or the obstacle. */
export type PollResult<Found, Blocker> = { readonly kind: 'found'; readonly found: Found } | Blocked<Blocker>;

export interface Blocked<Blocker> {
  readonly kind: 'blocked';
  readonly by: Blocker;
  /** The wall-clock time of a known change, or `null` if unknown. */
  readonly until: number | null;
  /** The state does not change before `until`, so do not poll earlier. */
  readonly isClosed?: boolean | undefined;
}

/** `blocked`: the wait timed out, with this last obstacle. */
type Waited<Found, Blocker> =
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'blocked'; readonly by: Blocker; readonly waitedMs: number };

interface PollContext {
  /** The number of polls before this one. */
  readonly polls: number;
  /** Infinity without a deadline. */
  readonly remainingMs: number;
}

interface Pauses {
  /** Bounds of the first and the longest pause. If the caller gives the longest pause, the first one keeps the same ratio to it. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Waiters for the same time spread their polls after it over a tenth of their wait, but at most over this. */
  readonly spreadMs: number;
}

export interface WaitPolicy<Blocker> {
  readonly options: WaitOptions;
  readonly pauses: Pauses;
  /** The waiter's session. Losing it ends the wait. */
  readonly session?: { readonly signal: AbortSignal; ensureTrusted(): void } | undefined;
  /**
   * The line of this process's waiters. Without it, each one polls for itself. Waiters of one key and kind want the same thing.
   * Waiters with another poll interval have their own line, because the first in a line polls at its own interval.
   */
  readonly line?:
    | {
        readonly turns: WaiterQueue<Blocker>;
        readonly key: string;
        readonly kind?: string | undefined;
        /** Each waiter polls once before it joins, so that free capacity is not handed out one by one. */
        readonly readsFirst?: boolean | undefined;
      }
    | undefined;
}

const SPREAD = { share: 0.1, minMs: 50 };
/** Polls at one moment of the clock. Each pause takes a millisecond at least, so a wait that exceeds this spins, and ends by name. */
const MAX_POLLS_AT_ONE_TIME = 1_000;

/** @throws ConfigurationError */
export function validSignal(signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal))
    throw new ConfigurationError(`signal = ${shown(signal)}: must be an AbortSignal`);
  return signal;
}

/**
 * Polls until something is found, or the time is over.
 * @throws LeaseLostError if the session is lost; the reason of `signal`; any error of `read` except an unavailable store
 */
export async function waitFor<Found, Blocker>(
  read: (context: PollContext) => Promise<PollResult<Found, Blocker>>,
  patience: WaitPolicy<Blocker>,
  runtime: Pick<Runtime, 'clock' | 'random'>,
): Promise<Waited<Found, Blocker>> {
  const wait = new Wait(patience, runtime);
  wait.ensure();
  try {
    const readsFirst = patience.line?.readsFirst === true;
    if (!readsFirst) {
      const told = await wait.standInLine();
      if (told !== undefined) return wait.blocked(told);
    }
    for (let polls = 0; ; polls++) {
      const seen = await wait.bear(() => read({ polls, remainingMs: wait.remainingMs }));
      if (seen?.kind === 'found') return seen;
      wait.ensure();
      if (seen !== undefined) {
        wait.tell(seen.by);
        if (wait.remainingMs === 0) return wait.blocked(seen.by);
      }
      if (readsFirst && polls === 0 && wait.joinLine(seen?.by) === 'behind') {
        const told = await wait.come();
        if (told !== undefined) return wait.blocked(told);
      } else await wait.pause(polls + 1, seen);
    }
  } finally {
    wait.end();
  }
}

/** One caller's wait. */
class Wait<Blocker> {
  readonly #patience: WaitPolicy<Blocker>;
  readonly #runtime: Pick<Runtime, 'clock' | 'random'>;
  readonly #startedAt: number;
  readonly #deadline: number;
  readonly #backoff: { readonly baseMs: number; readonly capMs: number };
  readonly #over: AbortSignal;
  #turn: Waiter<Blocker> | undefined;
  #polledAt: number | undefined;
  #pollsAtOneTime = 0;

  constructor(patience: WaitPolicy<Blocker>, runtime: Pick<Runtime, 'clock' | 'random'>) {
    const { options, pauses, session } = patience;
    const { wait, pause, signal } = options;
    this.#patience = patience;
    this.#runtime = runtime;
    this.#over = AbortSignal.any([session?.signal, validSignal(signal)].filter((given) => given !== undefined));
    const capMs = givenMs('pause', pause) ?? pauses.longestMs;
    this.#backoff = { baseMs: (capMs * pauses.firstMs) / pauses.longestMs, capMs };
    this.#startedAt = runtime.clock.monotonic();
    this.#deadline = this.#startedAt + (givenMs('wait', wait) ?? Infinity);
  }

  get remainingMs(): number {
    return Math.max(0, this.#deadline - this.#runtime.clock.monotonic());
  }

  /** Checks after each await whether to continue. @throws if the session or the caller's signal ended */
  ensure(): void {
    this.#patience.session?.ensureTrusted();
    this.#patience.options.signal?.throwIfAborted();
  }

  /** Waits for its turn. @returns the first waiter's obstacle if the time is over first */
  async standInLine(): Promise<Blocker | undefined> {
    if (this.remainingMs === 0) return undefined;
    this.joinLine();
    return this.come();
  }

  /** @param met its own latest obstacle, which also holds for the waiters behind it */
  joinLine(met?: Blocker): 'first' | 'behind' {
    const { line } = this.#patience;
    if (line === undefined) return 'first';
    this.#turn = line.turns.join(line.key, `${this.#backoff.capMs} ${line.kind ?? ''}`);
    if (met !== undefined) this.#turn.tell(met);
    return this.#turn.isFirst ? 'first' : 'behind';
  }

  /** Like `standInLine`, but the waiter has already joined. */
  async come(): Promise<Blocker | undefined> {
    const turn = this.#turn;
    if (turn === undefined) return undefined;
    await turn.come(this.remainingMs, this.#over);
    this.ensure();
    return turn.isFirst ? undefined : turn.told;
  }

  /** Waiters behind the first do not need to poll. */
  tell(obstacle: Blocker): void {
    this.#turn?.tell(obstacle);
  }

  /** Polls. Returns undefined if the store is unavailable and there is time left. */
  async bear<Seen>(read: () => Promise<Seen>): Promise<Seen | undefined> {
    this.#ensureTimePasses();
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.ensure();
      if (this.remainingMs === 0) throw error;
      return undefined;
    }
  }

  async pause(polls: number, seen: Blocked<unknown> | undefined): Promise<void> {
    const ms = Math.max(1, Math.ceil(Math.min(this.#pauseMs(polls, seen), this.remainingMs)));
    await (this.#turn ?? this.#runtime.clock).sleep(ms, this.#over);
    this.ensure();
  }

  blocked(by: Blocker): Waited<never, Blocker> {
    return { kind: 'blocked', by, waitedMs: this.#runtime.clock.monotonic() - this.#startedAt };
  }

  /** Leaves the line; no timer stays behind. */
  end(): void {
    this.#turn?.end();
  }

  #ensureTimePasses(): void {
    const now = this.#runtime.clock.monotonic();
    this.#pollsAtOneTime = now === this.#polledAt ? this.#pollsAtOneTime + 1 : 1;
    this.#polledAt = now;
    if (this.#pollsAtOneTime > MAX_POLLS_AT_ONE_TIME)
      throw new Error(`a wait polled ${MAX_POLLS_AT_ONE_TIME} times while no time passed`);
  }

  #pauseMs(polls: number, seen: Blocked<unknown> | undefined): number {
    const { clock, random } = this.#runtime;
    const until = seen?.until ?? null;
    const knownMs = until === null ? Infinity : Math.max(0, until - clock.now());
    const spreadMs = Math.min(this.#patience.pauses.spreadMs, Math.max(SPREAD.minMs, knownMs * SPREAD.share));
    const thenMs = knownMs + random.next() * spreadMs;
    if (seen?.isClosed === true) return thenMs;
    return Math.min(thenMs, fullJitterMs(random, this.#backoff, polls));
  }
}
