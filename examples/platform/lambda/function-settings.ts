/** A local function: the part of Lambda's function configuration that affects code. */
import path from 'node:path';
import { ConfigurationError } from '../../../shared/core/errors.ts';

export interface FunctionSettings {
  /** Absolute path of the module that exports the handler; TypeScript as it is. */
  readonly entry: string;
  /** The exported name; `handler` when left out. */
  readonly handler?: string;
  readonly timeoutMs: number;
  /** Bounds the JavaScript heap (`--max-old-space-size`); buffers and native memory are not counted, unlike on AWS. */
  readonly memoryMb: number;
  /** Environments at one time; `DEFAULT_MAX_CONCURRENCY` when left out. */
  readonly maxConcurrency?: number;
  readonly environment: Readonly<Record<string, string>>;
  /** How often an asynchronous event is tried again after its function failed; 2 when left out, as on AWS. */
  readonly maximumRetryAttempts?: number;
  /** How long an asynchronous event may wait, retries included; 6 hours when left out, as on AWS. */
  readonly maximumEventAgeMs?: number;
}

/** Every default filled in. */
export interface LocalFunction extends Required<FunctionSettings> {
  readonly name: string;
}

/** An account has 1,000 on AWS; here every one of them is a process of this machine. */
const DEFAULT_MAX_CONCURRENCY = 100;
const DEFAULT_MAXIMUM_RETRY_ATTEMPTS = 2;
const DEFAULT_MAXIMUM_EVENT_AGE_MS = 6 * 60 * 60 * 1000;
const MAX_TIMEOUT_MS = 900_000;

/** @throws ConfigurationError naming the function and the setting */
export function localFunction(name: string, settings: FunctionSettings): LocalFunction {
  const complete: LocalFunction = {
    handler: 'handler',
    maxConcurrency: DEFAULT_MAX_CONCURRENCY,
    maximumRetryAttempts: DEFAULT_MAXIMUM_RETRY_ATTEMPTS,
    maximumEventAgeMs: DEFAULT_MAXIMUM_EVENT_AGE_MS,
    ...settings,
    name,
  };
  const refuse = (what: string): never => {
    throw new ConfigurationError(`function ${name}: ${what}`);
  };
  if (!/^[A-Za-z0-9-_]{1,64}$/.test(name)) refuse('a name is 1 to 64 letters, digits, hyphens or underscores');
  if (!path.isAbsolute(complete.entry)) refuse(`entry must be an absolute path, got ${complete.entry}`);
  if (!(complete.timeoutMs > 0 && complete.timeoutMs <= MAX_TIMEOUT_MS)) {
    refuse(`timeoutMs must be above 0 and at most ${MAX_TIMEOUT_MS}, as on AWS; got ${complete.timeoutMs}`);
  }
  if (!(complete.memoryMb >= 128)) refuse(`memoryMb must be at least 128, as on AWS; got ${complete.memoryMb}`);
  const { maxConcurrency } = complete;
  if (!(Number.isInteger(maxConcurrency) && maxConcurrency > 0)) {
    refuse(`maxConcurrency must be a whole number of 1 or more, got ${maxConcurrency}`);
  }
  return complete;
}
