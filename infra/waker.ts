/**
 * The function that a table's stream invokes when tasks are enqueued, and its permission to read the stream.
 * All queues of the table in a stack share one waker, because every reader of a stream
 * costs money and DynamoDB allows two. A queue in a different stack than its
 * table has its waker in its own stack, because the table's stack cannot name functions of stacks that depend on it.
 */
import { Annotations, Duration, Lazy, Stack, Token } from 'aws-cdk-lib';
import { Policy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { CfnEventSourceMapping, IFunction, Tracing } from 'aws-cdk-lib/aws-lambda';
import { EventSourceMapping, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import type { QueueAddress } from '../functions/metric-names.ts';
import type { WakeSettings } from '../functions/env.ts';
import { ENV, withoutDefaults } from '../functions/env.ts';
import { ConfigurationError } from '../shared/core/errors.ts';
import { wakeAccess } from './access.ts';
import { acknowledge } from './cdk-version.ts';
import { HandlerFunction, WITHOUT_NAMES, allowInvoking, handlerModule } from './handler-function.ts';
import type { CoordinationTable } from './table.ts';
import type { WorkerSettings } from './validate.ts';
import { WakerAlarms } from './waker-alarms.ts';

/** One poll serves all enqueued tasks. */
const BATCH_SIZE = 1_000;
/** After this time, a tick has already handled the tasks. */
const MAX_RECORD_AGE = Duration.minutes(1);
/** Polling takes a fraction of a second; the rest is for a slow store. */
const TIMEOUT = Duration.seconds(30);
const MEMORY_MB = 256;
/** Maximum size of the queues' settings in its environment. Lambda's limit is 4 KB; the rest is for the other variables. */
const WAKE_QUEUES_LIMIT_CHARACTERS = 3_500;
/** Lambda's limit on the name of a function, which is not known before the deployment. */
const FUNCTION_NAME_CHARACTERS = 64;

interface WakerProps {
  readonly table: CoordinationTable;
  readonly stream: string;
  readonly production: boolean;
  readonly tracing: Tracing | undefined;
}

export class Waker extends Construct {
  /**
   * Returns the table's waker in the stack of `scope`; undefined, with a warning, if the table has no stream.
   * @throws ConfigurationError when it was explicitly requested but the table has no stream, or when too many stacks read the stream
   */
  static ofTable(
    scope: Construct,
    table: CoordinationTable,
    { isAskedFor, ...props }: Omit<WakerProps, 'table' | 'stream'> & { readonly isAskedFor: boolean },
  ): Waker | undefined {
    const stream = table.streamArn();
    if (stream === undefined) {
      const problem =
        'the table has no stream, so tasks wait for the next tick: switch it on (KEYS_ONLY is enough) and name it';
      if (isAskedFor) throw new ConfigurationError(`wakeOnEnqueue: ${problem}`);
      Annotations.of(scope).addWarningV2('leasehold:noStream', `${problem}, or set wakeOnEnqueue: false`);
      return undefined;
    }
    const stack = Stack.of(scope);
    const isBeside = Stack.of(table) === stack;
    const [parent, id] = isBeside ? [table, 'Waker'] : [stack, `LeaseholdWaker${table.node.addr.slice(-8)}`];
    const found = parent.node.tryFindChild(id) as Waker | undefined;
    return found ?? new Waker(parent, id, { ...props, table, stream });
  }

  readonly handler: HandlerFunction;
  #alarms: WakerAlarms | undefined;
  readonly #table: CoordinationTable;
  readonly #queues: WakeSettings[] = [];

  /** @throws ConfigurationError when too many stacks read the stream */
  constructor(scope: Construct, id: string, { table, stream, production, tracing }: WakerProps) {
    super(scope, id);
    table.claimStream(Stack.of(this));
    this.#table = table;
    this.handler = new HandlerFunction(this, 'Handler', {
      entry: handlerModule('wake'),
      bundling: WITHOUT_NAMES,
      description: 'Starts workers when tasks are enqueued',
      timeout: TIMEOUT,
      memorySize: MEMORY_MB,
      production,
      tracing,
      // A busy queue wakes it four times a second.
      omitsInvocationLines: true,
      environment: {
        [ENV.table]: table.tableName,
        [ENV.wakeQueues]: Lazy.string({ produce: () => Stack.of(this).toJsonString(this.#queues) }),
      },
    });
    const mapping = new EventSourceMapping(this, 'Stream', {
      target: this.function,
      eventSourceArn: stream,
      startingPosition: StartingPosition.LATEST,
      batchSize: BATCH_SIZE,
      maxRecordAge: MAX_RECORD_AGE,
      retryAttempts: 2,
    });
    (mapping.node.defaultChild as CfnEventSourceMapping).filterCriteria = Lazy.any({
      produce: () => ({ filters: [{ pattern: insertedTasks(this.#queues.map(({ queue }) => queue)) }] }),
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

  /**
   * Wakes this queue, too.
   * @throws ConfigurationError when the settings of all its queues do not fit into the variables of one function
   */
  serve(settings: WorkerSettings, worker: IFunction): void {
    this.#queues.push(wakeSettings(settings, worker.functionName));
    const characters = JSON.stringify(this.#queues, (_, value: unknown) =>
      Token.isUnresolved(value) ? '_'.repeat(FUNCTION_NAME_CHARACTERS) : value,
    ).length;
    if (characters > WAKE_QUEUES_LIMIT_CHARACTERS)
      throw new ConfigurationError(
        `wakeOnEnqueue of queue ${settings.queue}: the settings of ${this.#queues.length} ` +
          `queues take ${characters} characters of the waker's ` +
          `variables, and ${WAKE_QUEUES_LIMIT_CHARACTERS} are free; set wakeOnEnqueue: false ` +
          `where a minute's wait does not matter, or use another table`,
      );
    this.#table.grant(this.function, wakeAccess(settings.queue));
    allowInvoking(this.function, worker);
  }

  /** Adds alarms for this queue's wakes. The first queue determines the URL of the runbooks. */
  watch(
    queue: QueueAddress,
    { runbooks, topic }: { readonly runbooks: string; readonly topic: ITopic | undefined },
  ): void {
    this.#alarms ??= new WakerAlarms(this, 'Alarms', { waker: this.function, runbooks });
    this.#alarms.add(queue, topic);
  }

  /** Empty if no queue requested them. */
  get alarms(): readonly Alarm[] {
    return this.#alarms?.all ?? [];
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

/** Returns the settings that the handler's `parseWakeEnv` reads; omits defaults, because Lambda allows 4 KB. */
export function wakeSettings(settings: WorkerSettings, workerFunction: string): WakeSettings {
  const { queue, maxWorkers, startWithinMs, concurrency, shards, maxClockSkewMs } = settings;
  const numbers = { maxWorkers, startWithinMs, concurrency, shards, maxClockSkewMs };
  return { queue, workerFunction, ...withoutDefaults(numbers) };
}

/**
 * Only insertions, of tasks and of what arrives for a durable task. The worker that had a task already knows that it has become ready
 * again.
 */
function insertedTasks(queues: readonly string[]): string {
  const kinds = ['task', 'arrival'];
  const keys = { pk: { S: queues.flatMap((queue) => kinds.map((kind) => ({ prefix: `${kind}#${queue}#` }))) } };
  return JSON.stringify({ eventName: ['INSERT'], dynamodb: { Keys: keys } });
}
