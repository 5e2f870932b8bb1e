/**
 * The `context` that a handler is given, as Lambda's Node.js 24 runtime makes it.
 * That runtime has no callbacks any more, and with them went `done`, `succeed`, `fail` and `callbackWaitsForEmptyEventLoop`.
 */
import type { Context } from 'aws-lambda';
import { systemClock } from '../../../shared/core/runtime/clock.ts';
import type { InitMessage, InvokeMessage } from './messages.ts';

export type LambdaContext = Omit<Context, 'done' | 'fail' | 'succeed' | 'callbackWaitsForEmptyEventLoop'>;

export function lambdaContext(init: InitMessage, invocation: InvokeMessage): LambdaContext {
  return {
    awsRequestId: invocation.requestId,
    functionName: init.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: invocation.invokedFunctionArn,
    memoryLimitInMB: String(init.memoryMb),
    logGroupName: init.logGroupName,
    logStreamName: init.logStreamName,
    // By the wall clock, as AWS's own: a step of that clock misleads here as it does there.
    getRemainingTimeInMillis: () => Math.max(0, invocation.deadlineAt - systemClock.now()),
  };
}
