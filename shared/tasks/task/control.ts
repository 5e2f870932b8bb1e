/** Errors that task code throws to choose its end, and abort reasons, which say why it must stop. */

import type { Duration } from '../../core/validate/duration.ts';
import { durationMs } from '../../core/validate/duration.ts';
import type { StandardIssue } from '../../core/validate/standard-schema.ts';

/** Thrown by task code: this input will never succeed; the task is dead at once. */
export class DoNotRetry extends Error {
  override readonly name = 'DoNotRetry';
}

/** Thrown by task code: try again after this time, instead of the definition's backoff. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter';
  readonly delayMs: number;

  /** @throws ConfigurationError for a value that is not a duration. If task code does not catch it, the attempt fails with it */
  constructor(delay: Duration, message: string, options?: ErrorOptions) {
    super(message, options);
    this.delayMs = durationMs('RetryAfter', delay);
  }
}

/** The schema of a task refuses an input. Nothing was written: tell the caller of your API which values are wrong. */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  /** The schema's issues: messages, each with the path to its value. */
  readonly issues: readonly StandardIssue[];

  constructor(message: string, issues: readonly StandardIssue[], options?: ErrorOptions) {
    super(message, options);
    this.issues = issues;
  }
}

/** The schema refuses the input of a task that runs. The task is dead at once: deploy a schema that accepts the input, and retry it. */
export class UnfitInputError extends InvalidInputError {}

/**
 * The reason of a task's AbortSignal when the attempt took longer than the definition's timeout:
 * code should stop, and the attempt has failed.
 */
export class TaskTimeoutError extends Error {
  override readonly name = 'TaskTimeoutError';
}

/** The reason of a task's AbortSignal when its worker must hand it back: deadline near, or shutting down. */
export class HandedBackError extends Error {
  override readonly name = 'HandedBackError';
  /** Whether the worker's lifetime is over. False: the worker is being stopped. */
  readonly isDeadline: boolean;

  constructor(message: string, { isDeadline = false }: { readonly isDeadline?: boolean } = {}) {
    super(message);
    this.isDeadline = isDeadline;
  }
}

/**
 * The reason of a task's AbortSignal when it was cancelled:
 * if the code stops now, the task is cancelled; if it completes anyway, the completion wins.
 */
export class TaskCancelledError extends Error {
  override readonly name = 'TaskCancelledError';
}

/**
 * The store refused one of the caller's writes in a `commit` or an `enqueue`: nothing was applied, and no late copy will be.
 * After a `commit`, the task still runs.
 */
export class CommitRefusedError extends Error {
  override readonly name = 'CommitRefusedError';
  /** One reason per write, and then one per spawned task, in order: `None` or DynamoDB's code, and the row if the write requested it. */
  readonly reasons: readonly WriteRefusal[];

  constructor(message: string, reasons: readonly WriteRefusal[]) {
    super(message);
    this.reasons = reasons;
  }
}

/** Why one of the user's writes stopped a transaction, or `None`. */
export interface WriteRefusal {
  readonly code: string;
  /** The position in `writes`, its table, and its key unless it is a `Put`; undefined for a spawned task. */
  readonly index?: number | undefined;
  readonly table?: string | undefined;
  readonly key?: Readonly<Record<string, unknown>> | undefined;
  readonly item?: Readonly<Record<string, unknown>> | undefined;
}
