/** The stack of the evidence: `node proof/aws/stack.ts FOLDER NAME ACCOUNT REGION` writes its assembly, which the CDK deploys. */
import { App, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { AccountRootPrincipal, Grant, Role } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { CfnLogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import path from 'node:path';
import { ENV } from '../../functions/env.ts';
import { allowInvoking, HandlerFunction } from '../../infra/handler-function.ts';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import type { Outputs } from './settings.ts';
import {
  EFFECTS_VARIABLE,
  QUEUE,
  ROTATED_VARIABLE,
  SHARDS,
  STARTS_VARIABLE,
  STREAM_QUEUE,
  WORKER_TIMEOUT_SECONDS,
} from './settings.ts';

const [, , outdir = '', name = '', account = '', region = ''] = process.argv;
/** A whole CPU, because the probe should measure the service and not itself. */
const PROBE_MEMORY_MB = 1_769;
const WORKER_MEMORY_MB = 512;
const here = (file: string): string => path.join(import.meta.dirname, file);

const app = new App({ context: featureFlags, outdir });
const stack = new Stack(app, name, {
  description: 'Evidence for Leasehold: destroyed by the command that made it',
  // The CDK then refuses credentials of another account.
  env: { account, region },
});
const table = new CoordinationTable(stack, 'Table', { production: false });
const effects = new Table(stack, 'Effects', {
  partitionKey: { name: 'id', type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: RemovalPolicy.DESTROY,
});
const variables = { [ENV.table]: table.tableName, [EFFECTS_VARIABLE]: effects.tableName };

const workers = new TaskWorkers(stack, 'Workers', {
  entry: here('tasks.ts'),
  queue: QUEUE,
  table,
  shards: SHARDS,
  maxWorkers: 20,
  workerMemory: WORKER_MEMORY_MB,
  workerTimeout: Duration.seconds(WORKER_TIMEOUT_SECONDS),
  deadlineMargin: Duration.seconds(5),
  sessionTtl: Duration.seconds(15),
  environment: { [EFFECTS_VARIABLE]: effects.tableName },
  production: false,
  alarms: false,
  dashboard: false,
});
for (const logs of workers.node.findAll().filter((one) => one instanceof CfnLogGroup))
  logs.retentionInDays = RetentionDays.ONE_DAY;
allow(workers, effects.tableArn);

const starts = functionOf('Starts', { entry: 'start.ts', memory: WORKER_MEMORY_MB });
const probe = functionOf('Probe', { entry: 'probe.ts', memory: PROBE_MEMORY_MB });
const frozen = functionOf('Frozen', { entry: 'probe.ts', memory: WORKER_MEMORY_MB });
const reader = functionOf('StreamReader', { entry: 'stream-reader.ts', memory: 256 });

allowInvoking(probe.function, starts.function);
probe.function.addEnvironment(STARTS_VARIABLE, starts.function.functionName);
const rotated = new Role(stack, 'Rotated', { assumedBy: new AccountRootPrincipal() });
Grant.addToPrincipal({ grantee: rotated, actions: ['dynamodb:GetItem'], resourceArns: [table.table.tableArn] });
rotated.grantAssumeRole(probe.role);
probe.function.addEnvironment(ROTATED_VARIABLE, rotated.roleArn);

// The same mapping as the waker's, with a function that only notes when it was invoked.
const stream = table.streamArn() ?? '';
table.claimStream(stack);
const reading = Grant.addToPrincipal({
  grantee: reader.function,
  actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
  resourceArns: [stream],
});
const listing = Grant.addToPrincipal({
  grantee: reader.function,
  actions: ['dynamodb:ListStreams'],
  resourceArns: ['*'],
});
reading.combine(listing).applyBefore(
  new EventSourceMapping(stack, 'Stream', {
    target: reader.function,
    eventSourceArn: stream,
    startingPosition: StartingPosition.LATEST,
    batchSize: 1_000,
    filters: [
      FilterCriteria.filter({
        eventName: FilterRule.isEqual('INSERT') as unknown,
        dynamodb: { Keys: { pk: { S: FilterRule.beginsWith(`task#${STREAM_QUEUE}#`) as unknown } } },
      }),
    ],
  }),
);

const outputs: Outputs = {
  TableName: table.tableName,
  EffectsName: effects.tableName,
  ProbeName: probe.function.functionName,
  FrozenName: frozen.function.functionName,
};
for (const [id, value] of Object.entries<string>({ ...outputs })) new CfnOutput(stack, id, { value });
app.synth();

function functionOf(
  id: string,
  { entry, memory }: { readonly entry: string; readonly memory: number },
): HandlerFunction {
  const handler = new HandlerFunction(stack, id, {
    entry: here(entry),
    description: `Evidence: ${id}`,
    timeout: Duration.minutes(5),
    memorySize: memory,
    environment: variables,
    production: false,
    // All but the imitation of a worker bundle the SDK.
    bundling: entry === 'start.ts' ? undefined : { externalModules: [] },
  });
  allow(handler.function, effects.tableArn);
  allow(handler.function, table.table.tableArn, `${table.table.tableArn}/index/*`);
  return handler;
}

/** The two tables are of this stack alone and go with it. */
function allow(grantee: Parameters<typeof Grant.addToPrincipal>[0]['grantee'], ...resourceArns: string[]): void {
  const verbs = ['GetItem', 'PutItem', 'UpdateItem', 'Query', 'ConditionCheckItem'];
  Grant.addToPrincipal({ grantee, actions: verbs.map((verb) => `dynamodb:${verb}`), resourceArns });
}
