/**
 * Wait and run times of tasks, as metric values for CloudWatch's percentiles: of the queue, and of the task names in `timedNames`.
 *
 * A line of such a name has an array of values and two sets of dimensions, so each value counts in both.
 */
import type { Metrics } from '@aws-lambda-powertools/metrics';
import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { TaskTimes } from '../shared/tasks/worker/tally.ts';
import type { MetricName } from './metric-names.ts';
import { METRIC } from './metric-names.ts';

/**
 * The format's maximum, at which Powertools writes by itself.
 * A line of this size is small enough to be written completely before a process is killed.
 */
const VALUES_IN_LINE = 100;

const METRICS_OF: Readonly<Record<keyof TaskTimes, MetricName>> = {
  waitMs: METRIC.taskWaitMs,
  runMs: METRIC.taskRunMs,
  endToEndMs: METRIC.taskEndToEndMs,
};

export class TaskTimeMetrics {
  readonly #metrics: Metrics;
  readonly #names: ReadonlySet<string>;
  /** By name. undefined: all tasks without their own metrics. */
  readonly #unwritten = new Map<string | undefined, Map<MetricName, number[]>>();

  /**
   * @param metrics a separate object, because writing changes the dimensions
   * @param names task names with their own metrics
   */
  constructor(metrics: Metrics, names: Iterable<string>) {
    this.#metrics = metrics;
    this.#names = new Set(names);
  }

  record(name: string, times: TaskTimes): void {
    const task = this.#names.has(name) ? name : undefined;
    const values = this.#unwritten.get(task) ?? new Map<MetricName, number[]>();
    this.#unwritten.set(task, values);
    let isFull = false;
    for (const [time, metric] of Object.entries(METRICS_OF) as [keyof TaskTimes, MetricName][]) {
      const { [time]: ms } = times;
      if (ms === undefined) continue;
      const list = values.get(metric) ?? [];
      values.set(metric, list);
      // Two machines' clocks may differ, so the time could be negative.
      list.push(Math.max(0, Math.round(ms)));
      isFull ||= list.length === VALUES_IN_LINE - 1;
    }
    if (isFull) this.#writeTask(task, values);
  }

  write(): void {
    for (const [task, values] of this.#unwritten) this.#writeTask(task, values);
  }

  #writeTask(task: string | undefined, values: ReadonlyMap<MetricName, readonly number[]>): void {
    this.#unwritten.delete(task);
    if (task !== undefined) {
      this.#metrics.addDimensions({});
      this.#metrics.addDimensions({ task });
    }
    for (const [metric, list] of values)
      for (const value of list) this.#metrics.addMetric(metric, MetricUnit.Milliseconds, value);
    this.#metrics.publishStoredMetrics();
  }
}
