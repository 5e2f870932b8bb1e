/** The function that the table's stream invokes when a task is enqueued, and what lets it read that stream. */
import { Duration } from 'aws-cdk-lib';
import { Grant, Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, FilterCriteria, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { wakeSchedule } from '../functions/env.ts';
import { dispatchAccess } from './access.ts';
import { acknowledge } from './cdk-version.ts';
import { dispatcherEnvironment } from './dispatcher.ts';
import { HandlerFunction, handlerModule } from './handler-function.ts';
import type { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';

/** One look serves as many as were enqueued. */
const BATCH_SIZE = 1_000;
/** By then the schedule has been there. */
const MAX_RECORD_AGE = Duration.minutes(1);
/** Looking twice, a second apart; the rest is room for a slow store. */
const TIMEOUT = Duration.minutes(1);
const MEMORY_MB = 256;

export interface WakerProps {
  readonly settings: WorkerSettings;
  readonly table: CoordinationTable;
  readonly worker: NodejsFunction;
  readonly logRetention: RetentionDays;
  readonly production: boolean;
}

export class Waker extends Construct {
  readonly handler: HandlerFunction;

  /** @throws ConfigurationError when the table has no stream, or too many read it */
  constructor(scope: Construct, id: string, { settings, table, worker, logRetention, production }: WakerProps) {
    super(scope, id);
    const { queue } = settings;
    const stream = table.claimStream(queue);
    this.handler = new HandlerFunction(this, 'Handler', {
      entry: handlerModule('wake'),
      description: `Wakes workers of the queue ${queue} when a task is enqueued`,
      timeout: TIMEOUT,
      memorySize: MEMORY_MB,
      ...{ logRetention, production, tracing: settings.tracing },
      environment: dispatcherEnvironment(settings, table.tableName, worker.functionName),
    });
    table.grant(this.function, dispatchAccess(queue, wakeSchedule(queue)));
    Grant.addToPrincipal({
      grantee: this.function,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [worker.functionArn],
    });
    const mapping = new EventSourceMapping(this, 'Stream', {
      target: this.function,
      eventSourceArn: stream,
      startingPosition: StartingPosition.LATEST,
      batchSize: BATCH_SIZE,
      maxRecordAge: MAX_RECORD_AGE,
      retryAttempts: 2,
      filters: [insertedTasks(queue)],
    });
    acknowledge(mapping, {
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        'A record that could not be handled is a wake that did not come: the schedule finds the task within its minute.',
    });
    mapping.node.addDependency(this.allowReading(stream));
  }

  get function(): NodejsFunction {
    return this.handler.function;
  }

  private allowReading(stream: string): Policy {
    const policy = new Policy(this, 'ReadStream', {
      roles: [this.handler.role],
      statements: [
        new PolicyStatement({
          actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
          resources: [stream],
        }),
        new PolicyStatement({ actions: ['dynamodb:ListStreams'], resources: ['*'] }),
      ],
    });
    acknowledge(policy, {
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: 'Listing streams has no resource to name, and Lambda asks for it; it says their names and nothing else.',
    });
    return policy;
  }
}

/** Only what was inserted: tasks that come back are seen by the worker that had them. */
function insertedTasks(queue: string): Record<string, string> {
  const keys = { pk: { S: [{ prefix: `task#${queue}#` }] } };
  return FilterCriteria.filter({ eventName: ['INSERT'], dynamodb: { Keys: keys } });
}
