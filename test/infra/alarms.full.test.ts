/** Which alarms there are, what they listen to, and whether they ring: for schedules of every pace. */
import { Duration, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { Schedule } from 'aws-cdk-lib/aws-events';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { describe, expect, test } from 'vitest';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ALARM_METRICS } from '../../shared/operate/cost/standing-cost.ts';
import { ENTRY, newApp, newStack, printNoWarning, synthesize } from './synthesize.ts';

interface Alarm {
  readonly AlarmDescription: string;
  readonly DatapointsToAlarm: number;
  readonly EvaluationPeriods: number;
  readonly Period: number;
  readonly Threshold: number;
  readonly TreatMissingData: 'breaching' | 'notBreaching' | 'ignore';
  readonly AlarmActions?: readonly unknown[];
  readonly Metrics?: readonly { readonly MetricStat?: object }[];
}

describe('alarms and dashboard', () => {
  test('the alarms of the waker reach the topic of each queue, once', () => {
    const { stack, workers } = synthesize();
    const [one, other] = [new Topic(stack, 'One'), new Topic(stack, 'Other')];
    for (const [queue, alarmTopic] of [['a', one] as const, ['b', other] as const, ['c', one] as const])
      new TaskWorkers(stack, queue, { entry: ENTRY, queue, alarmTopic, table: workers.table });
    const topics = [one, other].map(({ topicArn }) => stack.resolve(topicArn) as unknown);
    const ofWaker = alarmsOf(Template.fromStack(stack)).filter(({ AlarmDescription }) =>
      AlarmDescription.includes('#runbook-waker'),
    );

    expect(ofWaker.map(({ AlarmActions }) => AlarmActions)).toEqual([topics, topics, topics]);
  });

  test('shows each alarm of a queue and of its waker on the dashboard', () => {
    const { stack } = synthesize();
    const alarms = Object.keys(Template.fromStack(stack).findResources('AWS::CloudWatch::Alarm'));
    const [dashboard] = Object.values(Template.fromStack(stack).findResources('AWS::CloudWatch::Dashboard'));

    expect(alarms.filter((id) => !JSON.stringify(dashboard).includes(`"${id}"`))).toEqual([]);
  });

  test('notifies nobody without a topic, and synth warns', () => {
    const warnings = (props: Parameters<typeof synthesize>[0] = {}) =>
      Annotations.fromStack(synthesize(props, new Stack(newApp(), 'Theirs')).stack).findWarning('*', Match.anyValue());
    printNoWarning();
    const { stack } = synthesize({ alarms: false }, new Stack(newApp(), 'Theirs'));
    new TaskWorkers(stack, 'Mail', { entry: ENTRY, queue: 'mail', alarmTopic: new Topic(stack, 'Oncall') });

    expect(warnings().map(({ entry }) => JSON.stringify(entry.data))).toEqual([
      expect.stringContaining('alarmTopic is missing') as string,
    ]);
    expect(warnings({ alarms: false })).toEqual([]);
    expect(Annotations.fromStack(stack).findWarning('*', Match.anyValue())).toEqual([]);
  });

  test('queues of one table share its dashboard; queues of another stack have one there', () => {
    const { stack, workers } = synthesize();
    new TaskWorkers(stack, 'Mail', { entry: ENTRY, queue: 'mail', table: workers.table });
    const hidden = new TaskWorkers(stack, 'Hidden', {
      entry: ENTRY,
      queue: 'h',
      table: workers.table,
      dashboard: false,
    });
    const elsewhere = newStack(stack.node.root, 'Elsewhere');
    new TaskWorkers(elsewhere, 'Far', { entry: ENTRY, queue: 'far', table: workers.table });
    const template = Template.fromStack(stack);

    const [dashboard] = Object.values(template.findResources('AWS::CloudWatch::Dashboard'));
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
    for (const queue of ['media', 'mail']) expect(JSON.stringify(dashboard)).toContain(`Queue ${queue}`);
    expect(JSON.stringify(dashboard)).not.toContain('Queue h');
    expect(hidden.dashboard).toBeUndefined();
    Template.fromStack(elsewhere).resourceCountIs('AWS::CloudWatch::Dashboard', 1);
  });

  test('alarms read as many metrics as the estimate of costs counts', () => {
    const { stack, workers } = synthesize();
    const first = metricsOf(Template.fromStack(stack));
    const two = synthesize();
    new TaskWorkers(two.stack, 'Mail', { entry: ENTRY, queue: 'mail', table: two.workers.table });
    const both = metricsOf(two.template());

    const { ofQueue, ofQueueInWaker, ofWaker } = ALARM_METRICS;
    expect(workers.waker).toBeDefined();
    expect(first).toBe(ofQueue + ofQueueInWaker + ofWaker);
    expect(both - first).toBe(ofQueue + ofQueueInWaker);
  });
});

