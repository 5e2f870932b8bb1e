/**
 * `leasehold`: the client for one table: sessions, locks,
 * elections, semaphores, wait groups, rate limits, and enqueueing.
 */
export { Leasehold, createLeasehold } from '../shared/client/leasehold.ts';
export { leaseholdOf } from '../shared/client/leasehold-of.ts';
export { schedulesOf } from '../shared/client/schedules-of.ts';
export type { LeaseholdOptions, SessionSettings } from '../shared/client/leasehold.ts';
export type { ConnectionOptions } from '../shared/dynamo/connect.ts';
export type { Duration } from '../shared/core/validate/duration.ts';
export type { When } from '../shared/core/validate/moment.ts';
export type { WaitOptions } from '../shared/core/wait/wait.ts';

export {
  ClockSkewError,
  ConfigurationError,
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  MismatchError,
  StoreUnavailableError,
} from '../shared/core/errors.ts';
export { InvalidInputError } from '../shared/tasks/task/control.ts';
export type { LossReason } from '../shared/core/errors.ts';

export type { Session } from '../shared/client/session.ts';
export type { SessionEvents, SessionHolder } from '../shared/session/keep-alive.ts';
export type { SessionClient } from '../shared/session/session-client.ts';
export type { SessionRecord } from '../shared/session/session-record.ts';

export { LockUnavailableError } from '../shared/coordination/lock/lock-record.ts';
export type { LockInfo, Refusal } from '../shared/coordination/lock/lock-record.ts';
export type { Lock, LockOptions } from '../shared/coordination/lock/lock.ts';
export type { HeldLocks } from '../shared/coordination/lock/several-locks.ts';
export type { LockAcquisition } from '../shared/coordination/lock/session-locks.ts';
export type { LockClient } from '../shared/coordination/lock/lock-client.ts';
export type { Verification } from '../shared/session/session-contender.ts';

export { Fence } from '../shared/core/lease/fence.ts';
export type { FenceStamp, Fencing } from '../shared/core/lease/fence.ts';
export { dynamoFence } from '../shared/dynamo/dynamo-fence.ts';
export type { DynamoFence } from '../shared/dynamo/dynamo-fence.ts';

export type { CampaignOptions, ElectionClient, Leader, Leadership } from '../shared/coordination/election/election.ts';

export { SemaphoreFullError } from '../shared/coordination/semaphore/semaphore-contender.ts';
export type { PermitAcquisition, PermitOptions, PermitWaitOptions } from '../shared/coordination/semaphore/acquire.ts';
export type { Permit } from '../shared/coordination/semaphore/permit.ts';
export type { ConcurrencyLimiter, LimiterOptions } from '../shared/coordination/semaphore/concurrency-limiter.ts';
export type { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
export type { SemaphoreState } from '../shared/coordination/semaphore/state.ts';

export type { AddOptions, WaitGroup } from '../shared/coordination/waitgroup/group.ts';
export type { WaitOutcome } from '../shared/coordination/waitgroup/wait-for-members.ts';

export type { RateLimiter, Take, TakeOptions } from '../shared/coordination/ratelimit/rate-limiter.ts';
export type { RateOptions } from '../shared/coordination/ratelimit/bucket.ts';

export type { TaskClient } from '../shared/client/task-client.ts';
export type { Enqueued, EnqueuedBatch } from '../shared/tasks/queue/task-client.ts';
export type { ResultOptions, TaskOutcome } from '../shared/tasks/queue/results.ts';
export type { BatchCounts, BatchRecord } from '../shared/tasks/task/batch.ts';
export type { BatchOptions } from '../shared/tasks/queue/batch-request.ts';
export type { Callbacks } from '../shared/tasks/durable/callbacks.ts';
export type { EnqueueOptions, TaskReference, TaskRequest } from '../shared/tasks/task/task-request.ts';
export type { Selection } from '../shared/tasks/queue/cancel-selection.ts';
export type { TaskOperator } from '../shared/tasks/queue/task-operator.ts';
export type { ScheduleClient } from '../shared/tasks/schedule/schedule-client.ts';
export { defineSchedule } from '../shared/tasks/schedule/declaration.ts';
export type { ScheduleOptions, TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
export { MISSED_POLICIES, OVERLAP_POLICIES } from '../shared/tasks/schedule/schedule.ts';
export type { ScheduleRecord } from '../shared/tasks/schedule/schedule.ts';
export { PRIORITIES } from '../shared/tasks/task/task.ts';
export type { Json, Priority, TaskRecord, TaskState } from '../shared/tasks/task/task.ts';
export type { UserWrite } from '../shared/tasks/task/task-store.ts';

/** Counts requests and capacity units: an `observer` of the client. */
export { createMeter } from '../shared/dynamo/engine/meter.ts';
export type { Meter } from '../shared/dynamo/engine/meter.ts';
export type { SendObserver } from '../shared/dynamo/engine/send.ts';
export { isPayloadOf } from '../shared/tasks/task/payload.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
