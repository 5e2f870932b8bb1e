/** `leasehold/tasks`: the definitions that task code uses. It imports no store, so task modules stay small. */
export { defineTask } from '../shared/tasks/task/definition.ts';
export type { RetryOptions, RetryPolicy, TaskDefinition, TaskOptions } from '../shared/tasks/task/definition.ts';
export type { BatchCounts } from '../shared/tasks/task/batch.ts';
export type { CommitOptions, EachOptions, TaskContext, TaskLog } from '../shared/tasks/task/context.ts';
export {
  CommitRefusedError,
  DoNotRetry,
  HandedBackError,
  InvalidInputError,
  RetryAfter,
  TaskCancelledError,
  TaskTimeoutError,
} from '../shared/tasks/task/control.ts';
export type { StandardIssue } from '../shared/core/validate/standard-schema.ts';
export type { WriteRefusal } from '../shared/tasks/task/control.ts';
export { defineSchedule } from '../shared/tasks/schedule/declaration.ts';
export type { ScheduleOptions, TaskSchedule } from '../shared/tasks/schedule/declaration.ts';
export { spawn } from '../shared/tasks/task/task-request.ts';
export type { EnqueueOptions, TaskReference, TaskRequest } from '../shared/tasks/task/task-request.ts';
export type { StandardSchemaV1 } from '../shared/core/validate/standard-schema.ts';
export type { TaskEvents } from '../shared/tasks/run/events.ts';
export type { Attempt, TaskMiddleware } from '../shared/tasks/task/middleware.ts';
export type { UserWrite } from '../shared/tasks/task/task-store.ts';
export type { OwnWrites } from '../shared/tasks/task/user-writes.ts';
export type { Json, TaskError, TaskRecord } from '../shared/tasks/task/task.ts';
export { LeaseLostError } from '../shared/core/errors.ts';
