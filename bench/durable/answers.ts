/**
 * Time from the answer of a callback to the next line of the waiting code, and from an enqueue to the first line of a
 * task: in one fleet in simulated time (`bench/woken-fleet.ts`), with no warm environment, or with a worker at work.
 */
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { durableTask } from '../../shared/client/durable.ts';
import { Callbacks } from '../../shared/tasks/durable/callbacks.ts';
import { defineTask, registerTasks } from '../../shared/tasks/task/definition.ts';
import { percentile } from '../figures.ts';
import type { Latencies } from '../latencies.ts';
import { QUEUE, WokenFleet } from '../woken-fleet.ts';

export const ANSWER_SCENES = ['cold', 'live'] as const;
export type AnswerScene = (typeof ANSWER_SCENES)[number];

export interface AnswerTimes {
  /** Half of the times, in milliseconds. */
  readonly start: number;
  readonly answer: number;
}

/** Long enough for the worker to leave, if nothing keeps it. */
const GAP_MS = {
  cold: { least: 4_000, most: 55_000 },
  live: { least: 1_000, most: 9_000 },
};
const LOOK_MS = 500;
/** A task that waits for an answer alone is due when its execution times out, after a year. */
const FAR_MS = 86_400_000;

export async function measureAnswers(scene: AnswerScene, tasks: number, latencies: Latencies): Promise<AnswerTimes> {
  const state: { fleet?: WokenFleet } = {};
  const begun = new Map<string, number>();
  const asked = new Map<string, string>();
  const reached = (id: string): void => void begun.set(id, state.fleet?.timeline.now ?? NaN);
  const quick = defineTask({ name: 'quick', run: (_: unknown, { id }) => reached(id) });
  const asks = durableTask({
    name: 'asks',
    run: async (_: unknown, ctx: DurableContext, { id }) => {
      const [answer, callbackId] = await ctx.createCallback('ask');
      asked.set(id, callbackId);
      await answer;
      reached(id);
    },
  });
  /** Keeps its worker at work. */
  const endless = defineTask({ name: 'endless', run: (_: unknown, { signal }) => untilAborted(signal) });
  const fleet = new WokenFleet({
    seed: 1n,
    registry: registerTasks({ quick, asks, endless }),
    maxWorkers: 10,
    startWithinMs: 10_000,
    tickEveryMs: 60_000,
    workerLifeMs: 1e9,
    latencies,
    keepsEnvironments: false,
  });
  state.fleet = fleet;
  const { runtime, stores } = fleet.place('user');
  const { clock, random } = runtime;
  const callbacks = new Callbacks({ store: stores.tasks, runtime });
  const gap = (): Promise<void> =>
    clock.sleep(GAP_MS[scene].least + random.next() * (GAP_MS[scene].most - GAP_MS[scene].least));
  const ended = async (id: string, at: number): Promise<number> => {
    const { kind } = await fleet.client.result(id, { wait: '10m' });
    if (kind !== 'done') throw new Error(`${id} is ${kind}`);
    return (begun.get(id) ?? NaN) - at;
  };
  const start = async (id: string): Promise<number> => {
    await gap();
    const at = fleet.timeline.now;
    await fleet.client.enqueue(quick, null, { id });
    return ended(id, at);
  };
  const isSuspended = async (id: string): Promise<boolean> => {
    const task = await stores.tasks.get({ queue: QUEUE, id });
    return task?.state === 'ready' && task.readyAt > clock.now() + FAR_MS;
  };
  const answer = async (id: string): Promise<number> => {
    await fleet.client.enqueue(asks, null, { id });
    while (!(await isSuspended(id))) await clock.sleep(LOOK_MS);
    await gap();
    const at = fleet.timeline.now;
    if ((await callbacks.succeed(asked.get(id) ?? '', 'yes')) !== 'accepted') throw new Error(`${id} was not answered`);
    return ended(id, at);
  };
  const all = async (): Promise<AnswerTimes> => {
    if (scene === 'live') await fleet.client.enqueue(endless, null);
    const times: { readonly start: number; readonly answer: number }[] = [];
    for (let nth = 0; nth < tasks; nth++)
      times.push({ start: await start(`s${nth}`), answer: await answer(`a${nth}`) });
    return {
      start: Math.round(
        percentile(
          times.map((each) => each.start),
          0.5,
        ),
      ),
      answer: Math.round(
        percentile(
          times.map((each) => each.answer),
          0.5,
        ),
      ),
    };
  };
  const restore = simulateTimers(fleet);
  try {
    return await fleet.run(all());
  } finally {
    restore();
  }
}

/** The SDK waits by the timers of its process, such as 20 ms before a suspension: they run in the fleet's time. */
function simulateTimers({ timeline }: WokenFleet): () => void {
  const { setTimeout: realTimeout, clearTimeout: realClear } = globalThis;
  type Event = ReturnType<typeof timeline.after>;
  const later = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Event & object => {
    const event = timeline.after(ms, () => {
      timeline.wake();
      run(...args);
    });
    return Object.assign(event, { unref: () => event, ref: () => event });
  };
  const cancel = (event?: Event): void => {
    if (event !== undefined) timeline.cancel(event);
  };
  Object.assign(globalThis, { setTimeout: later, clearTimeout: cancel });
  return () => {
    Object.assign(globalThis, { setTimeout: realTimeout, clearTimeout: realClear });
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
