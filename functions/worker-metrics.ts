/**
 * Metrics of a running worker, as lines on standard output.
 *
 * A worker may be killed at any moment and then returns nothing, and such invocations are the ones that mark tasks dead. So a count with
 * an alarm is written immediately, and the other counts every few seconds. The rest is written when the invocation ends, and when the
 * process exits. A SIGKILL loses at most the last seconds of the counts without an alarm.
 */
import type { Metrics } from '@aws-lambda-powertools/metrics';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Meter, MeterReading } from '../shared/dynamo/engine/meter.ts';
import type { Clock } from '../shared/core/runtime/clock.ts';
import type { RunningTask } from '../shared/tasks/task/task.ts';
import type { Counted } from '../shared/tasks/worker/tally.ts';
import type { MetricName } from './metric-names.ts';
import { METRIC } from './metric-names.ts';
import type { TaskTimeMetrics } from './task-times.ts';

type Event = Counted | 'leasesLost' | 'blocked' | 'new';

/** Interval between lines while no event with an alarm happens. */
const INTERVAL_MS = 5_000;

/** The metrics that each event counts. */
export const METRICS_OF: Readonly<Partial<Record<Event, readonly MetricName[]>>> = {
  done: [METRIC.tasksCompleted],
  retried: [METRIC.tasksFailed],
  dead: [METRIC.tasksFailed, METRIC.tasksDead],
  markedDead: [METRIC.tasksDead],
  failing: [METRIC.tasksFailingLong],
  released: [METRIC.tasksHandedBack],
  stalled: [METRIC.tasksStalled],
  suspended: [METRIC.tasksSuspended],
  takenOver: [METRIC.tasksTakenOver],
  claimsRefused: [METRIC.claimsRefused],
  unknown: [METRIC.tasksUnknown],
  damaged: [METRIC.rowsSkipped],
  leasesLost: [METRIC.leasesLost],
  blocked: [METRIC.eventLoopsBlocked],
  new: [METRIC.tasksNew],
};

/** An alarm fires for one or a few of these. Tasks with unknown names and skipped rows are found repeatedly, so their counts may wait. */
const URGENT: ReadonlySet<Event> = new Set(['dead', 'markedDead', 'failing', 'stalled', 'leasesLost']);

/** Two periods of the alarm that compares insertions with the waker's invocations. */
const NEW_FOR_MS = 600_000;

/** Whether the waker should have noticed it recently: a retried or recreated task is not an insertion. */
export function isNew({ generation, createdAt, claimedAt }: RunningTask): boolean {
  return generation === 0 && claimedAt - createdAt <= NEW_FOR_MS;
}

/** The metrics of one invocation. */
export class WorkerMetrics implements Disposable {
  readonly #metrics: Metrics;
  readonly #times: TaskTimeMetrics;
  readonly #meter: Meter;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  /** Counted and not yet written. */
  readonly #unwritten = new Map<MetricName, number>();
  #reported = { expiries: 0, throttled: 0 };
  readonly #write = (): void => this.write();

  constructor(metrics: Metrics, times: TaskTimeMetrics, meter: Meter, clock: Clock) {
    this.#metrics = metrics;
    this.#times = times;
    this.#meter = meter;
    this.#clock = clock;
    process.on('exit', this.#write);
    void this.#writeNowAndThen();
  }

  count(event: Event, count: number): void {
    for (const name of METRICS_OF[event] ?? []) this.#add(name, count);
    if (URGENT.has(event)) this.write();
  }

  /** Writes the counts since the last line, if there are any. */
  write(): void {
    const reading = this.#meter.read();
    const expiries = expiriesApplied(reading);
    this.#add(METRIC.sessionsExpired, expiries - this.#reported.expiries);
    this.#add(METRIC.storeThrottled, reading.throttled - this.#reported.throttled);
    this.#reported = { expiries, throttled: reading.throttled };
    this.#times.write();
    if (this.#unwritten.size === 0) return;
    for (const [name, count] of this.#unwritten) this.#metrics.addMetric(name, MetricUnit.Count, count);
    this.#unwritten.clear();
    this.#metrics.publishStoredMetrics();
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    process.off('exit', this.#write);
    this.write();
  }

  async #writeNowAndThen(): Promise<void> {
    const { signal } = this.#over;
    for (;;) {
      await this.#clock.sleep(INTERVAL_MS, signal);
      if (signal.aborted) return;
      this.write();
    }
  }

  #add(name: MetricName, count: number): void {
    if (count > 0) this.#unwritten.set(name, (this.#unwritten.get(name) ?? 0) + count);
  }
}

/** Writes the throttled requests of an invocation that has no metrics of a worker yet. */
export function writeThrottles(metrics: Metrics, meter: Meter): void {
  const { throttled } = meter.read();
  if (throttled === 0) return;
  metrics.addMetric(METRIC.storeThrottled, MetricUnit.Count, throttled);
  metrics.publishStoredMetrics();
}

function expiriesApplied({ byVerb }: MeterReading): number {
  const cost = byVerb['session.expire'];
  return cost === undefined ? 0 : cost.requests - cost.refused;
}
