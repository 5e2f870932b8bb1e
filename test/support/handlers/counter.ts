/** Well-behaved: shows what it was given, and how often this environment was used. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LambdaContext } from '../../../examples/platform/lambda/context.ts';

let invocations = 0;

export async function handler(event: unknown, context: LambdaContext) {
  invocations++;
  const { awsRequestId, functionName, functionVersion, invokedFunctionArn, memoryLimitInMB } = context;
  console.log(`invocation ${invocations}`);
  console.error('to the other stream');
  return {
    invocations,
    event,
    pid: process.pid,
    remainingMs: context.getRemainingTimeInMillis(),
    region: process.env.AWS_REGION,
    greeting: process.env.GREETING,
    home: process.env.HOME,
    hasChannel: process.send !== undefined,
    context: { awsRequestId, functionName, functionVersion, invokedFunctionArn, memoryLimitInMB },
  };
}

/** Tells its remaining time twice, that long apart. */
export async function remaining({ ms }: { readonly ms: number }, context: LambdaContext) {
  const first = context.getRemainingTimeInMillis();
  await sleep(ms);
  return { first, second: context.getRemainingTimeInMillis() };
}

/** Leaves a timer behind, as no handler should, and tells the longest pause between two of its ticks so far. */
export async function tickFor({ ms }: { readonly ms: number }) {
  ticking ??= setInterval(noteTick, 5);
  await sleep(ms);
  return { longestPauseMs };
}
let ticking: NodeJS.Timeout | undefined;
let lastTickAt: number | undefined;
let longestPauseMs = 0;

function noteTick(): void {
  const now = Date.now();
  longestPauseMs = Math.max(longestPauseMs, now - (lastTickAt ?? now));
  lastTickAt = now;
}

/** Returns a plain value, without a promise. */
export function plain() {
  return 'plain';
}

/** Lambda has dropped this form in Node.js 24. */
export function withCallback(_event: unknown, _context: unknown, callback: (error: null) => void) {
  callback(null);
}
