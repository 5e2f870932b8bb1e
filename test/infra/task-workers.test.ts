import { Match, Template } from 'aws-cdk-lib/assertions';
import { StreamViewType } from 'aws-cdk-lib/aws-dynamodb';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Tracing } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, test } from 'vitest';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { statementsOf } from './policy.ts';
import { ENTRY, newStack, synthesize } from './synthesize.ts';

interface Policy {
  readonly PolicyDocument: { readonly Statement: { readonly Action: unknown; readonly Condition?: unknown }[] };
}

function propertiesOf<Properties>(template: Template, type: string): Properties[] {
  return Object.values(template.findResources(type)).map((resource) => resource.Properties as Properties);
}

describe('the table', () => {
  test('takes a key and a stream of the customer, and gives every grantee the use of that key through DynamoDB only', () => {
    const stack = newStack();
    const encryptionKey = new Key(stack, 'Key', { enableKeyRotation: true });
    const table = new CoordinationTable(stack, 'Shared', { encryptionKey, stream: StreamViewType.NEW_AND_OLD_IMAGES });
    new TaskWorkers(stack, 'Media', { entry: ENTRY, table });
    const template = Template.fromStack(stack);

    template.hasResourceProperties('AWS::DynamoDB::Table', {
      SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: Match.anyValue() },
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
    });
    const keyStatements = propertiesOf<Policy>(template, 'AWS::IAM::Policy')
      .flatMap((policy) => policy.PolicyDocument.Statement)
      .filter(({ Action }) => [Action].flat().some((action) => String(action).startsWith('kms:')));
    expect(keyStatements).toHaveLength(3);
    const actions = ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'];
    for (const { Action, Condition } of keyStatements) {
      expect(Action).toEqual(actions);
      expect(JSON.stringify(Condition)).toContain('kms:ViaService');
    }
  });
});

describe('the functions', () => {
  test('trace only once they have the rights', () => {
    const functions = Object.values(
      synthesize({ tracing: Tracing.ACTIVE }).template().findResources('AWS::Lambda::Function'),
    );

    expect(functions.length).toBeGreaterThan(1);
    for (const made of functions) expect(made.DependsOn).toContainEqual(expect.stringMatching(/Tracing/));
  });

  test('get the names of tasks with separate metrics, and a list that is too long is refused', () => {
    synthesize({ timedNames: ['resize'] })
      .template()
      .hasResourceProperties('AWS::Lambda::Function', {
        Environment: { Variables: Match.objectLike({ LEASEHOLD_TIMED_NAMES: '["resize"]' }) },
      });
    expect(() => synthesize({ timedNames: Array.from({ length: 90 }, () => 'x'.repeat(20)) })).toThrow(
      'timedNames has 2071 characters as JSON: at most 2000 are allowed',
    );
  });
});

describe('continuation', () => {
  const mayInvoke = (template: Template): boolean => {
    const [role] = Object.keys(template.findResources('AWS::IAM::Role')).filter((id) => id.includes('WorkerHandler'));
    return statementsOf(template, role ?? '').some(({ Action }) => Action === 'lambda:InvokeFunction');
  };

  test.each([
    [{}, true],
    [{ continuation: false }, false],
    // Nothing would take up what a chain that has ended leaves.
    [{ scheduleEnabled: false }, false],
    [{ scheduleEnabled: false, continuation: true }, true],
  ])("with %j, a worker may invoke itself: %s; Lambda's guard against loops stays", (props, allowed) => {
    const template = synthesize(props).template();

    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { LEASEHOLD_CONTINUATION: allowed ? '1' : '0' } },
    });
    expect(mayInvoke(template)).toBe(allowed);
    expect(JSON.stringify(template.toJSON())).not.toContain('RecursiveLoop');
  });
});

describe('the properties of the construct', () => {
  test('metrics of the queue, with the dimensions that the handlers send', () => {
    const { workers, stack } = synthesize();
    const metric = workers.metric('TasksDead');

    expect(stack.resolve(metric.toMetricConfig().metricStat)).toMatchObject({
      namespace: 'Leasehold',
      metricName: 'TasksDead',
      statistic: 'Sum',
      dimensions: [
        { name: 'queue', value: 'media' },
        { name: 'service', value: 'leasehold' },
        { name: 'table', value: { Ref: expect.stringMatching(/^MediaTable/) as string } },
      ],
    });
  });

  test('a variable that is added later belongs to the code, never to us', () => {
    const { stack, workers } = synthesize();
    expect(() => workers.addEnvironment('LEASEHOLD_TABLE', 'other')).toThrow('environment sets LEASEHOLD_TABLE');
    workers.addEnvironment('BUCKET', 'mine');

    Template.fromStack(stack).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ BUCKET: 'mine', LEASEHOLD_QUEUE: 'media' }) },
    });
  });

  test("grants a bucket's rights to the workers' role", () => {
    const { workers } = synthesize();

    expect(workers.grantPrincipal).toBe(workers.worker.function.grantPrincipal);
  });
});
