/** The command's composition root: one client, and every store and client over it. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { probe } from '../local/engine/probe.ts';
import { AuditStore } from '../shared/dynamo/audit-store.ts';
import { connectDynamo, ensureEndpoint } from '../shared/dynamo/connect.ts';
import { createQueueStore } from '../shared/dynamo/queue-store.ts';
import { createScheduleStore } from '../shared/dynamo/schedule-store.ts';
import { createSemaphoreStore } from '../shared/dynamo/semaphore-store.ts';
import { createSessionStore } from '../shared/dynamo/session-store.ts';
import { createTaskOperatorStore } from '../shared/dynamo/task-operator-store.ts';
import { createTaskStore } from '../shared/dynamo/task-store.ts';
import { ConfigurationError, StoreUnavailableError, messageOf } from '../shared/errors.ts';
import type { SkewGauge } from '../shared/lease/skew.ts';
import { Leasehold } from '../shared/leasehold.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import { SemaphoreClient } from '../shared/semaphore/client.ts';
import type { SessionStore } from '../shared/session/store.ts';
import { TaskClient } from '../shared/task/client.ts';
import { TaskOperator } from '../shared/task/operator.ts';
import type { QueueStore } from '../shared/task/queue-store.ts';
import type { ScheduleStore } from '../shared/task/schedule-store.ts';
import type { TaskStore } from '../shared/task/store.ts';
import type { GlobalOptions } from './context.ts';

export interface Connection extends Disposable {
  readonly table: string;
  readonly client: DynamoDBClient;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  readonly leasehold: Leasehold;
  readonly semaphores: SemaphoreClient;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  queue(queue: string, shards: number): QueueConnection;
}

/** A queue as its workers have it: tasks in other shards than theirs wait until a tick of its dispatcher comes by there. */
export interface QueueConnection {
  readonly queue: string;
  readonly shards: number;
  readonly store: TaskStore;
  readonly client: TaskClient;
  readonly operator: TaskOperator;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
}

const PROBE_TIMEOUT_MS = 3_000;

/** @throws ConfigurationError, StoreUnavailableError: before anything was sent for the command itself */
export async function connect(settings: GlobalOptions, runtime: Runtime): Promise<Connection> {
  const { table, endpoint, region, maxClockSkew } = settings;
  if (endpoint !== undefined) await ensureDynamo(endpoint);
  const dynamo = connectDynamo({ endpoint, region }, runtime);
  const { client, sender, gauge } = dynamo;
  await ensureAccess(client);
  const sessions = createSessionStore(sender, table);
  const ports = { runtime, gauge, sessions, semaphores: createSemaphoreStore(sender, table) };
  return {
    ...{ table, client, runtime, gauge, sessions },
    leasehold: new Leasehold({ sender, gauge, runtime }, { table, maxClockSkew }, dynamo),
    audit: new AuditStore({ sender, runtime }, table),
    semaphores: new SemaphoreClient(ports, { maxClockSkewMs: maxClockSkew }),
    queue(queue, shards) {
      const store = createTaskStore(sender, { table, shards });
      const queues = createQueueStore(sender, table);
      const operations = createTaskOperatorStore(sender, { table, shards });
      return {
        ...{ queue, shards, store, queues, schedules: createScheduleStore(sender, table) },
        client: new TaskClient({ store, runtime }, { queue }),
        operator: new TaskOperator(
          { ...ports, tasks: store, operations, queues },
          { queue, maxClockSkewMs: maxClockSkew },
        ),
      };
    },
    [Symbol.dispose]() {
      client.destroy();
    },
  };
}

/** The SDK finds out with the first request, tries that for a while, and then says it at length. */
async function ensureAccess(client: DynamoDBClient): Promise<void> {
  try {
    await client.config.region();
  } catch (cause) {
    throw new ConfigurationError('no AWS region is known: give --region, set AWS_REGION, or name an --endpoint', {
      cause,
    });
  }
  try {
    await client.config.credentials();
  } catch (cause) {
    throw new ConfigurationError(`no AWS credentials were found (${messageOf(cause)}): set AWS_PROFILE or the like`, {
      cause,
    });
  }
}

async function ensureDynamo(endpoint: string): Promise<void> {
  ensureEndpoint(endpoint);
  const answer = await probe(endpoint, PROBE_TIMEOUT_MS);
  if (answer.kind === 'silent')
    throw new StoreUnavailableError(`endpoint ${endpoint} did not answer (${answer.cause}): is it running?`, {
      applied: 'no',
    });
  if (answer.kind === 'stranger')
    throw new ConfigurationError(
      `endpoint ${endpoint} answered (${answer.found}), but not as DynamoDB does: check host and port`,
    );
}
