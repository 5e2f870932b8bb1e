/** The stack that the deployment test deploys: ours, with short times, and a table for the tasks' own writes. */
import { App, CfnOutput, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Grant } from 'aws-cdk-lib/aws-iam';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { LeaseholdStack } from '../../infra/stack.ts';
import { DEADLINE_MARGIN_MS, QUEUE, SHARDS, STACK, WORKER_TIMEOUT_MS } from './settings.ts';

const app = new App({ context: featureFlags });
const revision = String(app.node.tryGetContext('revision') ?? '1');

const stack = new LeaseholdStack(app, STACK, {
  workers: {
    entry: 'test/deploy/tasks.ts',
    queue: QUEUE,
    production: false,
    maxWorkers: 4,
    tasksPerWorker: 30,
    concurrency: 4,
    // A worker that is only slow must not lose its session: the first batch is done by first attempts.
    sessionTtl: Duration.seconds(20),
    maxClockSkew: Duration.millis(500),
    workerTimeout: Duration.millis(WORKER_TIMEOUT_MS),
    deadlineMargin: Duration.millis(DEADLINE_MARGIN_MS),
    // A changed setting and changed code, as an upgrade has them.
    shards: SHARDS,
    lockDelay: Duration.seconds(Number(revision)),
    bundling: { define: { REVISION: JSON.stringify(revision) } },
  },
});
const effects = new Table(stack, 'Effects', {
  partitionKey: { name: 'id', type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: RemovalPolicy.DESTROY,
});
stack.workers.worker.function.addEnvironment('EFFECTS_TABLE', effects.tableName);
Grant.addToPrincipal({
  grantee: stack.workers,
  actions: ['dynamodb:UpdateItem'],
  resourceArns: [effects.tableArn],
});
new CfnOutput(stack, 'EffectsTableName', { value: effects.tableName });
