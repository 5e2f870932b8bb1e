/** The faults of a run as data: how often, how long, and how much useful work the run must have done to count. */

/** The possible fates of one request on its way to the store and back. */
export const FATES = [
  /** It never arrives, without an error. */
  'dropRequest',
  /** It is applied, and its answer is lost. */
  'dropResponse',
  /** It arrives late: perhaps long after its sender has given up, or died. */
  'delay',
  /** It arrives, and arrives again later. */
  'duplicate',
  /** A server error instead of the work. */
  'errorBefore',
  /** A server error after the work. */
  'errorAfter',
  'throttle',
  /** The connection is reset before the work. */
  'resetBefore',
  /** The connection is reset after the work. */
  'resetAfter',
  /** The connection stays open, but this request and all later ones on it get no response. */
  'halfOpen',
] as const;
export type Fate = (typeof FATES)[number];

/** The possible faults of a worker's process. */
export const PROCESS_FAULTS = [
  'kill',
  /** Killed when one of its writes arrives at the proxy; the write continues without it. */
  'killInMidWrite',
  /** Between a write's application and its answer. */
  'killAfterWrite',
  /** Shorter than a TTL. */
  'pause',
  /** Longer than a TTL: it wakes as a zombie. */
  'freeze',
  'freezeInMidWrite',
  'freezeAfterWrite',
  /** An invocation whose deadline margin is none: killed by the platform in the middle of its tasks. */
  'timeout',
  /** Everybody is stopped at once, and wakes at once. */
  'herd',
] as const;
export type ProcessFault = (typeof PROCESS_FAULTS)[number];

export interface Range {
  readonly low: number;
  readonly high: number;
}

export interface Profile {
  readonly name: string;
  /** Share of requests that meet each fate. */
  readonly network: Readonly<Record<Fate, number>>;
  readonly delayMs: Range;
  readonly process: {
    /** Mean time between two faults; the waits are exponentially distributed, as in a Poisson process. */
    readonly meanPauseMs: number;
    readonly weights: Readonly<Record<ProcessFault, number>>;
    readonly pauseMs: Range;
    readonly freezeMs: Range;
  };
  readonly partition: {
    /** Between two partitions of one worker from the store, on average. */
    readonly meanPauseMs: number;
    readonly lengthMs: Range;
  };
  readonly clock: {
    /** How far a process's clock may be from the true time. */
    readonly maxOffsetMs: number;
    /** How often it steps to another offset within the bound. */
    readonly stepEveryMs: number;
    /** Whether all clocks stay within the protocol's clock bound: otherwise rules that depend on clocks are not judged. */
    readonly withinBound: boolean;
  };
  readonly protocol: {
    readonly sessionTtlMs: number;
    readonly maxClockSkewMs: number;
    readonly lockDelayMs: number;
  };
  readonly fleet: {
    readonly taskWorkers: number;
    readonly concurrency: number;
    readonly lockHolders: number;
    readonly workerTimeoutMs: number;
    readonly deadlineMarginMs: number;
  };
  /** Tasks of each arm that the producer keeps open. */
  readonly openTasks: number;
  /** How long one task takes. */
  readonly taskMs: Range;
  /** How long a register is held between reading and writing. */
  readonly holdMs: Range;
}

const TTL_MS = 2_000;
const MAX_CLOCK_SKEW_MS = 250;

/** Everything goes wrong, and clocks keep their bound: every invariant is judged. */
export const WITHIN_BOUND: Profile = {
  name: 'within-bound',
  network: {
    dropRequest: 0.008,
    dropResponse: 0.02,
    delay: 0.03,
    duplicate: 0.03,
    errorBefore: 0.006,
    errorAfter: 0.01,
    throttle: 0.01,
    resetBefore: 0.004,
    resetAfter: 0.006,
    halfOpen: 0.002,
  },
  delayMs: { low: 20, high: 10_000 },
  process: {
    meanPauseMs: 330,
    weights: {
      kill: 5,
      killInMidWrite: 4,
      killAfterWrite: 4,
      pause: 4,
      freeze: 4,
      freezeInMidWrite: 4,
      freezeAfterWrite: 4,
      timeout: 2,
      herd: 0.3,
    },
    pauseMs: { low: 50, high: TTL_MS / 2 },
    // Beyond the TTL, the clock bound and the lock-delay together.
    freezeMs: { low: TTL_MS * 1.5, high: TTL_MS * 3 },
  },
  partition: { meanPauseMs: 6_000, lengthMs: { low: 300, high: TTL_MS * 2.5 } },
  clock: { maxOffsetMs: MAX_CLOCK_SKEW_MS / 2, stepEveryMs: 3_000, withinBound: true },
  protocol: { sessionTtlMs: TTL_MS, maxClockSkewMs: MAX_CLOCK_SKEW_MS, lockDelayMs: 250 },
  fleet: { taskWorkers: 6, concurrency: 4, lockHolders: 5, workerTimeoutMs: 20_000, deadlineMarginMs: 3_000 },
  openTasks: 24,
  taskMs: { low: 20, high: 900 },
  holdMs: { low: 5, high: 120 },
};

/** The same with clocks that are seconds apart: judges only the rules that hold with any clocks. */
export const BROKEN_CLOCKS: Profile = {
  ...WITHIN_BOUND,
  name: 'broken-clocks',
  clock: { maxOffsetMs: 4_000, stepEveryMs: 5_000, withinBound: false },
};

export const PROFILES: readonly Profile[] = [WITHIN_BOUND, BROKEN_CLOCKS];
