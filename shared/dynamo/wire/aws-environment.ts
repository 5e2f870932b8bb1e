/** The variables that AWS's own clients read by themselves: read where its clients would read them. */

export type Environment = Readonly<Record<string, string | undefined>>;

export function awsEnvironment(): Environment {
  return process.env;
}

/** The current invocation's trace, which Lambda writes before each; without it X-Ray and the detection of loops lose the thread. */
export function traceHeader(): string | undefined {
  return IS_LAMBDA ? process.env._X_AMZN_TRACE_ID : undefined;
}

/** Looking at a variable of the process costs more than remembering that there is none. */
const IS_LAMBDA = process.env.AWS_LAMBDA_FUNCTION_NAME !== undefined;
