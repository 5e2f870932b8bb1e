/** The Lambda context of a handler that runs as a task. */
import type { DurableLambdaHandler } from '@aws/durable-execution-sdk-js';
import type { RunningTask } from '../task/task.ts';

type LambdaContext = Parameters<DurableLambdaHandler>[1];

const MEMORY_MB = '1024';

export function lambdaContextOf(
  { queue, name }: RunningTask,
  awsRequestId: string,
  remainingMs: () => number,
): LambdaContext {
  const context: Omit<LambdaContext, 'done' | 'fail' | 'succeed'> = {
    awsRequestId,
    functionName: name,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${name}`,
    memoryLimitInMB: MEMORY_MB,
    logGroupName: `/leasehold/${queue}/${name}`,
    logStreamName: awsRequestId,
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: remainingMs,
  };
  // Lambda still has these, and nobody should call them.
  const ignored = (): void => undefined;
  return {
    ...context,
    ...Object.fromEntries(['done', 'fail', 'succeed'].map((name) => [name, ignored])),
  } as LambdaContext;
}
