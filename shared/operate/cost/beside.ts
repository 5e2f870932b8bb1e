/**
 * The cost of the same tasks on other AWS services: their requests and compute, without logs and alarms. It does not compare guarantees.
 *
 * A task is one message or one execution, and an attempt is one more. Its payload fits into 64 KB.
 */
import type { Prices, Sum, Use } from './prices.ts';
import { bill, sumOf } from './prices.ts';
import type { Workload } from './workload.ts';

type ComparedWorkload = Pick<
  Workload,
  'secondsPerTask' | 'attemptsPerTask' | 'memoryMb' | 'architecture' | 'utilisation'
>;

export interface Alternative extends Sum {
  readonly what: string;
}

/** The largest batch that Lambda takes from a standard queue without waiting for more. */
const BATCH = 10;
/** Send, receive, delete. */
const REQUESTS_PER_MESSAGE = 3;
/** The task's own transition, and the end. */
const TRANSITIONS_PER_TASK = 2;
/** Express bills memory in steps of 64 MB. */
const EXPRESS_GB = 64 / 1024;

/** @param tasks number of tasks a month */
export function besideOthers(tasks: number, workload: ComparedWorkload, prices: Prices): readonly Alternative[] {
  const { secondsPerTask, attemptsPerTask, memoryMb, architecture, utilisation } = workload;
  const attempts = tasks * attemptsPerTask;
  const gbSeconds = (attempts * secondsPerTask * memoryMb) / 1024;
  const lambda = (invocations: number, busyShare: number): readonly Use[] => [
    ['invocations', 'invocations', invocations],
    ['compute', architecture, (gbSeconds * (invocations / attempts)) / busyShare],
  ];
  const one = (what: string, uses: readonly Use[]): Alternative => ({ what, ...sumOf(bill(uses, prices)) });
  return [
    one(`SQS and Lambda, ${BATCH} messages side by side in an invocation`, [
      ['requests', 'messages', tasks + (2 * attempts) / BATCH],
      ...lambda(attempts / BATCH, utilisation),
    ]),
    one('SQS and Lambda, a message an invocation', [
      ['requests', 'messages', tasks + (REQUESTS_PER_MESSAGE - 1) * attempts],
      ...lambda(attempts, 1),
    ]),
    one('Step Functions Express and Lambda', [
      ['requests', 'expressRequests', tasks],
      ['duration', 'expressCompute', attempts * secondsPerTask * EXPRESS_GB],
      ...lambda(attempts, 1),
    ]),
    one('Step Functions Standard and Lambda', [
      ['transitions', 'transitions', attempts * TRANSITIONS_PER_TASK],
      ...lambda(attempts, 1),
    ]),
  ];
}
