/**
 * `leasehold`: one table, and all that stands on it: sessions, locks,
 * elections, semaphores, wait groups, rate limits, the queue from outside.
 */
export { Leasehold, createLeasehold } from '../shared/leasehold.ts';
export type { LeaseholdOptions, SessionSettings } from '../shared/leasehold.ts';
export type { ConnectionOptions, DriverName } from '../shared/dynamo/connect.ts';
export type { Duration, DurationText } from '../shared/validate/duration.ts';
export type { WriteLimits } from '../shared/lease/outcome.ts';
export type { SessionTiming } from '../shared/lease/timing.ts';
export type { WaitOptions } from '../shared/wait/wait.ts';

export {
  ClockSkewError,
  ConfigurationError,
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  MismatchError,
  StoreUnavailableError,
} from '../shared/errors.ts';
export type { LossReason } from '../shared/errors.ts';

export type { Session } from '../shared/session.ts';
export type { SessionEvents, SessionHolder } from '../shared/session/keep-alive.ts';
export type { DestroyResult, SessionClient } from '../shared/session/client.ts';
export type { Check, CheckOptions, HealthClient } from '../shared/remote/health-client.ts';
export type { CheckRecord } from '../shared/session/health.ts';
export type {
  InvalidSession,
  InvalidationReason,
  LiveSession,
  SessionBehavior as SessionBehaviour,
  SessionRecord,
} from '../shared/session/record.ts';

export { LockUnavailableError } from '../shared/lock/record.ts';
export type { Content, Encoding, Flags, ForcedRelease, Holder, LockInfo, Refusal } from '../shared/lock/record.ts';
export type { ContentOptions, Lock, LockOptions } from '../shared/lock/lock.ts';
export type { HeldLocks } from '../shared/lock/held-locks.ts';
export type { Acquisition } from '../shared/lock/session-locks.ts';
export type { AcquisitionOfSeveral } from '../shared/lock/several-locks.ts';
export type {
  DeleteResult,
  ForceOptions,
  ForceResult,
  LockClient,
  PutOptions,
  PutResult,
  WatchOptions,
  Watched,
} from '../shared/lock/client.ts';
export type { Verification } from '../shared/session/verify.ts';

export { Fence, compareStamps } from '../shared/lease/fence.ts';
export type { FenceStamp, Fencing } from '../shared/lease/fence.ts';
export { FENCE_ATTRIBUTES, dynamoFence } from '../shared/dynamo/fence.ts';
export type { DynamoFence } from '../shared/dynamo/fence.ts';

export type {
  Campaign,
  CampaignOptions,
  ElectionClient,
  Leader,
  Leadership,
  Reign,
} from '../shared/election/election.ts';

export { SemaphoreFullError } from '../shared/semaphore/contender.ts';
export type { Full } from '../shared/semaphore/contender.ts';
export type {
  Acquisition as PermitAcquisition,
  PermitOptions,
  PermitWaitOptions,
} from '../shared/semaphore/acquire.ts';
export type { Permit } from '../shared/semaphore/permit.ts';
export type { ConcurrencyLimiter, LimiterOptions } from '../shared/semaphore/limiter.ts';
export type { EvictionOptions, SemaphoreClient } from '../shared/semaphore/client.ts';
export type { Eviction, HolderRecord, PermitRecord, Ticket } from '../shared/semaphore/semaphore.ts';
export type { HolderState, SemaphoreState } from '../shared/semaphore/state.ts';

export type { AddOptions, WaitGroup } from '../shared/waitgroup/group.ts';
export type { WaitOutcome } from '../shared/waitgroup/wait.ts';
export type { GroupKey, GroupRecord, GroupState, MemberRecord, MemberState } from '../shared/waitgroup/waitgroup.ts';

export type { RateLimiter, Take, TakeOptions } from '../shared/ratelimit/limiter.ts';
export type { RateOptions } from '../shared/ratelimit/bucket.ts';

export type { Enqueued, EnqueuedBatch, TaskClient } from '../shared/queue/client.ts';
export type { DefinitionOf, ResultOf, ResultOptions, TaskOutcome } from '../shared/queue/results.ts';
export type { BatchCounts, BatchRecord, Callback, Waiter } from '../shared/task/batch.ts';
export type { BatchOptions } from '../shared/queue/batch-request.ts';
export type { BulkItem, EnqueuedBulk } from '../shared/bulk/client.ts';
export type { BulkOptions } from '../shared/bulk/request.ts';
export type { Dedup } from '../shared/task/dedup.ts';
export type { EnqueueOptions, TaskReference, TaskRequest } from '../shared/task/request.ts';
export type { CancelReport } from '../shared/queue/cancel-item.ts';
export type {
  QueueOption,
  RedriveReport,
  RescheduleReport,
  TaskOperator,
  TaskOption,
} from '../shared/queue/operator.ts';
export type { ListingQuery } from '../shared/queue/listing.ts';
export type { EndedTask, PackState, Payload } from '../shared/task/task.ts';
export type { KeyLimit, RateOfKey } from '../shared/task/key-limit.ts';
export type { LinePlace } from '../shared/task/line.ts';
export type { QueueRecord } from '../shared/task/queue-store.ts';
export type { ScheduleClient } from '../shared/schedule/client.ts';
export { defineSchedule } from '../shared/schedule/declaration.ts';
export type { ScheduleOptions, TaskSchedule } from '../shared/schedule/declaration.ts';
export type { NewPayload } from '../shared/task/store.ts';
export { MISSED_POLICIES } from '../shared/schedule/schedule.ts';
export type { MissedPolicy, ScheduleRecord } from '../shared/schedule/schedule.ts';
export { PRIORITIES } from '../shared/task/task.ts';
export type {
  Cancellation,
  CancelledTask,
  DeadTask,
  DoneTask,
  Json,
  PastAttempt,
  Priority,
  ReadyTask,
  RunningTask,
  TaskKey,
  TaskLinks,
  TaskPolicy,
  TaskRecord,
  TaskState,
} from '../shared/task/task.ts';
export type { KeyedWrite, NewTask, UserWrite } from '../shared/task/store.ts';

/** Counts requests and capacity units: an `observer` of the client. */
export { createMeter } from '../shared/dynamo/engine/meter.ts';
export type { Meter, MeterReading, VerbCost } from '../shared/dynamo/engine/meter.ts';
export type { SendObserver } from '../shared/dynamo/engine/send.ts';
export { isPayloadOf } from '../shared/task/payload.ts';
export type { PayloadRequest, PayloadStore } from '../shared/task/payload.ts';
