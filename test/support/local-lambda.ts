import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { FunctionSettings } from '../../examples/platform/lambda/function-settings.ts';
import type { LocalLambdaOptions } from '../../examples/platform/lambda/local-lambda.ts';
import { LocalLambda } from '../../examples/platform/lambda/local-lambda.ts';
import { LambdaEvents } from './lambda-events.ts';

const handlers = path.join(import.meta.dirname, 'handlers');

/** A handler of `handlers/`, with settings that suit most tests. */
export function functionFrom(file: string, overrides: Partial<FunctionSettings> = {}): FunctionSettings {
  return {
    entry: path.join(handlers, `${file}.ts`),
    timeoutMs: 600_000,
    memoryMb: 128,
    environment: {},
    ...overrides,
  };
}

/** A local Lambda for the length of the test, and everything that it says. */
export async function started(functions: LocalLambdaOptions['functions'], overrides: Partial<LocalLambdaOptions> = {}) {
  const events = new LambdaEvents();
  const lambda = new LocalLambda({ functions, onEvent: events.record, ...overrides });
  await lambda.start();
  onTestFinished(() => lambda.stop());
  return { lambda, events };
}
