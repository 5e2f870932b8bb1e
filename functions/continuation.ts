/**
 * A worker near its end with tasks left starts its successor, so that a long backlog does not wait for the next tick.
 *
 * Each invocation starts at most one, and if a start is delivered more than once, only the first delivery works:
 * it takes its predecessor's tick.
 * So a chain of workers never forks, and the workers' semaphore bounds the number of chains.
 * A chain has at most thirteen workers, so that Lambda's guard against recursive invocations, which ends a chain
 * after about sixteen, can stay on. The next tick picks up tasks that a chain leaves, and replaces a failed start.
 */
import type { WorkEvent } from '../shared/tasks/dispatch/dispatcher.ts';
import { startOf } from '../shared/tasks/dispatch/dispatcher.ts';
import type { TickStore } from '../shared/tasks/dispatch/tick-store.ts';
import { validName } from '../shared/core/validate/options.ts';
import { stampOf } from '../shared/core/lease/write.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import type { WorkerReport } from '../shared/tasks/worker/run-worker.ts';
import { continuationSchedule } from './env.ts';
import { createStarter } from './worker-invoker.ts';

/** The worker is near its end anyway, and the schedule covers failures. */
const START = { attempts: 1, requestTimeoutMs: 2_000 };

/** Whether this delivery of a start should work; a start by the dispatcher always should. */
export async function isFirstDelivery(
  { queue, after }: WorkEvent,
  by: string,
  { ticks, runtime }: { readonly ticks: TickStore; readonly runtime: Runtime },
): Promise<boolean> {
  if (after === undefined) return true;
  const tick = { schedule: continuationSchedule(queue), scheduledTime: validName('after', after) };
  const outcome = await ticks.take(tick, { by, ...stampOf(runtime) });
  return outcome.kind === 'applied';
}

/** Successors in one chain: with the longest workers they last three hours. */
const MAX_GENERATION = 12;

/**
 * Returns the event of the next worker of this chain; undefined if the chain is at its maximum length.
 * @param session this worker's session
 */
export function successorOf(event: WorkEvent, homeShards: readonly number[], session: string): WorkEvent | undefined {
  const { queue, generation, slice } = event;
  // An event from elsewhere may have any value here. It starts a new chain.
  const before = Number.isInteger(generation) ? Number(generation) : 0;
  if (before >= MAX_GENERATION) return undefined;
  return { ...startOf(queue, homeShards, slice), after: session, generation: before + 1 };
}

/** Whether the worker ended because of its deadline, and not because of an empty queue, a pause or a failure. */
export function hasTasksLeft({ ended }: WorkerReport): boolean {
  return ended === 'handedBack';
}

/** Whether the worker's session holds no task, because it knows how each of its attempts ended. */
export function leftNothing({ ended, damaged, settled: { lost, unsettled } }: WorkerReport): boolean {
  return ended === 'drained' && damaged + lost + unsettled === 0;
}

/** @param functionName the worker's own */
export async function startSuccessor(functionName: string, event: WorkEvent): Promise<void> {
  using starter = createStarter(START);
  await starter.start(functionName, event);
}
