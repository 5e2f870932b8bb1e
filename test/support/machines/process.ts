/**
 * One incarnation of a simulated process: its clock, its chance, its identity, and how it is stopped.
 *
 * Code under test runs in it as ordinary async functions. The process meets the world only through its ports,
 * so everything that can happen to a process is done there:
 *
 *   - **Killed**: none of its sleeps and requests is ever answered again, so no continuation runs and all it held is garbage.
 *     Code that is on the stack at that moment runs to its next await and is not heard any more.
 *   - **Stalled**: frozen from outside at any moment, or from inside at a port call (reading a clock, drawing a number, sending).
 *     In the second case its own time runs ahead of the timeline: what it does next happens at the end of the stall.
 *     So a freeze may fall between a check and the act that was checked.
 *   - **Thawed**: answers that came in meanwhile are delivered first, overdue timers after them, as an event loop does.
 */
import type { Cancel, Clock } from '../../../shared/core/runtime/clock.ts';
import type { Ids } from '../../../shared/core/runtime/ids.ts';
import type { Random } from '../../../shared/core/runtime/random.ts';
import type { Runtime } from '../../../shared/core/runtime/runtime.ts';
import type { Timeline, TimelineEvent } from './timeline.ts';
import type { WallClock } from './wall-clock.ts';

interface ProcessOptions {
  /** Unique among all incarnations. */
  readonly name: string;
  readonly timeline: Timeline;
  readonly wall: WallClock;
  readonly random: Random;
  readonly ids: Ids;
  /** How much too fast its monotonic clock runs, as a fraction. */
  readonly monotonicDrift?: number;
  /** Whether its monotonic clock stands still while it is stalled, as CLOCK_MONOTONIC does in a suspended machine. */
  readonly monotonicStops?: boolean;
  /** Called once, when it is killed, by whatever hand. */
  readonly onKilled?: ((process: SimulatedProcess) => void) | undefined;
}

/** Called at a port call that has been chosen for trouble. */
type PortTrap = (process: SimulatedProcess) => void;

