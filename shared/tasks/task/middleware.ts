/**
 * Middleware around every attempt of a worker's tasks, in the style of middy.
 *
 *     before, in order ──▶ the task's code ──▶ after, in reverse order
 *                   └── threw ──▶ onError, in reverse order
 *
 * A `before` may change `input`, an `after` may change `result`,
 * an `onError` may replace `error`, or clear it: then the attempt returns `result`.
 * A commit of the code stays committed, whatever middleware does afterwards.
 */
import type { TaskContext } from './context.ts';
import type { AnyTask, TaskRegistry } from './definition.ts';

/** One attempt, for the middleware. */
export interface Attempt {
  readonly task: TaskContext;
  /** The validated input. */
  input: unknown;
  result: unknown;
  error: unknown;
}

export interface TaskMiddleware {
  /** For logs only. */
  readonly name?: string;
  before?(attempt: Attempt): void | Promise<void>;
  after?(attempt: Attempt): void | Promise<void>;
  onError?(attempt: Attempt): void | Promise<void>;
}

/** Wraps each task in the middleware. */
export function withMiddleware(registry: TaskRegistry, middleware: readonly TaskMiddleware[]): TaskRegistry {
  if (middleware.length === 0) return registry;
  return new Map([...registry].map(([name, definition]) => [name, wrapped(definition, middleware)]));
}

function wrapped(definition: AnyTask, middleware: readonly TaskMiddleware[]): AnyTask {
  return {
    ...definition,
    run: (input, task) => runThrough(middleware, definition, { task, input, result: undefined, error: undefined }),
  };
}

async function runThrough(
  middleware: readonly TaskMiddleware[],
  definition: AnyTask,
  attempt: Attempt,
): Promise<unknown> {
  try {
    for (const each of middleware) await each.before?.(attempt);
    attempt.result = await definition.run(attempt.input as never, attempt.task);
    for (const each of middleware.toReversed()) await each.after?.(attempt);
  } catch (error) {
    // Code may reject without a reason, but an undefined error means that it was cleared.
    attempt.error = error ?? new Error('the code threw nothing');
    for (const each of middleware.toReversed()) await each.onError?.(attempt);
    // The worker handles any thrown value.
    // oxlint-disable-next-line typescript/only-throw-error
    if (attempt.error !== undefined) throw attempt.error;
  }
  return attempt.result;
}
