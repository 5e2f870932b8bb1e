import { Duration, RemovalPolicy, TimeZone } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { StreamViewType } from 'aws-cdk-lib/aws-dynamodb';
import { Schedule } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Tracing } from 'aws-cdk-lib/aws-lambda';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { describe, expect, test } from 'vitest';
import { defined } from '../../shared/core/defined.ts';
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
  test('is on demand, recoverable, swept by TTL, and has both indexes with keys only', () => {
    synthesize()
      .template()
      .hasResourceProperties('AWS::DynamoDB::Table', {
        BillingMode: 'PAY_PER_REQUEST',
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: 'ready',
            KeySchema: [
              { AttributeName: 'readyKey', KeyType: 'HASH' },
              { AttributeName: 'readyAt', KeyType: 'RANGE' },
            ],
            Projection: { ProjectionType: 'KEYS_ONLY' },
          },
          {
            IndexName: 'directory',
            KeySchema: [
              { AttributeName: 'directoryKey', KeyType: 'HASH' },
              { AttributeName: 'directoryName', KeyType: 'RANGE' },
            ],
            Projection: { ProjectionType: 'KEYS_ONLY' },
          },
        ],
        AttributeDefinitions: Match.arrayWith([{ AttributeName: 'readyAt', AttributeType: 'N' }]),
      });
  });

  test('is retained and protected unless production is false', () => {
    synthesize()
      .template()
      .hasResource('AWS::DynamoDB::Table', {
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: { DeletionProtectionEnabled: true },
      });
    synthesize({ production: false })
      .template()
      .hasResource('AWS::DynamoDB::Table', {
        DeletionPolicy: 'Delete',
        Properties: { DeletionProtectionEnabled: false },
      });
  });

  test('of production is protected unless it is to be removed with its stack', () => {
    const stack = newStack();
    new CoordinationTable(stack, 'Removed', { removalPolicy: RemovalPolicy.DESTROY });

    Template.fromStack(stack).hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Delete',
      Properties: { DeletionProtectionEnabled: false },
    });
  });

  test('never has a replica: two regions would each accept a conditional write', () => {
    synthesize().template().resourceCountIs('AWS::DynamoDB::GlobalTable', 0);
  });

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

  test('may be shared by queues of different names', () => {
    const stack = newStack();
    const table = new CoordinationTable(stack, 'Shared');
    new TaskWorkers(stack, 'Media', { entry: ENTRY, table, queue: 'media' });
    new TaskWorkers(stack, 'Mail', { entry: ENTRY, table, queue: 'mail' });

    Template.fromStack(stack).resourceCountIs('AWS::DynamoDB::Table', 1);
  });
});

