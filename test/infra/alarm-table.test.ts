/**
 * Every alarm of a queue and of a waker, as one line each: for schedules of every pace, worker timeouts, thresholds, queues and topics.
 *
 * The constructs are made without our functions, so nothing is bundled.
 * After an intended change: `npx vitest run test/infra/alarm-table.test.ts -u`, and read the difference.
 */
import { Duration, Stack } from 'aws-cdk-lib';
import type { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { expect, test } from 'vitest';
import type { AlarmThresholds } from '../../infra/alarms.ts';
import { Alarms } from '../../infra/alarms.ts';
import { WakerAlarms } from '../../infra/waker-alarms.ts';
import { newStack } from './synthesize.ts';

interface Made {
  readonly schedule?: string;
  readonly isEnabled?: boolean;
  readonly timeout?: Duration;
  readonly thresholds?: AlarmThresholds;
}

const EVERY_THRESHOLD: AlarmThresholds = {
  oldestReadyTask: Duration.minutes(7),
  deadTasks: 2,
  failingTasks: 3,
  lostLeases: 4,
  refusedClaimsPercent: 5,
  workerErrors: 6,
  throttles: 8,
};

const functionOf = (stack: Stack, name: string) =>
  LambdaFunction.fromFunctionName(stack, `${name}Function`, `the-${name}`);

/** The alarms of a queue with these settings, in a stack. */
function made({
  schedule = 'rate(1 minute)',
  isEnabled = true,
  timeout,
  thresholds = {},
}: Made): readonly [Stack, readonly CfnAlarm[]] {
  const stack = newStack();
  const { all } = new Alarms(stack, 'Alarms', {
    address: { table: 'leases', queue: 'media' },
    scheduleExpression: schedule,
    scheduleEnabled: isEnabled,
    schedule: new Construct(stack, 'Schedule'),
    dispatcher: functionOf(stack, 'dispatcher'),
    worker: functionOf(stack, 'worker'),
    workerTimeout: timeout ?? Duration.minutes(15),
    deadLetters: Queue.fromQueueArn(stack, 'Dead', 'arn:aws:sqs:eu-west-1:123456789012:dead'),
    thresholds,
    runbooks: 'runbooks',
  });
  return [stack, all.map(({ node }) => node.defaultChild as CfnAlarm)];
}

type Stated = CfnAlarm & { readonly alarmActions?: string[] };

/** The alarm's id, and when it rings. */
function ruleOf(alarm: CfnAlarm): string {
  const { threshold, datapointsToAlarm, evaluationPeriods, treatMissingData } = alarm;
  const [id] = alarm.node.path.split('/').slice(-2);
  return `${id}: ${alarm.comparisonOperator} ${threshold}, ${datapointsToAlarm} of ${evaluationPeriods}, missing is ${treatMissingData}`;
}

/** The same, whom it tells, and what it reads. */
function lineOf(stack: Stack, alarm: CfnAlarm): string {
  const { alarmActions } = alarm as Stated;
  const single = {
    namespace: alarm.namespace,
    name: alarm.metricName,
    statistic: alarm.statistic ?? alarm.extendedStatistic,
    period: alarm.period,
    dimensions: alarm.dimensions,
  };
  const metrics = stack.resolve(alarm.metrics ?? single) as unknown;
  const actions = ((stack.resolve(alarmActions) ?? []) as { readonly Ref: string }[]).map(({ Ref }) => Ref);
  return [
    ruleOf(alarm),
    ...(actions.length === 0 ? [] : [`tells ${actions.join(', ')}`]),
    JSON.stringify(metrics),
  ].join('\n    ');
}

/** Each alarm that other settings change. */
function changed(settings: Made): string {
  const [, alarms] = made(settings);
  const rules = alarms.map(ruleOf).filter((rule, at) => rule !== ruleOf(usual[at]!));
  return [`## ${JSON.stringify(settings)}`, ...rules].join('\n');
}

const [usualStack, usual] = made({});

test('the alarms of a queue that ticks every minute', async () => {
  await expect(usual.map((alarm) => lineOf(usualStack, alarm)).join('\n')).toMatchFileSnapshot(
    './stacks/alarms.golden.txt',
  );
});

test('change with schedules, timeouts and thresholds', async () => {
  const schedules = [
    ...['rate(2 minutes)', 'rate(3 minutes)', 'rate(4 minutes)', 'rate(5 minutes)', 'rate(6 minutes)', 'rate(1 hour)'],
    ...['rate(1 day)', 'cron(* * * * ? *)', 'cron(0/5 * * * ? *)', 'cron(0/6 * * * ? *)', 'cron(0/7 * * * ? *)'],
    'cron(0 3 * * ? *)',
  ].flatMap((schedule) => [
    { schedule, isEnabled: true },
    { schedule, isEnabled: false },
  ]);
  const timeouts = [1, 299, 300, 301, 600, 601, 900].map((seconds) => ({ timeout: Duration.seconds(seconds) }));
  const thresholds = [
    ...Object.entries(EVERY_THRESHOLD).map(([name, value]) => ({ thresholds: { [name]: value as unknown } })),
    { schedule: 'rate(1 day)', thresholds: EVERY_THRESHOLD },
  ] as Made[];

  const text = [{ isEnabled: false }, ...schedules, ...timeouts, ...thresholds].map(changed).join('\n');
  await expect(text).toMatchFileSnapshot('./stacks/alarms-changed.golden.txt');
});

test('the alarms of a waker: for no queue, for each topic once, and for more queues than an alarm may read', async () => {
  const blocks = [0, 1, 2, 9, 10, 11].map((queues) => {
    const stack = newStack();
    const topics = ['One', 'Other'].map((name) => new Topic(stack, name));
    const alarms = new WakerAlarms(stack, 'Waker', { waker: functionOf(stack, 'waker'), runbooks: 'runbooks' });
    for (let nth = 0; nth < queues; nth++)
      alarms.add({ table: 'leases', queue: `q${nth}` }, nth === 1 ? undefined : topics[nth % 3 === 0 ? 0 : 1]);
    const lines = alarms.all.map((alarm) => lineOf(stack, alarm.node.defaultChild as CfnAlarm));
    return [`## ${queues} queues`, ...lines].join('\n');
  });
  await expect(blocks.join('\n')).toMatchFileSnapshot('./stacks/waker-alarms.golden.txt');
});

test('an alarm is described by what it says of its queue, and where its runbook is', () => {
  const stack = new Stack();
  const { all } = new WakerAlarms(stack, 'Waker', { waker: functionOf(stack, 'waker'), runbooks: 'https://wiki/book' });

  expect(all.map(({ node }) => (node.defaultChild as CfnAlarm).alarmDescription)).toEqual([
    'Waker: it fails or is throttled, so tasks wait for the next tick. Runbook: https://wiki/book#runbook-waker-failing',
    'Waker: it reads insertions half a minute late; Lambda drops them after a minute. Runbook: https://wiki/book#runbook-waker-late',
    'Waker: tasks are inserted and the waker is not invoked, so they wait for the next tick. Runbook: https://wiki/book#runbook-waker-silent',
  ]);
});
