/** `leasehold/tasks`: what task code is written with. It reaches no store, so modules of tasks stay light wherever they are imported. */
export { defineTask } from '../shared/task/definition.ts';
export type { RetryOptions, RetryPolicy, TaskDefinition, TaskOptions } from '../shared/task/definition.ts';
export type { BulkPolicy, BulkPolicyOptions } from '../shared/task/pack-policy.ts';
export type { BatchCounts } from '../shared/task/batch.ts';
export type { CommitOptions, Committed, TaskContext, TaskLog } from '../shared/task/context.ts';
export {
  CommitRefusedError,
  DoNotRetry,
  HandedBackError,
  InvalidInputError,
  RetryAfter,
  TaskCancelledError,
  TaskTimeoutError,
} from '../shared/task/control.ts';
export type { WriteRefusal } from '../shared/task/control.ts';
export { defineSchedule } from '../shared/schedule/declaration.ts';
export type { ScheduleOptions, TaskSchedule } from '../shared/schedule/declaration.ts';
export type { MissedPolicy } from '../shared/schedule/schedule.ts';
export { spawn } from '../shared/task/request.ts';
export type { EnqueueOptions, TaskReference, TaskRequest, WithoutInput } from '../shared/task/request.ts';
export type { StandardResult, StandardSchemaV1 } from '../shared/validate/standard-schema.ts';
export type { TaskEvents } from '../shared/run/events.ts';
export type { Settlement } from '../shared/run/settle.ts';
export type { Attempt, TaskMiddleware } from '../shared/task/middleware.ts';
export type { KeyedWrite, UserWrite } from '../shared/task/store.ts';
export type { Json, TaskError, TaskRecord } from '../shared/task/task.ts';
export { LeaseLostError } from '../shared/errors.ts';
