/** The parts of the requirements' workflows. */
import { JitterStrategy, createRetryStrategy } from '@aws/durable-execution-sdk-js';
import type { DurableContext } from '@aws/durable-execution-sdk-js';

export interface Scene {
  /** Fresh for each requirement; it survives its worker. */
  n: number;
  /** Kills the worker that runs this code. */
  crash(): Promise<never>;
}

export type C = DurableContext;
/** Any input of a requirement, or result of a workflow. */
export type Value = ReturnType<typeof JSON.parse>;
export type Workflow = (scene: Scene) => (event: Value, context: C) => PromiseLike<unknown>;

export const none = { retryStrategy: () => ({ shouldRetry: false as const }) };
export const one = { maxConcurrency: 1 };

export const tries = (maxAttempts: number, seconds = 1, backoffRate = 1) => ({
  retryStrategy: createRetryStrategy({
    maxAttempts,
    initialDelay: { seconds },
    backoffRate,
    jitter: JitterStrategy.NONE,
  }),
});

export const boom = async (): Promise<never> => {
  throw new Error('boom');
};

export const say = (value: unknown) => async () => value;

export const caught = async <T, U>(run: () => PromiseLike<T>, other: (error: Error) => U): Promise<T | U> => {
  try {
    return await run();
  } catch (error) {
    return other(error as Error);
  }
};

export const until =
  (limit: number, seconds = 1) =>
  (n: number) =>
    n < limit ? ({ shouldContinue: true, delay: { seconds } } as const) : ({ shouldContinue: false } as const);

export const upper = {
  serialize: async (value: Value) => (value === undefined ? undefined : JSON.stringify(raised(value))),
  deserialize: async (text: Value) => (text === undefined ? undefined : JSON.parse(text)),
};

export const upperBack = {
  serialize: async (value: Value) => JSON.stringify(value),
  deserialize: async (text: Value) => JSON.parse(String(text).toUpperCase()),
};

function raised(value: Value): Value {
  if (typeof value === 'string') return value.toUpperCase();
  const raise = (one: unknown): unknown => (typeof one === 'string' ? one.toUpperCase() : one);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, raise(each)]));
}
