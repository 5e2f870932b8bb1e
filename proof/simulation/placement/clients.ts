/** The clients of one process, over stores that the rules observe. */
import { ElectionClient } from '../../../shared/coordination/election/election.ts';
import { LockClient } from '../../../shared/coordination/lock/lock-client.ts';
import { RateLimiter } from '../../../shared/coordination/ratelimit/rate-limiter.ts';
import { SemaphoreClient } from '../../../shared/coordination/semaphore/semaphore-client.ts';
import { WaitGroup } from '../../../shared/coordination/waitgroup/group.ts';
import { Session } from '../../../shared/client/session.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { WaiterQueue } from '../../../shared/core/wait/waiter-queue.ts';
import { SessionClient } from '../../../shared/session/session-client.ts';
import { TaskClient } from '../../../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../../../shared/tasks/queue/task-operator.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import { BUCKET } from '../invariants/ratelimits.ts';
import { TABLE_NAME } from '../rows.ts';
import { USERS_SESSION } from '../workloads/linger.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { QUEUE, openSession, storesAt } from '../workloads/worker-place.ts';
import { PROFILE } from './stage.ts';

export interface Clients {
  readonly tasks: TaskClient;
  readonly operator: TaskOperator;
  readonly schedules: ScheduleClient;
  readonly locks: LockClient;
  readonly elections: ElectionClient;
  readonly semaphores: SemaphoreClient;
  readonly sessions: SessionClient;
  readonly rates: RateLimiter;
  readonly group: (name: string) => Promise<WaitGroup>;
}

export function clientsAt(place: WorkerPlace): Clients {
  const { runtime } = place.process;
  const { maxClockSkewMs } = PROFILE;
  const stores = storesAt(place);
  const ports = { ...stores, runtime, gauge: noSkewGauge };
  const locks = new LockClient(ports, maxClockSkewMs);
  const sessions = new SessionClient(ports, maxClockSkewMs);
  const { name, ...rate } = BUCKET;
  return {
    tasks: new TaskClient({ store: stores.tasks, runtime }, { queue: QUEUE }),
    operator: new TaskOperator(ports, { queue: QUEUE, maxClockSkewMs }),
    schedules: new ScheduleClient(ports, { queue: QUEUE }),
    locks,
    elections: new ElectionClient(locks),
    semaphores: new SemaphoreClient(ports, { maxClockSkewMs }),
    sessions,
    rates: new RateLimiter(name, rate, ports, { maxClockSkewMs }),
    group: (group) => WaitGroup.open(group, ports, { maxClockSkewMs }),
  };
}

export async function sessionAt(place: WorkerPlace): Promise<Session> {
  const { runtime } = place.process;
  const stores = storesAt(place);
  const holder = await openSession(place, stores.sessions, { name: USERS_SESSION });
  const { clock } = runtime;
  const ports = { ...stores, runtime, gauge: noSkewGauge, table: TABLE_NAME };
  return new Session(holder, { ...ports, turns: new WaiterQueue(clock), line: new WaiterQueue(clock) });
}
