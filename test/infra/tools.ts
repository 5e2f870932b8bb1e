/** An operator's or an onlooker's clients, and everything that they can look at. */
import { AuditStore } from '../../shared/operate/audit/audit-store.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createQueueStore } from '../../shared/tasks/rows/dynamo-queue-store.ts';
import { createScheduleStore } from '../../shared/tasks/rows/dynamo-schedule-store.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { createTaskOperatorStore } from '../../shared/tasks/rows/task/dynamo-task-operator-store.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import { ScheduleClient } from '../../shared/tasks/schedule/schedule-client.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';

export const clientConfig = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

interface Place {
  readonly table: string;
  readonly queue: string;
  readonly shards: number;
}

export type Tools = ReturnType<typeof openTools>;

export function openTools(endpoint: string, { table, queue, shards }: Place) {
  const { sender, gauge, close } = connectDynamo({ endpoint, clientConfig }, systemRuntime);
  const runtime = systemRuntime;
  const ports = {
    runtime,
    gauge,
    tasks: createTaskStore(sender, { table, shards }),
    operations: createTaskOperatorStore(sender, { table, shards }),
    queues: createQueueStore(sender, table),
    schedules: createScheduleStore(sender, { table, shards }),
    sessions: createSessionStore(sender, table),
    semaphores: createSemaphoreStore(sender, table),
  };
  const leasehold = createLeasehold({ table, endpoint, clientConfig, queue, shards });
  return {
    queue,
    shards,
    ports,
    leasehold,
    operator: new TaskOperator(ports, { queue }),
    schedules: new ScheduleClient(ports, { queue }),
    semaphores: new SemaphoreClient(ports, { maxClockSkewMs: 1_000 }),
    audit: new AuditStore({ sender, runtime }, table),
    close() {
      leasehold.close();
      close();
    },
  };
}

export async function look({ queue, shards, ...eyes }: Tools): Promise<void> {
  await eyes.leasehold.tasks.get('any');
  await Array.fromAsync(eyes.operator.dead());
  await Array.fromAsync(eyes.operator.open({ shards }));
  await Array.fromAsync(eyes.schedules.list());
  await Array.fromAsync(eyes.leasehold.locks.list());
  await Array.fromAsync(eyes.leasehold.sessions.list());
  await Array.fromAsync(eyes.semaphores.list());
  await eyes.semaphores.get('any');
  await eyes.ports.queues.get(queue);
  await eyes.ports.tasks.page({ queue, priority: 'normal', shard: 0 }, { now: Date.now(), limit: 10 });
  await Array.fromAsync(eyes.audit.list());
}
