/** The faults of a run as data: how often, and how long. */

interface FateOfRequest {
  /** Share of requests that meet it. */
  readonly share: number;
  /** Whether the store receives the request. */
  readonly arrives: boolean;
  readonly senderSees: 'answer' | 'nothing' | 'error' | 'throttled' | 'reset';
}

/** The possible fates of one request on its way to the store and back. */
export const FATES = {
  dropRequest: { share: 0.008, arrives: false, senderSees: 'nothing' },
  dropResponse: { share: 0.02, arrives: true, senderSees: 'nothing' },
  /** It arrives late: perhaps long after its sender has given up, or died. */
  delay: { share: 0.03, arrives: true, senderSees: 'answer' },
  /** It arrives, and arrives again later. */
  duplicate: { share: 0.03, arrives: true, senderSees: 'answer' },
  errorBefore: { share: 0.006, arrives: false, senderSees: 'error' },
  errorAfter: { share: 0.01, arrives: true, senderSees: 'error' },
  throttle: { share: 0.01, arrives: false, senderSees: 'throttled' },
  resetBefore: { share: 0.004, arrives: false, senderSees: 'reset' },
  resetAfter: { share: 0.006, arrives: true, senderSees: 'reset' },
  /** The connection stays open, but this request and all later ones on it get no response. */
  halfOpen: { share: 0.002, arrives: false, senderSees: 'nothing' },
} as const satisfies Record<string, FateOfRequest>;
export type Fate = keyof typeof FATES;

/** The possible faults of a worker's process, by weight. */
export const PROCESS_FAULTS = {
  kill: 5,
  /** Killed when one of its writes arrives at the proxy; the write continues without it. */
  killInMidWrite: 4,
  /** Between a write's application and its answer. */
  killAfterWrite: 4,
  /** Shorter than a TTL. */
  pause: 4,
  /** Longer than a TTL: it wakes as a zombie. */
  freeze: 4,
  freezeInMidWrite: 4,
  freezeAfterWrite: 4,
  /** An invocation whose deadline margin is none: killed by the platform in the middle of its tasks. */
  timeout: 2,
  /** Everybody is stopped at once, and wakes at once. */
  herd: 0.3,
} as const;
export type ProcessFault = keyof typeof PROCESS_FAULTS;

export interface Range {
  readonly low: number;
  readonly high: number;
}

const TTL_MS = 2_000;
const MAX_CLOCK_SKEW_MS = 250;
export const PROTOCOL = { sessionTtlMs: TTL_MS, maxClockSkewMs: MAX_CLOCK_SKEW_MS, lockDelayMs: 250 } as const;

/** Means of exponentially distributed waits, as in a Poisson process. */
export const MEAN_PAUSE_MS = { processFault: 330, partition: 6_000 } as const;
export const LENGTHS_MS = {
  delay: { low: 20, high: 10_000 },
  pause: { low: 50, high: TTL_MS / 2 },
  // Beyond the TTL, the clock bound and the lock-delay together.
  freeze: { low: TTL_MS * 1.5, high: TTL_MS * 3 },
  partition: { low: 300, high: TTL_MS * 2.5 },
  task: { low: 20, high: 900 },
  /** Between reading and writing a register. */
  hold: { low: 5, high: 120 },
} as const satisfies Record<string, Range>;

/** A process's clock steps to another offset from the true time, within the bound. */
export const CLOCK = { maxOffsetMs: MAX_CLOCK_SKEW_MS / 2, stepEveryMs: 3_000 } as const;
export const FLEET = { taskWorkers: 6, concurrency: 4, lockHolders: 5 } as const;

/** `fenced` goes through what the library ships; `naive` is what people write without it, and is the positive control. */
export const ARMS = ['fenced', 'naive'] as const;
export type Arm = (typeof ARMS)[number];
export const TASK_NAMES: Readonly<Record<Arm, string>> = { fenced: 'chaos.fenced', naive: 'chaos.naive' };
/** Tasks of each arm that the producer keeps open. */
export const OPEN_TASKS = 24;
export const REGISTERS = ARMS.flatMap((arm) => [1, 2].map((n) => ({ arm, key: `${arm}/${n}` })));
