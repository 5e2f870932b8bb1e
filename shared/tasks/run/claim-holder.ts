/** The claim behind a task's context, for durable tasks, which write more than the context's verbs do. */
import type { CorruptItemError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/write.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { TaskContext, TaskLog } from '../task/context.ts';
import type { PayloadStore } from '../task/payload.ts';
import type { NewTask, TaskStore } from '../task/task-store.ts';
import type { RunningTask } from '../task/task.ts';
import type { Settlement } from './settle.ts';
import type { AttemptTrace } from './traced.ts';

/**
 * Sends one operation of the claim at a time, while the session is trusted, until the outcome is known.
 * An operation with a settlement is the last one.
 */
export type SendVerb = (
  settlement: Settlement | undefined,
  send: (stamp: Stamp, limits: WriteLimits) => Promise<boolean>,
  /** Name of its span. Default: derived from the settlement. */
  name?: string,
) => Promise<void>;

export interface ClaimHolder {
  readonly task: RunningTask;
  readonly tasks: TaskStore;
  readonly runtime: Runtime;
  readonly payloads?: PayloadStore | undefined;
  readonly log: TaskLog;
  readonly trace?: AttemptTrace | undefined;
  readonly verb: SendVerb;
  /** Called when an operation of this claim has added tasks to the queue. */
  readonly onFollowers: (followers: readonly NewTask[]) => void;
  /** Called when the operation that ended the claim has started its follower. */
  readonly onFollowed: () => void;
  /** Called when the task waits until this time. */
  readonly onSuspended: (readyAt: number) => void;
  /** Called for a damaged row of the task. */
  readonly onDamaged: (damage: CorruptItemError) => void;
  /** Called when the attempt has saved new progress. */
  readonly onProgress: () => void;
  /** On a clock of tests, for one invocation. Absent: real time passes. */
  readonly skipTime?: (() => SkippedTime) | undefined;
}

/** Times of an operation, in the SDK's words. */
export interface Timed {
  readonly StepDetails?: { readonly NextAttemptTimestamp?: Date | string | undefined } | undefined;
  readonly WaitDetails?: { readonly ScheduledEndTimestamp?: Date | string | undefined } | undefined;
}

/** Skips the waits of an invocation of a durable task. */
export interface SkippedTime {
  /** No time passes during this work. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Notes a poll. @returns whether time has passed until the next operation is due */
  polled(msToWake: number): Promise<boolean>;
  /** The operation as the SDK gets it, with times of the real clock. */
  shown<Operation extends Timed>(operation: Operation, now: number): Operation;
}

const HOLDER = Symbol('leasehold.holder');

export function withHolder(context: TaskContext, holder: ClaimHolder): TaskContext {
  return Object.assign(context, { [HOLDER]: holder });
}

/** @param context as task code gets it; middleware may have copied it */
export function holderOf(context: TaskContext): ClaimHolder {
  return (context as TaskContext & { readonly [HOLDER]: ClaimHolder })[HOLDER];
}