export class SimulatedProcess {
  readonly name: string;
  readonly timeline: Timeline;
  readonly wall: WallClock;
  readonly runtime: Runtime;
  /** Timers set and not yet over. */
  sleeping = 0;
  /** Requests sent and not yet answered. */
  requesting = 0;
  #isAlive = true;
  /** True time up to which this process has lived; beyond the timeline's while it stalls. */
  #busyUntil = 0;
  #stalledMs = 0;
  /** How long it has stood still, whatever its clocks make of it. */
  #stillMs = 0;
  #suspendedAt: number | undefined;
  readonly #rate: number;
  readonly #monotonicStops: boolean;
  readonly #startedAt: number;
  readonly #onKilled: ((process: SimulatedProcess) => void) | undefined;
  readonly #answers: (() => void)[] = [];
  readonly #overdue: (() => void)[] = [];
  #waking: TimelineEvent | undefined;
  #callsUntilTrap = Infinity;
  #trap: PortTrap | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.timeline = options.timeline;
    this.wall = options.wall;
    this.#rate = 1 + (options.monotonicDrift ?? 0);
    this.#monotonicStops = options.monotonicStops ?? false;
    this.#startedAt = options.timeline.now - UPTIME_MS;
    this.#onKilled = options.onKilled;
    const { random, ids } = options;
    this.runtime = {
      clock: this.#clock(),
      random: {
        next: () => {
          this.touch();
          return random.next();
        },
      },
      ids: {
        unique: () => {
          this.touch();
          return ids.unique();
        },
        ordered: () => ids.ordered(),
      },
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** True time as this process lives it. */
  get now(): number {
    return this.#suspendedAt === undefined ? Math.max(this.timeline.now, this.#busyUntil) : this.timeline.now;
  }

  /** True time less what it has stood still: the time in which it could have acted. */
  get activeMs(): number {
    return this.now - this.#stillMs;
  }

  get isStalled(): boolean {
    return this.timeline.now < this.#busyUntil;
  }

  kill(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#answers.length = 0;
    this.#overdue.length = 0;
    if (this.#waking !== undefined) this.timeline.cancel(this.#waking);
    this.#onKilled?.(this);
  }

  /** Stops it for a time that starts now, or at the end of a stall that is under way. */
  stall(ms: number): void {
    if (!this.#isAlive || ms <= 0 || this.#suspendedAt !== undefined) return;
    this.#busyUntil = this.now + ms;
    this.#stillMs += ms;
    if (this.#monotonicStops) this.#stalledMs += ms;
  }

  /** Stops it until `resume`: an environment between two invocations. */
  suspend(): void {
    if (this.#suspendedAt !== undefined) return;
    this.#suspendedAt = this.now;
    this.#busyUntil = Infinity;
  }

  resume(): void {
    if (this.#suspendedAt === undefined) return;
    const suspendedMs = Math.max(0, this.timeline.now - this.#suspendedAt);
    this.#stillMs += suspendedMs;
    if (this.#monotonicStops) this.#stalledMs += suspendedMs;
    this.#busyUntil = Math.max(this.timeline.now, this.#suspendedAt);
    this.#suspendedAt = undefined;
    if (this.#answers.length + this.#overdue.length > 0) this.#wakeLater();
  }

  /** Asks the process something on behalf of an onlooker: no trap is sprung. */
  quietly<T>(ask: () => T): T {
    const calls = this.#callsUntilTrap;
    this.#callsUntilTrap = Infinity;
    try {
      return ask();
    } finally {
      this.#callsUntilTrap = calls;
    }
  }

  /** Arms a trap at the port call that comes after `calls` others; one at a time. */
  setTrap(calls: number, trap: PortTrap): void {
    this.#callsUntilTrap = calls;
    this.#trap = trap;
  }

  /** To be called by every port of this process: the moments at which it can be killed or stalled from inside. */
  touch(): void {
    if (--this.#callsUntilTrap > 0) return;
    const trap = this.#trap;
    this.#callsUntilTrap = Infinity;
    this.#trap = undefined;
    if (this.#isAlive) trap?.(this);
  }

  /** Runs `resume`, which settles a promise of the process, now or when it can hear it; never if it is dead by then. */
  deliver(resume: () => void): void {
    if (!this.#isAlive) return;
    if (this.isStalled || this.#answers.length > 0) {
      this.#answers.push(resume);
      this.#wakeLater();
      return;
    }
    this.timeline.wake();
    resume();
  }

  /** As `deliver`, for timers: after a stall they come behind the answers. */
  #deliverTimer(resume: () => void): void {
    if (!this.#isAlive) return;
    if (this.isStalled || this.#answers.length > 0 || this.#overdue.length > 0) {
      this.#overdue.push(resume);
      this.#wakeLater();
      return;
    }
    this.timeline.wake();
    resume();
  }

  #wakeLater(): void {
    // A suspended process is woken by `resume`.
    if (this.#busyUntil === Infinity) return;
    this.#waking ??= this.timeline.at(this.#busyUntil, () => {
      this.#waking = undefined;
      if (this.isStalled) {
        this.#wakeLater();
        return;
      }
      const resume = this.#answers.shift() ?? this.#overdue.shift();
      if (resume === undefined) return;
      if (this.#answers.length + this.#overdue.length > 0) this.#wakeLater();
      this.timeline.wake();
      resume();
    });
  }

  #clock(): Clock {
    return {
      now: () => {
        this.touch();
        return this.wall.read(this.now);
      },
      monotonic: () => {
        this.touch();
        return this.#monotonicAt(this.now);
      },
      sleep: (ms, signal) => this.#sleep(ms, signal),
      after: (ms, call) => this.#after(ms, call),
    };
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    this.touch();
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const cancel = this.#startTimer(ms, finish);
      signal?.addEventListener('abort', finish, { once: true });
    });
  }

  #after(ms: number, call: () => void): Cancel {
    this.touch();
    return this.#startTimer(ms, call);
  }

  #startTimer(ms: number, call: () => void): Cancel {
    this.sleeping++;
    let isOver = false;
    const dueAt = this.#monotonicAt(this.now) + Math.max(1, ms);
    const cancel = (): void => {
      if (isOver) return;
      isOver = true;
      this.sleeping--;
      this.timeline.cancel(event);
    };
    const expire = (): void => {
      if (isOver) return;
      cancel();
      call();
    };
    const ring = (): void => {
      // The monotonic clock may have stood still meanwhile.
      const restMs = (dueAt - this.#monotonicAt(this.now)) / this.#rate;
      if (restMs > TOLERANCE_MS) event = this.timeline.at(this.now + restMs, ring);
      else this.#deliverTimer(expire);
    };
    let event = this.timeline.at(this.now + Math.max(1, ms) / this.#rate, ring);
    return cancel;
  }

  #monotonicAt(trueMs: number): number {
    return (trueMs - this.#startedAt - this.#stalledMs) * this.#rate;
  }
}

/** A process has run for a while before its code does, so its monotonic clock never shows zero. */
const UPTIME_MS = 100;

/** Rounding of the two conversions between true and monotonic time. */
const TOLERANCE_MS = 1e-6;
