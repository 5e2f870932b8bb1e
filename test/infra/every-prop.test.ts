/**
 * The whole stack, and what each property of the construct changes in it.
 *
 * After an intended change: `npx vitest run test/infra/every-prop.test.ts -u`, and read the difference.
 */
import { Duration } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Tracing } from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { expect, test } from 'vitest';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { PROPS } from '../../infra/task-workers-props.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, synthesize } from './synthesize.ts';
import { difference, linesOf } from './template-lines.ts';

/** Props with separate tests: they need another construct, or affect only a bundle. */
const ELSEWHERE: readonly (keyof TaskWorkersProps)[] = [
  ...(['entry', 'workerFunction', 'table', 'bundling', 'alarmTopic', 'queue'] as const),
  ...(['vpc', 'vpcSubnets', 'securityGroups'] as const),
];

/** Each is another value than the default. */
const OTHERS: TaskWorkersProps = {
  schedules: [defineSchedule('nightly', 'report', null, { cron: '0 3 * * *' })],
  schedule: ScheduleExpression.rate(Duration.minutes(2)),
  scheduleEnabled: false,
  maxWorkers: 11,
  startWithin: Duration.seconds(11),
  concurrency: 11,
  shards: 9,
  sessionTtl: Duration.seconds(31),
  lockDelay: Duration.seconds(1),
  maxClockSkew: Duration.seconds(2),
  workerTimeout: Duration.minutes(14),
  deadlineMargin: Duration.seconds(11),
  linger: Duration.seconds(1),
  continuation: false,
  wakeOnEnqueue: false,
  workerMemory: 513,
  environment: { LOG_LEVEL: 'debug' },
  tracing: Tracing.ACTIVE,
  attemptSpans: 'link',
  logEnds: true,
  codeVersion: 'a1b2c3',
  listFinished: true,
  timedNames: ['resize'],
  alarms: { deadTasks: 7 },
  runbooks: 'https://wiki.example/operating',
  dashboard: false,
  production: false,
};

/** At the end of a logical id. */
const HASH = /(?<=[a-z])[0-9A-F]{8}\b/g;

const template = (props: TaskWorkersProps): readonly string[] => linesOf(synthesize(props).template().toJSON());
const plain = template({});

test('all are here', () => {
  expect([...Object.keys(OTHERS), ...ELSEWHERE].sort()).toEqual([...PROPS].sort());
});

test('the same properties make the same stack', () => {
  expect(template({})).toEqual(plain);
});

test('the stack without any property', async () => {
  await expect(plain.join('\n')).toMatchFileSnapshot('./stack.txt');
});

test('another name of the queue changes nothing else', () => {
  expect(template({ queue: 'mail' }).map(named)).toEqual(plain.map(named));
});

test('a second queue on the table, with a topic for alarms, and all that may be granted', async () => {
  const synthesized = synthesize();
  const { stack, workers } = synthesized;
  const alarmTopic = new Topic(stack, 'Topic');
  const mail = new TaskWorkers(stack, 'Mail', { entry: ENTRY, queue: 'mail', table: workers.table, alarmTopic });
  const assumedBy = new ServicePrincipal('ec2.amazonaws.com');
  for (const verb of ['Enqueue', 'Replace', 'Coordinate', 'Schedule', 'Observe', 'Operate'] as const)
    mail[`grant${verb}`](new Role(stack, verb, { assumedBy }));

  const first = plain.map(named).sort();
  const lines = linesOf(synthesized.template().toJSON()).map(named);
  await expect(difference(first, lines.sort()).join('\n')).toMatchFileSnapshot('./second-queue.txt');
});

/** The line of the first queue, without the hashes of names: equal lines are in `stack.txt`. */
function named(line: string): string {
  return line
    .replaceAll('Mail', 'Media')
    .replaceAll(/\bmail\b/g, 'media')
    .replaceAll(HASH, '');
}

test.each(Object.entries(OTHERS))('%s', async (name, value: unknown) => {
  const changes = difference(plain, template({ [name]: value }));

  expect(changes).not.toEqual([]);
  await expect(changes.join('\n')).toMatchFileSnapshot(`./props/${name}.txt`);
});
