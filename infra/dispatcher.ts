/** The dispatcher function, which invokes as many workers as the backlog needs; its schedule; and the dead-letter queue of both. */
import { Aws, Duration, Stack } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { ContextAttribute, Schedule, ScheduleTargetInput, TimeWindow } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ENV, schedulesText, variablesOf } from '../functions/env.ts';
import { dispatchAccess } from './access.ts';
import { acknowledge } from './cdk-version.ts';
import { HandlerFunction, WITHOUT_NAMES, allowInvoking, handlerModule } from './handler-function.ts';
import type { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';

/** A tick older than this is redundant, because each later tick has read the whole backlog. */
const MAX_TICK_AGE = Duration.minutes(5);
/** Counting and invoking takes a second; the rest is for a slow store. */
const TIMEOUT = Duration.minutes(1);
const MEMORY_MB = 256;

interface DispatcherProps {
  readonly settings: WorkerSettings;
  readonly expression: ScheduleExpression;
  readonly scheduleEnabled: boolean;
  readonly table: CoordinationTable;
  readonly worker: IFunction;
  readonly production: boolean;
}

export class Dispatcher extends Construct {
  readonly handler: HandlerFunction;
  readonly schedule: Schedule;
  /** Ticks that could not be delivered, and ticks that failed on every retry. */
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: DispatcherProps) {
    super(scope, id);
    const { settings, table, worker } = props;
    this.handler = new HandlerFunction(this, 'Handler', {
      entry: handlerModule('dispatch'),
      bundling: WITHOUT_NAMES,
      description: `Invokes workers for the queue ${settings.queue}`,
      timeout: TIMEOUT,
      memorySize: MEMORY_MB,
      production: props.production,
      tracing: settings.tracing,
      environment: dispatcherEnvironment(settings, table.tableName, worker.functionName),
    });
    table.grant(this.function, dispatchAccess(settings.queue));
    allowInvoking(this.function, worker);
    this.deadLetters = this.createDeadLetters();
    // Dispatching twice is harmless: a tick is taken once, and the workers' permits are counted.
    this.function.configureAsyncInvoke({
      retryAttempts: 2,
      maxEventAge: MAX_TICK_AGE,
      onFailure: new SqsDestination(this.deadLetters),
    });
    this.schedule = this.createSchedule(props);
  }

  get function(): NodejsFunction {
    return this.handler.function;
  }

  private createDeadLetters(): Queue {
    const queue = new Queue(this, 'DeadLetters', {
      enforceSSL: true,
      encryption: QueueEncryption.SQS_MANAGED,
      retentionPeriod: Duration.days(14),
    });
    for (const id of ['AwsSolutions-SQS3', 'Serverless::Serverless-SQSRedrivePolicy'])
      acknowledge(queue, {
        id,
        reason: 'This is the dead-letter queue: an alarm watches it, and nothing consumes it that could fail.',
      });
    return queue;
  }

  private createSchedule({ settings, expression, scheduleEnabled }: DispatcherProps): Schedule {
    return new Schedule(this, 'Schedule', {
      description: `Wakes the dispatcher of the queue ${settings.queue}`,
      schedule: expression,
      enabled: scheduleEnabled,
      timeWindow: TimeWindow.off(),
      target: new LambdaInvoke(this.function, {
        // The tick's intended time, not its arrival: a duplicate tick has the same.
        input: ScheduleTargetInput.fromObject({
          schedule: settings.queue,
          scheduledTime: ContextAttribute.scheduledTime,
        }),
        maxEventAge: MAX_TICK_AGE,
        retryAttempts: 5,
        deadLetterQueue: this.deadLetters,
        // The target would add every version and alias by a wildcard; the policy below is narrower.
        role: this.createScheduleRole().withoutPolicyUpdates(),
      }),
    });
  }

  /** Only schedules in this account's default group can assume this role, so no other customer can make the scheduler act for us. */
  private createScheduleRole(): Role {
    const group = Stack.of(this).formatArn({
      service: 'scheduler',
      resource: 'schedule-group',
      resourceName: 'default',
    });
    const role = new Role(this, 'ScheduleRole', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID, 'aws:SourceArn': group } },
      }),
    });
    allowInvoking(role, this.function);
    Grant.addToPrincipal({ grantee: role, actions: ['sqs:SendMessage'], resourceArns: [this.deadLetters.queueArn] });
    return role;
  }
}

/** The variables that the handler reads with `parseDispatchEnv`. */
export function dispatcherEnvironment(
  settings: WorkerSettings,
  tableName: string,
  workerFunction: string,
): Record<string, string> {
  const { queue, maxWorkers, startWithinMs, concurrency, shards, maxClockSkewMs, schedules, listFinished } = settings;
  const numbers = { maxWorkers, startWithinMs, concurrency, shards, maxClockSkewMs };
  return {
    ...variablesOf({ table: tableName, queue, workerFunction, ...numbers }),
    ...(listFinished === undefined ? {} : variablesOf({ listFinished: Number(listFinished) })),
    ...(schedules.length === 0 ? {} : { [ENV.schedules]: schedulesText(schedules) }),
  };
}