describe('the functions', () => {
  test('run on the current Node, on arm64, each with a log group that expires', () => {
    const template = synthesize().template();

    for (const Description of ['Runs tasks of the queue media', 'Invokes workers for the queue media'])
      template.hasResourceProperties('AWS::Lambda::Function', {
        Description,
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        LoggingConfig: { LogGroup: Match.anyValue() },
      });
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 30 });
    template.resourceCountIs('AWS::Logs::LogGroup', 3);
  });

  test('have X-Ray tracing and its rights only if it is on', () => {
    const traced = (tracing?: Tracing): string[] => {
      const template = synthesize(defined({ tracing })).template();
      const modes = propertiesOf<{ readonly TracingConfig?: { readonly Mode: string } }>(
        template,
        'AWS::Lambda::Function',
      ).flatMap(({ TracingConfig }) => TracingConfig?.Mode ?? []);
      expect(JSON.stringify(template.toJSON()).includes('xray:')).toBe(modes.length > 0);
      return modes;
    };

    expect(traced()).toEqual([]);
    expect(traced(Tracing.DISABLED)).toEqual([]);
    expect(traced(Tracing.ACTIVE)).toEqual(['Active', 'Active', 'Active']);
  });

  test('trace only once they have the rights', () => {
    const functions = Object.values(
      synthesize({ tracing: Tracing.ACTIVE }).template().findResources('AWS::Lambda::Function'),
    );

    expect(functions.length).toBeGreaterThan(1);
    for (const made of functions) expect(made.DependsOn).toContainEqual(expect.stringMatching(/Tracing/));
  });

  test.each([
    [true, 'Retain'],
    [false, 'Delete'],
  ])('of production (%s) have logs that go with the stack or stay: %s', (production, policy) => {
    const groups = Object.values(synthesize({ production }).template().findResources('AWS::Logs::LogGroup'));

    expect(new Set(groups.map(({ DeletionPolicy }) => DeletionPolicy as unknown))).toEqual(new Set([policy]));
  });

  test('write no line of Lambda for each of the many invocations of the waker', () => {
    const template = synthesize().template();

    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Starts workers when tasks are enqueued',
      LoggingConfig: { LogFormat: 'JSON', SystemLogLevel: 'WARN' },
    });
  });

  test('get the names of tasks with metrics of their own, and a list that is too long is refused', () => {
    synthesize({ timedNames: ['resize'] })
      .template()
      .hasResourceProperties('AWS::Lambda::Function', {
        Environment: { Variables: Match.objectLike({ LEASEHOLD_TIMED_NAMES: '["resize"]' }) },
      });
    expect(() => synthesize({ timedNames: Array.from({ length: 90 }, () => 'x'.repeat(20)) })).toThrow(
      'timedNames has 2071 characters as JSON: at most 2000 are allowed',
    );
  });

  test('get every setting that was given, by the names that the handlers read', () => {
    const template = synthesize({
      maxWorkers: 50,
      startWithin: Duration.seconds(5),
      concurrency: 4,
      shards: 16,
      workerMemory: 1024,
      sessionTtl: Duration.seconds(60),
      lockDelay: Duration.seconds(5),
      maxClockSkew: Duration.millis(500),
      workerTimeout: Duration.minutes(5),
      deadlineMargin: Duration.seconds(20),
      linger: Duration.seconds(30),
      environment: { BUCKET: 'thumbs' },
    }).template();

    template.hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 300,
      MemorySize: 1024,
      Environment: {
        Variables: {
          BUCKET: 'thumbs',
          LEASEHOLD_TABLE: { Ref: Match.stringLikeRegexp('^MediaTable') },
          LEASEHOLD_QUEUE: 'media',
          LEASEHOLD_SHARDS: '16',
          LEASEHOLD_MAX_WORKERS: '50',
          LEASEHOLD_CONCURRENCY: '4',
          LEASEHOLD_SESSION_TTL_MS: '60000',
          LEASEHOLD_HEARTBEAT_MS: '20000',
          LEASEHOLD_LOCK_DELAY_MS: '5000',
          LEASEHOLD_MAX_CLOCK_SKEW_MS: '500',
          LEASEHOLD_DEADLINE_MARGIN_MS: '20000',
          LEASEHOLD_LINGER_MS: '30000',
        },
      },
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: {
          LEASEHOLD_WORKER_FUNCTION: { Ref: Match.stringLikeRegexp('^MediaWorker') },
          LEASEHOLD_START_WITHIN_MS: '5000',
          LEASEHOLD_CONCURRENCY: '4',
          LEASEHOLD_MAX_WORKERS: '50',
          LEASEHOLD_SHARDS: '16',
          LEASEHOLD_MAX_CLOCK_SKEW_MS: '500',
        },
      },
    });
  });

  test('are retried where that is safe: never the worker, whose retry is the lease; the dispatcher, whose slot is taken once', () => {
    const template = synthesize().template();

    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: Match.stringLikeRegexp('^MediaWorker') },
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: Match.stringLikeRegexp('^MediaDispatcher') },
      MaximumRetryAttempts: 2,
      MaximumEventAgeInSeconds: 300,
      DestinationConfig: { OnFailure: { Destination: Match.anyValue() } },
    });
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

describe('the schedule', () => {
  const target = (props: Parameters<typeof synthesize>[0] = {}): Template => synthesize(props).template();

  test('ticks every minute by default, and says which slot each tick is', () => {
    target().hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: {
        Input: '{"schedule":"media","slot":"<aws.scheduler.scheduled-time>"}',
        RetryPolicy: { MaximumEventAgeInSeconds: 300, MaximumRetryAttempts: 5 },
        DeadLetterConfig: { Arn: Match.anyValue() },
      },
    });
  });

  test('takes a schedule of aws-events', () => {
    target({ schedule: Schedule.rate(Duration.minutes(5)) }).hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'rate(5 minutes)',
    });
  });

  test('takes a cron expression with a time zone', () => {
    target({
      schedule: ScheduleExpression.cron({ hour: '3', minute: '30', timeZone: TimeZone.EUROPE_BERLIN }),
    }).hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: 'cron(30 3 * * ? *)',
      ScheduleExpressionTimezone: 'Europe/Berlin',
      FlexibleTimeWindow: { Mode: 'OFF' },
    });
  });

  test('can be switched off with everything else in place', () => {
    target({ scheduleEnabled: false }).hasResourceProperties('AWS::Scheduler::Schedule', { State: 'DISABLED' });
  });

  test('acts under a role that only this account’s schedules may assume', () => {
    target().hasResourceProperties('AWS::IAM::Role', {
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Principal: { Service: 'scheduler.amazonaws.com' },
            Condition: {
              StringEquals: {
                'aws:SourceAccount': { Ref: 'AWS::AccountId' },
                'aws:SourceArn': { 'Fn::Join': ['', Match.arrayWith([':schedule-group/default'])] },
              },
            },
          },
        ],
      },
    });
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

  test('a variable that is added later is the code’s own, never one of ours', () => {
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
