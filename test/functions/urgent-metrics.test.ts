/** A metric that an alarm waits for alone is written at once: the worker that counted it may be killed next. */
import { readFileSync } from 'node:fs';
import type { Metrics } from '@aws-lambda-powertools/metrics';
import { expect, test } from 'vitest';
import type { MetricName } from '../../functions/metric-names.ts';
import { METRIC } from '../../functions/metric-names.ts';
import { METRICS_OF, WorkerMetrics } from '../../functions/worker-metrics.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** Their alarms look for a share of many, or for several periods of them. */
const MAY_WAIT: Readonly<Partial<Record<MetricName, string>>> = {
  [METRIC.claimsRefused]: 'a share of more than a hundred claims',
  [METRIC.rowsSkipped]: 'three periods of five minutes, and the row is met again',
  [METRIC.tasksUnknown]: 'three periods of five minutes, and the task is met again',
};

function written(event: keyof typeof METRICS_OF): readonly string[] {
  const names: string[] = [];
  const metrics = {
    addMetric: (name: string) => void names.push(name),
    publishStoredMetrics: () => undefined,
  } as unknown as Metrics;
  using reported = new WorkerMetrics(
    metrics,
    { write: () => undefined } as never,
    createMeter(),
    new ManualClock('2026-01-01T00:00:00Z'),
  );
  reported.count(event, 1);
  return [...names];
}

const events = Object.entries(METRICS_OF) as [keyof typeof METRICS_OF, readonly MetricName[]][];
/** Read as text, because loading the constructs takes longer than all of this test. */
const rules = readFileSync(new URL('../../infra/alarms.ts', import.meta.url), 'utf8');
const alarmed = new Set(
  [...rules.matchAll(/METRIC\.(\w+)/g)].map(([, name]) => METRIC[name as keyof typeof METRIC] as string),
);

test.each(events)('%s', (event, names) => {
  const isUrgent = names.some((name) => alarmed.has(name) && MAY_WAIT[name] === undefined);
  expect(written(event)).toEqual(isUrgent ? [...names] : []);
});

test('each line has the counts since the last one, every five seconds and at the end', async () => {
  const lines: Record<string, number>[] = [];
  let line: Record<string, number> = {};
  const metrics = {
    addMetric: (name: string, _unit: string, count: number) => void (line[name] = count),
    publishStoredMetrics: () => {
      lines.push(line);
      line = {};
    },
  } as unknown as Metrics;
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const meter = createMeter();
  let times = 0;
  const expire = { verb: 'session.expire', kind: 'update', input: { TableName: 't' } } as never;
  const faultOf = (kind: 'throttled' | 'conditionFailed') => new DynamoFault(kind, { code: kind, message: kind });
  const reported = new WorkerMetrics(metrics, { write: () => void times++ } as never, meter, clock);

  reported.count('done', 2);
  reported.count('done', 1);
  for (const given of [{ output: {} }, { output: {} }, { fault: faultOf('conditionFailed') }])
    meter.onAttempt({ statement: expire, ...given });
  await clock.advance(4_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  await clock.advance(5_000);
  meter.onAttempt({ statement: expire, output: {} });
  meter.onAttempt({ statement: { verb: 'other', kind: 'get', input: {} } as never, fault: faultOf('throttled') });
  reported.count('retried', 1);
  reported.count('dead', 1);
  reported.count('blocked', 1);
  reported[Symbol.dispose]();
  await clock.advance(60_000);

  expect(lines).toEqual([
    { [METRIC.tasksCompleted]: 3, [METRIC.sessionsExpired]: 2 },
    {
      [METRIC.tasksFailed]: 2,
      [METRIC.tasksDead]: 1,
      [METRIC.sessionsExpired]: 1,
      [METRIC.storeThrottled]: 1,
    },
    { [METRIC.eventLoopsBlocked]: 1 },
  ]);
  expect(times).toBe(4);
});

test('urgent metrics have an alarm, and are counted by an event', () => {
  const counted = new Set(events.flatMap(([, names]) => names));
  for (const name of Object.keys(MAY_WAIT))
    expect([alarmed.has(name), counted.has(name as MetricName)]).toEqual([true, true]);
});
