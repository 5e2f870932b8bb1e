/** The inputs of an estimate: a table of figures with defaults and bounds, which is also the list of flags of `leasehold cost`. */
import { ConfigurationError } from '../../core/errors.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../tasks/task/payload.ts';
import { DEFAULT_SHARDS, MAX_SHARDS } from '../../tasks/task/task.ts';
import type { Architecture } from './prices.ts';

interface Bounds {
  readonly least: number;
  readonly most: number;
  readonly isWhole: boolean;
}

const from = (least: number, most = Infinity): Bounds => ({ least, most, isWhole: false });
const whole = (least: number, most = Number.MAX_SAFE_INTEGER): Bounds => ({ least, most, isWhole: true });
const SHARE = from(0.001, 1);

export type Figure = readonly [byDefault: number, bounds: Bounds, what: string];

export const FIGURES = {
  tasksPerDay: [1_000_000, from(1), 'tasks a day'],
  secondsPerTask: [1, from(0.001), 'how long one attempt takes'],
  attemptsPerTask: [1, from(1), 'claims of a task on average: 1.1 is one retry in ten'],
  peakFactor: [1, from(1), 'the busiest time, as a multiple of the average'],
  inputBytes: [200, whole(0), 'of its input as JSON'],
  resultBytes: [50, whole(0), 'of its result as JSON'],
  commitItems: [0, whole(0, 99), 'items of up to 1 KB that it commits together with its end'],
  refusedCommitsPerTask: [0, from(0), 'commits of a task that a condition of these items refuses'],
  steps: [0, whole(0, 30_000), 'steps of a durable task, with results of 95 bytes'],
  waits: [0, whole(0, 30_000), 'waits of a durable task'],
  callbacks: [0, whole(0, 30_000), 'callbacks of a durable task, asked and answered'],
  // Of three events of 1.6 to 1.8 KB, 0.34 to 0.42 (`npm run bench -- units`).
  deflatedShare: [0.4, SHARE, 'deflated size of JSON from 700 bytes on, as a share'],
  concurrency: [10, whole(1), 'tasks that run at once in one worker'],
  utilisation: [0.7, SHARE, "share of a worker's time in which all its slots are taken"],
  memoryMb: [512, whole(128, 10_240), 'of a worker'],
  heartbeatSeconds: [10, from(0.1), 'between heartbeats of a worker'],
  tickSeconds: [60, from(1), 'between ticks of the schedule'],
  shards: [DEFAULT_SHARDS, whole(1, MAX_SHARDS), 'of the queue'],
  maxWorkers: [10, whole(1), 'at one time'],
  lingerSeconds: [0, from(0), 'how long a worker stays, and is billed, with nothing to do'],
  refusedPerTask: [0.02, from(0), 'refused claims per task'],
  retentionDays: [14, from(0), 'for which finished tasks are kept'],
  burstTasks: [1_000, from(0), 'tasks of a burst'],
  startWithinSeconds: [10, from(0), 'how soon the last of them should begin (startWithin)'],
  timedNames: [0, whole(0), 'task names with metrics of their own'],
} as const satisfies Readonly<Record<string, Figure>>;

type Figures = Readonly<Record<keyof typeof FIGURES, number>>;

/** A queue and its tasks, all of them alike. */
export interface Workload extends Figures {
  readonly architecture: Architecture;
  readonly alarms: boolean;
  readonly dashboard: boolean;
  /** X-Ray tracing of the functions. */
  readonly tracing: boolean;
  /** The queue lists its finished tasks. */
  readonly listFinished: boolean;
}

export const DEFAULT_WORKLOAD: Workload = {
  ...(Object.fromEntries(Object.entries(FIGURES).map(([name, [byDefault]]) => [name, byDefault])) as Figures),
  architecture: 'arm64',
  alarms: true,
  dashboard: true,
  tracing: false,
  listFinished: false,
};

/** @throws ConfigurationError naming the invalid figure */
export function validateWorkload(workload: Workload): void {
  for (const [figure, [, bounds]] of Object.entries(FIGURES)) {
    const { least, most, isWhole } = bounds;
    const value = workload[figure as keyof Figures];
    const isUsable = value >= least && value <= most && (!isWhole || Number.isInteger(value));
    const range = most < Number.MAX_SAFE_INTEGER ? `from ${least} to ${most}` : `${least} or more`;
    ensure(figure, value, isUsable, range);
  }
  const { refusedCommitsPerTask, commitItems, inputBytes } = workload;
  const mayRefuse = refusedCommitsPerTask === 0 || commitItems > 0;
  ensure('refusedCommitsPerTask', refusedCommitsPerTask, mayRefuse, '0, because commitItems = 0');
  const limit = PAYLOAD_ROW_LIMIT_BYTES;
  ensure('inputBytes', inputBytes, inputBytes <= limit, `${limit} at most, larger ones go to a store of your own`);
}

function ensure(figure: string, value: number, isUsable: boolean, wanted: string): void {
  if (!isUsable || !Number.isFinite(value)) throw new ConfigurationError(`${figure} = ${value}: must be ${wanted}`);
}