describe('an alarm rings for what every tick reports', () => {
  const MINUTES = [1, 2, 5, 10, 15, 60, 24 * 60];
  const BY_TICK = ['oldest-ready-task', 'lost-leases', 'skipped-rows', 'dispatcher-errors'];

  test.each(MINUTES)('evaluates a tick every %i minutes', (minutes) => {
    const alarms = alarmsOf(synthesize({ schedule: Schedule.rate(Duration.minutes(minutes)) }).template());

    for (const name of BY_TICK) {
      const alarm = alarms.find(({ AlarmDescription }) => AlarmDescription.endsWith(`runbook-${name}`))!;
      expect({ name, rings: statesOf(alarm, minutes, () => alarm.Threshold).includes('alarm') }).toEqual({
        name,
        rings: true,
      });
    }
  });

  test('keeps the oldest task’s alarm until a tick reports again', () => {
    const [alarm] = alarmsOf(synthesize({ schedule: Schedule.rate(Duration.hours(1)) }).template()).filter(
      ({ AlarmDescription }) => AlarmDescription.endsWith('oldest-ready-task'),
    );
    const states = statesOf(alarm!, 60, (tick) => (tick < 2 ? alarm!.Threshold : 0));

    // Two hours of five minutes each, the first tick at the very beginning.
    expect(states.slice(0, 24)).toEqual(Array.from({ length: 24 }, () => 'alarm'));
    expect(states[24]).toBe('ok');
  });
});

/** As CloudWatch bills them. */
function metricsOf(template: Template): number {
  const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(
    ({ Properties }) => Properties as { readonly Metrics?: readonly { readonly MetricStat?: unknown }[] },
  );
  return alarms.reduce(
    (sum, { Metrics }) => sum + (Metrics?.filter(({ MetricStat }) => MetricStat !== undefined).length ?? 1),
    0,
  );
}

function alarmsOf(template: Template): Alarm[] {
  return Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(({ Properties }) => Properties as Alarm);
}

/** The alarm's state after each period, four ticks long, as CloudWatch judges it with nothing but the last periods to go by. */
function statesOf(alarm: Alarm, minutesPerTick: number, valueOf: (tick: number) => number): ('ok' | 'alarm')[] {
  const ticks = Math.max(4, Math.ceil(30 / minutesPerTick));
  const periodMinutes = alarm.Period / 60;
  const reports = new Map<number, number>();
  for (let tick = 0; tick < ticks; tick++)
    reports.set(Math.floor((tick * minutesPerTick) / periodMinutes), valueOf(tick));
  const states: ('ok' | 'alarm')[] = [];
  for (let period = 0; period * periodMinutes < ticks * minutesPerTick; period++) {
    const window = Array.from({ length: alarm.EvaluationPeriods }, (_, back) => reports.get(period - back));
    if (alarm.TreatMissingData === 'ignore' && window.every((value) => value === undefined)) {
      states.push(states.at(-1) ?? 'ok');
      continue;
    }
    const isBreaching = (value: number | undefined): boolean =>
      value === undefined ? alarm.TreatMissingData === 'breaching' : value >= alarm.Threshold;
    states.push(window.filter(isBreaching).length >= alarm.DatapointsToAlarm ? 'alarm' : 'ok');
  }
  return states;
}
