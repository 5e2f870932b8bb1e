/** Each property of the construct changes something in the stack: one that is accepted and ignored would pass every other test. */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Tracing } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { expect, test } from 'vitest';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { PROPS } from '../../infra/task-workers-props.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import { synthesize } from './synthesize.ts';

/** What needs another construct, or shows in a bundle only, has a test of its own. */
const ELSEWHERE: readonly (keyof TaskWorkersProps)[] = [
  ...(['entry', 'workerFunction', 'table', 'bundling', 'alarmTopic'] as const),
  ...(['vpc', 'vpcSubnets', 'securityGroups'] as const),
];

/** Each is another value than the default. */
const OTHERS: TaskWorkersProps = {
  schedules: [defineSchedule('nightly', 'report', null, { cron: '0 3 * * *' })],
  queue: 'mail',
  schedule: ScheduleExpression.rate(Duration.minutes(2)),
  flexibleWindow: Duration.minutes(1),
  scheduleEnabled: false,
  maxWorkers: 11,
  startWithin: Duration.seconds(11),
  concurrency: 11,
  shards: 9,
  sessionTtl: Duration.seconds(31),
  heartbeatInterval: Duration.seconds(7),
  lockDelay: Duration.seconds(1),
  maxClockSkew: Duration.seconds(2),
  workerTimeout: Duration.minutes(14),
  deadlineMargin: Duration.seconds(11),
  linger: Duration.seconds(1),
  continuation: false,
  wakeOnEnqueue: false,
  workerMemory: 513,
  reservedConcurrency: 20,
  environment: { LOG_LEVEL: 'debug' },
  tracing: Tracing.ACTIVE,
  attemptSpans: 'link',
  timedNames: ['resize'],
  logRetention: RetentionDays.ONE_DAY,
  alarms: { deadTasks: 7 },
  runbooks: 'https://wiki.example/operating',
  dashboard: false,
  production: false,
  removalPolicy: RemovalPolicy.DESTROY,
};
/** What a property is only valid, or seen, beside. */
const BESIDE: Readonly<Partial<Record<keyof TaskWorkersProps, TaskWorkersProps>>> = {
  flexibleWindow: { schedule: ScheduleExpression.rate(Duration.hours(1)) },
};

const template = (props: TaskWorkersProps): unknown => synthesize(props).template().toJSON();
const plain = template({});

test('all are here', () => {
  expect([...Object.keys(OTHERS), ...ELSEWHERE].sort()).toEqual([...PROPS].sort());
});

test('the same properties make the same stack', () => {
  expect(template({})).toEqual(plain);
});

test.each(Object.entries(OTHERS))('%s', (name, value: unknown) => {
  const beside = BESIDE[name as keyof TaskWorkersProps];

  expect(template({ ...beside, [name]: value })).not.toEqual(beside === undefined ? plain : template(beside));
});
