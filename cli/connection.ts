/** The command's composition root: one client, and every store and client over it. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { probe } from '../local/engine/probe.ts';
import { schedulesOf } from '../shared/client/schedules-of.ts';
import { AuditStore } from '../shared/operate/audit/audit-store.ts';
import { EpochStore } from '../shared/operate/epoch/epoch-store.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import { createStores } from '../shared/client/stores.ts';
import { ConfigurationError, StoreUnavailableError, messageOf } from '../shared/core/errors.ts';
import type { Sender } from '../shared/dynamo/engine/send.ts';
import type { SkewGauge } from '../shared/core/lease/skew.ts';
import type { LeaseholdSettings } from '../shared/client/leasehold.ts';
import { Leasehold } from '../shared/client/leasehold.ts';
import type { WorkerClient } from '../shared/client/leasehold-of.ts';
import { Operations } from '../shared/operate/operations.ts';
import { Callbacks } from '../shared/tasks/durable/callbacks.ts';
import type { AnsweringStore } from '../shared/tasks/durable/journal-store.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import type { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import type { SessionStore } from '../shared/session/session-store.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../shared/tasks/queue/task-operator.ts';
import { DEFAULT_SHARDS } from '../shared/tasks/task/task.ts';
import type { QueueStore } from '../shared/tasks/task/queue-store.ts';
import type { ScheduleClient } from '../shared/tasks/schedule/schedule-client.ts';
import type { ScheduleStore } from '../shared/tasks/schedule/schedule.ts';
import { openTelemetry } from '../shared/tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../shared/tasks/tracing/task-spans.ts';
import type { ConnectOptions, GlobalOptions } from './settings.ts';

export interface CliConnection extends Disposable {
  readonly table: string;
  /** An SDK client, for operations outside the protocol. */
  readonly openClient: () => Promise<DynamoDBClient>;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  readonly leasehold: Leasehold;
  /** For a satellite's own rows. */
  readonly sender: Sender;
  readonly semaphores: SemaphoreClient;
  readonly schedules: ScheduleClient;
  readonly sessions: SessionStore;
  /** Read units of this connection so far. */
  readonly readUnits: () => number;
  /** Ends all requests of this connection. */
  readonly stopSending: () => void;
  /** The objects behind `leaseholdOf`. */
  clientOf(settings: Pick<LeaseholdSettings, 'queue' | 'shards' | 'payloads'>): WorkerClient;
  /** Clock bound: the largest difference between any two clocks. */
  readonly maxClockSkewMs: number;
  readonly audit: AuditStore;
  readonly epoch: EpochStore;
  /** Operator actions, each recorded; for tasks, see `QueueConnection`. */
  readonly operations: Operations;
  /** Answers callbacks of any queue. */
  readonly callbacks: Callbacks;
  queue(queue: string, shards: number): QueueConnection;
}

/** A queue and the shards of its workers. Tasks in other shards wait until a dispatcher's tick reads those shards. */
export interface QueueConnection {
  readonly queue: string;
  readonly shards: number;
  readonly store: AnsweringStore;
  readonly client: TaskClient;
  readonly operator: TaskOperator;
  readonly operations: Operations;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
}

const PROBE_TIMEOUT_MS = 3_000;

/** @throws ConfigurationError, StoreUnavailableError: before anything was sent for the command itself */
export async function connect(
  settings: GlobalOptions,
  runtime: Runtime,
  options: ConnectOptions = {},
): Promise<CliConnection> {
  const { table, endpoint, region, allowHttp, maxClockSkew } = settings;
  const meter = createMeter();
  const dynamo = connectDynamo({ endpoint, region, allowHttp }, runtime, meter, options);
  if (endpoint !== undefined) await ensureDynamo(endpoint);
  const { openClient, sender, gauge } = dynamo;
  if (dynamo.isSdkNeeded()) await ensureAccess(await openClient());
  const leasehold = new Leasehold({ sender, gauge, runtime }, { table, maxClockSkew }, dynamo);
  const stores = createStores(sender, { table, shards: DEFAULT_SHARDS });
  const audit = new AuditStore({ sender, runtime }, table);
  const operated = operatedBy(leasehold, { audit, store: stores.tasks, runtime });
  return {
    table,
    openClient,
    runtime,
    gauge,
    leasehold,
    audit,
    semaphores: operated.semaphores,
    schedules: operated.schedules,
    maxClockSkewMs: maxClockSkew,
    sessions: stores.sessions,
    readUnits: () => meter.readUnits,
    stopSending: () => sender.close(),
    clientOf: ({ queue, shards, payloads }) => ({
      foundation: { sender, gauge, runtime },
      settings: { table, maxClockSkew, queue, shards, payloads },
    }),
    epoch: new EpochStore({ sender, runtime }, table),
    sender,
    operations: new Operations(operated),
    callbacks: operated.callbacks,
    queue(queue, shards) {
      const ofItsShards = createStores(sender, { table, shards });
      const { tasks: store, queues, schedules } = ofItsShards;
      const ofQueue = new TaskOperator({ ...ofItsShards, runtime, gauge }, { queue, maxClockSkewMs: maxClockSkew });
      return {
        queue,
        shards,
        store,
        queues,
        schedules,
        client: new TaskClient({ store, runtime }, { queue, spans: new TaskSpans(openTelemetry) }),
        operator: ofQueue,
        operations: new Operations({ ...operated, operator: ofQueue }),
      };
    },
    [Symbol.dispose]() {
      dynamo.close();
    },
  };
}

/** Returns the ports of operator actions. @param store the store of the tasks that wait for callbacks */
export function operatedBy(
  leasehold: Leasehold,
  { audit, store, runtime }: { readonly audit: AuditStore; readonly store: AnsweringStore; readonly runtime: Runtime },
): ConstructorParameters<typeof Operations>[0] {
  const { tasks, operator, locks, semaphores, sessions } = leasehold;
  const callbacks = new Callbacks({ store, runtime });
  const schedules = schedulesOf(leasehold);
  return { audit, tasks, callbacks, operator, locks, semaphores, sessions, schedules, runtime };
}

/** The SDK would notice this only at the first request, after retries and with a long message. */
async function ensureAccess(client: DynamoDBClient): Promise<void> {
  try {
    await client.config.region();
  } catch (cause) {
    throw new ConfigurationError('no AWS region is known: pass --region, set AWS_REGION, or pass --endpoint', {
      cause,
    });
  }
  try {
    await client.config.credentials();
  } catch (cause) {
    throw new ConfigurationError(
      `no AWS credentials were found (${messageOf(cause)}): set AWS_PROFILE, or sign in with the AWS command line`,
      {
        cause,
      },
    );
  }
}

async function ensureDynamo(endpoint: string): Promise<void> {
  const answer = await probe(endpoint, PROBE_TIMEOUT_MS);
  if (answer.kind === 'silent')
    throw new StoreUnavailableError(`endpoint ${endpoint} did not answer (${answer.cause}): is it running?`, {
      applied: 'no',
    });
  if (answer.kind === 'stranger')
    throw new ConfigurationError(
      `endpoint ${endpoint} answered (${answer.found}), but not like DynamoDB: check host and port`,
    );
}
