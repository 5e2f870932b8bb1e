/** What the stack and the handlers must agree on, beyond sharing constants. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { METRIC } from '../../functions/metric-names.ts';
import { createTelemetry } from '../../functions/runtime.ts';
import { tableDefinition } from '../../shared/dynamo/table.ts';
import { synthesize } from './synthesize.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Metric {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
}

interface Alarm extends Metric {
  readonly AlarmDescription: string;
  readonly Metrics?: readonly { readonly MetricStat?: { readonly Metric: Metric } }[];
}

const { stack } = synthesize();
const template = Template.fromStack(stack);
const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')).map(
  ({ Properties }) => Properties as Alarm,
);
const watched = alarms
  .flatMap((alarm): Metric[] => [alarm, ...(alarm.Metrics ?? []).flatMap(({ MetricStat }) => MetricStat?.Metric ?? [])])
  .filter(({ Namespace }) => Namespace === 'Leasehold');

/** What the worker is told that its table is called: a reference to it. */
const tableOfHandlers = Object.values(template.findResources('AWS::Lambda::Function'))
  .map(
    ({ Properties }) => (Properties as { Environment: { Variables: Record<string, unknown> } }).Environment.Variables,
  )
  .map((variables) => variables[ENV.table])[0];

describe('alarms', () => {
  test('listen to the namespace and the exact dimensions that the handlers send', () => {
    // As text, which is all that a handler sees of what a template refers to.
    const { metrics } = createTelemetry({ table: JSON.stringify(tableOfHandlers), queue: 'media' });
    metrics.addMetric(METRIC.tasksDead, 'Count', 1);
    const sent = metrics.serializeMetrics();
    const { Namespace, Dimensions } = sent._aws.CloudWatchMetrics[0]!;

    expect(watched.length).toBeGreaterThan(5);
    for (const metric of watched) {
      expect(metric.Namespace).toBe(Namespace);
      expect(metric.Dimensions?.map(({ Name }) => Name).sort()).toEqual([...Dimensions[0]].sort());
      for (const { Name, Value } of metric.Dimensions ?? [])
        expect(sent[Name]).toBe(typeof Value === 'string' ? Value : JSON.stringify(Value));
    }
  });

  test.each(Object.entries(METRIC))('%s is sent by a handler', (key) => {
    const handlers = globSync('functions/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('metric-names.ts'));
    const sent = handlers.some((file) => readFileSync(path.join(root, file), 'utf8').includes(`METRIC.${key}`));

    expect(sent).toBe(true);
  });

  test.skipIf(!existsSync(path.join(root, 'docs/operating.md')))('link to runbooks that exist', () => {
    const headings = readFileSync(path.join(root, 'docs/operating.md'), 'utf8').matchAll(/^#+ (.+)$/gm);
    const anchors = new Set(
      Array.from(headings, ([, text = '']) =>
        text
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      ),
    );
    const linked = alarms.map(({ AlarmDescription }) => AlarmDescription.split('docs/operating.md#')[1] ?? '');

    expect(linked.filter((anchor) => !anchors.has(anchor))).toEqual([]);
  });
});

describe('the table', () => {
  test('equals the table that laptops and tests create', () => {
    const made = tableDefinition('leases');
    const [deployed] = Object.values(template.findResources('AWS::DynamoDB::Table')).map(
      ({ Properties }) => Properties as typeof made,
    );

    expect(deployed).toMatchObject({
      BillingMode: made.BillingMode,
      KeySchema: made.KeySchema,
      GlobalSecondaryIndexes: made.GlobalSecondaryIndexes,
    });
    expect(new Set(deployed?.AttributeDefinitions)).toEqual(new Set(made.AttributeDefinitions));
  });
});
