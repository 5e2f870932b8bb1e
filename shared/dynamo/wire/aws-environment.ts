/** Reads the environment variables that AWS's own clients read. */
import type { Credentials } from './credentials.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export function awsEnvironment(): Environment {
  return process.env;
}

/** Returns the access keys in the environment, as set by Lambda or a shell. */
export function keysIn(variables: Environment): Credentials | undefined {
  const accessKeyId = variables.AWS_ACCESS_KEY_ID ?? '';
  const secretAccessKey = variables.AWS_SECRET_ACCESS_KEY ?? '';
  const sessionToken = variables.AWS_SESSION_TOKEN ?? '';
  if (accessKeyId === '' || secretAccessKey === '') return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken === '' ? {} : { sessionToken }) };
}

/**
 * Returns the trace of the current invocation as AWS's clients send it; without it, X-Ray and loop detection do not recognize related
 * calls.
 * If a function runs several invocations at a time, the runtime keeps it in a store, otherwise in the environment.
 */
export function traceHeader(): string | undefined {
  if (!IS_LAMBDA) return undefined;
  const { InvokeStore: store } = (globalThis as LambdaGlobals).awslambda ?? {};
  const trace = store?.getXRayTraceId() ?? process.env._X_AMZN_TRACE_ID;
  return trace === '' ? undefined : trace;
}

interface LambdaGlobals {
  readonly awslambda?: { readonly InvokeStore?: { getXRayTraceId(): string | undefined } };
}

/** Cached, because reading a process variable is slower than remembering that it is not set. */
const IS_LAMBDA = process.env.AWS_LAMBDA_FUNCTION_NAME !== undefined;
