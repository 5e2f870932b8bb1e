/**
 * `leasehold`: the client for one table: sessions, locks,
 * elections, semaphores, wait groups, rate limits, and enqueueing.
 */
export { Leasehold, createLeasehold } from '../shared/client/leasehold.ts';
export { leaseholdOf } from '../shared/client/leasehold-of.ts';
export { schedulesOf } from '../shared/client/schedules-of.ts';
export type { LeaseholdOptions, SessionSettings } from '../shared/client/leasehold.ts';
export type { ConnectionOptions } from '../shared/dynamo/connect.ts';
export type { SdkClient } from '../shared/dynamo/wire/sdk.ts';
export type { Duration, DurationText, SpanText } from '../shared/core/validate/duration.ts';
export type { MomentText, When } from '../shared/core/validate/moment.ts';
export type { WriteLimits } from '../shared/core/lease/outcome.ts';
export type { SessionTiming } from '../shared/core/lease/timing.ts';
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
export type { DestroyResult, DestroyOptions, SessionClient } from '../shared/session/session-client.ts';
export type {
  InvalidSession,
  InvalidationReason,
  LiveSession,
  SessionBehavior,
  SessionRecord,
} from '../shared/session/session-record.ts';

export { LockUnavailableError } from '../shared/coordination/lock/lock-record.ts';
export type { Content, ForcedRelease, Holder, LockInfo, Refusal } from '../shared/coordination/lock/lock-record.ts';
export type { ContentOptions, Lock, LockOptions } from '../shared/coordination/lock/lock.ts';
export type { HeldLocks } from '../shared/coordination/lock/held-locks.ts';
export type { LockAcquisition } from '../shared/coordination/lock/session-locks.ts';
export type { AcquisitionOfSeveral } from '../shared/coordination/lock/several-locks.ts';
export type {
  DeleteResult,
  ForceOptions,
  ForceResult,
  DeleteOptions,
  TakenAway,
  LockClient,
  PutOptions,
  PutResult,
  WatchOptions,
  Watched,
} from '../shared/coordination/lock/lock-client.ts';
export type { Verification } from '../shared/session/verify-session.ts';

export { Fence } from '../shared/core/lease/fence.ts';
export type { FenceStamp, Fencing } from '../shared/core/lease/fence.ts';
export { dynamoFence } from '../shared/dynamo/dynamo-fence.ts';
export type { DynamoFence } from '../shared/dynamo/dynamo-fence.ts';

export type {
  Campaign,
  CampaignOptions,
  ElectionClient,
  Leader,
  Leadership,
  Reign,
} from '../shared/coordination/election/election.ts';

export { SemaphoreFullError } from '../shared/coordination/semaphore/semaphore-contender.ts';
export type { Full } from '../shared/coordination/semaphore/semaphore-contender.ts';
export type { PermitAcquisition, PermitOptions, PermitWaitOptions } from '../shared/coordination/semaphore/acquire.ts';
export type { Permit } from '../shared/coordination/semaphore/permit.ts';
export type { ConcurrencyLimiter, LimiterOptions } from '../shared/coordination/semaphore/concurrency-limiter.ts';
export type {
  EvictionOptions,
  EvictedPermit,
  SemaphoreClient,
} from '../shared/coordination/semaphore/semaphore-client.ts';
export type { Eviction, HolderRecord, PermitRecord, Ticket } from '../shared/coordination/semaphore/semaphore.ts';
export type { HolderState, SemaphoreState } from '../shared/coordination/semaphore/state.ts';

export type { AddOptions, WaitGroup } from '../shared/coordination/waitgroup/group.ts';
export type { WaitOutcome } from '../shared/coordination/waitgroup/wait-for-members.ts';
export type {
  GroupKey,
  GroupRecord,
  GroupState,
  MemberRecord,
  MemberState,
} from '../shared/coordination/waitgroup/waitgroup.ts';

export type { RateLimiter, Take, TakeOptions } from '../shared/coordination/ratelimit/rate-limiter.ts';
export type { RateOptions } from '../shared/coordination/ratelimit/bucket.ts';

export type { Enqueued, EnqueuedBatch, TaskClient } from '../shared/tasks/queue/task-client.ts';
export type { DefinitionOf, ResultOf, ResultOptions, TaskOutcome } from '../shared/tasks/queue/results.ts';
export type { BatchCounts, BatchRecord, ChildEnding, Waiter } from '../shared/tasks/task/batch.ts';
export type { BatchOptions } from '../shared/tasks/queue/batch-request.ts';
export type { Answered, CallbackFailure, Callbacks } from '../shared/tasks/durable/callbacks.ts';
export type { Dedup } from '../shared/tasks/task/dedup.ts';
export type {
  EnqueueOptions,
  SharedTaskOptions,
  TaskReference,
  TaskRequest,
} from '../shared/tasks/task/task-request.ts';
export type { EndedOptions } from '../shared/tasks/queue/ended-tasks.ts';
export type { CancelAllReport, CancelReport, Selection } from '../shared/tasks/queue/cancel-selection.ts';
export type { EndedEntry, EndedFacts } from '../shared/tasks/task/ended-list.ts';
export type { KeyReport, KeysQuery, RecountReport } from '../shared/tasks/queue/key-report.ts';
export type { PassReport, TurnReport } from '../shared/tasks/queue/pass-turn.ts';
export type {
  KeyOption,
  PauseOption,
  QueueOption,
  RetryReport,
  RescheduleReport,
  TaskOperator,
  TaskOption,
} from '../shared/tasks/queue/task-operator.ts';
export type { ListingQuery } from '../shared/tasks/queue/listing.ts';
export type { EndedTask, Payload, SlotOfTask } from '../shared/tasks/task/task.ts';
export type { KeyLimit, RateOfKey } from '../shared/tasks/task/key-limit.ts';
export type { LinePlace } from '../shared/tasks/task/line.ts';
export type { Heard, QueueRecord, StartsNote, WorkerHints } from '../shared/tasks/task/queue-store.ts';
export type { RunReport, ScheduleClient } from '../shared/tasks/schedule/schedule-client.ts';
export { defineSchedule } from '../shared/tasks/schedule/declaration.ts';
export type { ScheduleOptions, TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
export type { NewPayload } from '../shared/tasks/task/task-store.ts';
export { MISSED_POLICIES, OVERLAP_POLICIES } from '../shared/tasks/schedule/schedule.ts';
export type {
  LeftOutSlot,
  MissedPolicy,
  OverlapPolicy,
  ScheduleDefinition,
  ScheduleRecord,
} from '../shared/tasks/schedule/schedule.ts';
export { PRIORITIES } from '../shared/tasks/task/task.ts';
export type {
  Cancellation,
  CancelledTask,
  DeadTask,
  DoneTask,
  Follower,
  Json,
  JournalInRow,
  Notify,
  PastAttempt,
  Priority,
  ReadyTask,
  RunningTask,
  TaskKey,
  TaskLinks,
  TaskPolicy,
  TaskRecord,
  TaskState,
} from '../shared/tasks/task/task.ts';
export type { KeyedWrite, NewTask, UserWrite } from '../shared/tasks/task/task-store.ts';

/** Counts requests and capacity units: an `observer` of the client. */
export { createMeter } from '../shared/dynamo/engine/meter.ts';
export type { Meter, MeterReading, VerbCost } from '../shared/dynamo/engine/meter.ts';
export type { SendObserver } from '../shared/dynamo/engine/send.ts';
export { isPayloadOf } from '../shared/tasks/task/payload.ts';
export type { PayloadRequest, PayloadStore } from '../shared/tasks/task/payload.ts';
