/** The tables of `docs/operating.md` about functions, alarms and metrics are generated from the template and the code. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { METRICS } from '../../infra/metrics.ts';
import { expectMade, markdownTable } from '../support/made-blocks.ts';
import { synthesize } from './synthesize.ts';

interface AlarmProperties {
  readonly AlarmDescription: string;
  readonly Threshold: number;
  readonly DatapointsToAlarm: number;
  readonly EvaluationPeriods: number;
  readonly MetricName?: string;
  readonly Period?: number;
  readonly Metrics?: readonly { readonly Label?: string; readonly MetricStat?: { readonly Period: number } }[];
}

interface FunctionProperties {
  readonly Description: string;
  readonly MemorySize: number;
  readonly Timeout: number;
}

const template = synthesize().template();
const isOfWaker = ({ AlarmDescription }: AlarmProperties): boolean => AlarmDescription.startsWith('Waker');
const alarms = propertiesOf<AlarmProperties>('AWS::CloudWatch::Alarm').sort(
  (one, other) => Number(isOfWaker(one)) - Number(isOfWaker(other)),
);
const functions = propertiesOf<FunctionProperties>('AWS::Lambda::Function').filter(
  ({ Description }) => typeof Description === 'string',
);

test('docs/operating.md says what the stack has', () =>
  expectMade('docs/operating.md', {
    deployment: () => {
      const ofWaker = alarms.filter(isOfWaker).length;
      return [
        `A deployment has no server. It consists of a table, a schedule, ${alarms.length - ofWaker} alarms for each queue and ${ofWaker} for the waker, and these functions; one waker serves all queues of the table:`,
        '',
        markdownTable(
          ['function', 'memory', 'time limit'],
          functions.map(({ Description, MemorySize, Timeout }) => [
            Description.replace('the queue media', 'a queue'),
            `${MemorySize} MB`,
            seconds(Timeout),
          ]),
        ),
        '',
      ].join('\n');
    },
    alarms: () =>
      markdownTable(
        ['alarm', 'fires when', 'default threshold, and in how many periods of 5 min'],
        alarms.map((alarm) => {
          const [, what = '', runbook = ''] = /: (.+)\. Runbook: .*(#runbook-.+)$/.exec(alarm.AlarmDescription) ?? [];
          return [`[${idOf(runbook)}](${runbook})`, what.replace(/^it /, 'the waker '), evidenceOf(alarm)];
        }),
      ),
    metrics: () =>
      markdownTable(
        ['metric', 'meaning, and the statistic if it is not the sum'],
        Object.entries(METRICS).map(([name, [meaning, statistic]]) => [
          `\`${name}\``,
          statistic === 'Sum' ? meaning : `${meaning} (${statistic})`,
        ]),
      ),
  }));

test('each alarm leads to its runbook there, and each runbook has its alarm', () => {
  const guide = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const runbooks = [...guide.matchAll(/^## Runbook: (\S+)$/gm)].map(([, name]) => name);

  expect(alarms.map(({ AlarmDescription }) => AlarmDescription.split('#runbook-')[1]).sort()).toEqual(runbooks.sort());
});

function propertiesOf<T>(type: string): T[] {
  return Object.values(template.findResources(type)).map(({ Properties }) => Properties as T);
}

/** `#runbook-dead-tasks` is of the alarm `DeadTasks`. */
function idOf(runbook: string): string {
  return runbook.replace('#runbook', '').replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function evidenceOf({ Threshold, MetricName = '', Metrics = [], ...alarm }: AlarmProperties): string {
  const isMs = /Ms$|^IteratorAge$/.test(MetricName);
  const isPercent = Metrics.some(({ Label = '' }) => Label.endsWith('%'));
  const value = isMs ? seconds(Threshold / 1000) : `${Threshold}${isPercent ? ' %' : ''}`;
  const period = alarm.Period ?? Metrics.find(({ MetricStat }) => MetricStat !== undefined)?.MetricStat?.Period ?? NaN;
  expect(period).toBe(5 * 60);
  return `${value} in ${alarm.DatapointsToAlarm} of ${alarm.EvaluationPeriods}`;
}

function seconds(value: number): string {
  return value % 60 === 0 ? `${value / 60} min` : `${value} s`;
}
