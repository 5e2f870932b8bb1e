/**
 * Time from the answer of a callback, or from the end of a short wait, to the next line of the waiting code, and from an enqueue to the
 * first line of a task: in one fleet in simulated time (`bench/woken-fleet.ts`), with no warm environment, or with a worker at work.
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
  readonly wait: number;
  /** Time of workers per task that waits. */
  readonly billedOfWait: number;
}

/** A short wait. */
const WAIT_SECONDS = 5;
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
  const waits = durableTask({
    name: 'waits',
    run: async (_: unknown, ctx: DurableContext, { id }) => {
      await ctx.step('first', async () => void asked.set(id, String(fleet.timeline.now)));
      await ctx.wait('short', { seconds: WAIT_SECONDS });
      reached(id);
    },
  });
  /** Keeps its worker at work. */
  const endless = defineTask({ name: 'endless', run: (_: unknown, { signal }) => untilAborted(signal) });
  const fleet = new WokenFleet({
    seed: 1n,
    registry: registerTasks({ quick, asks, waits, endless }),
    maxWorkers: 10,
    startWithinMs: 10_000,
    tickEveryMs: 60_000,
    workerLifeMs: 1e9,
    latencies,
    keepsEnvironments: false,
    continues: true,
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
  const wait = async (id: string): Promise<number> => {
    await gap();
    await fleet.client.enqueue(waits, null, { id });
    const late = await ended(id, 1_000 * WAIT_SECONDS);
    return late - Number(asked.get(id));
  };
  const all = async (): Promise<AnswerTimes> => {
    if (scene === 'live') await fleet.client.enqueue(endless, null);
    const times: { readonly start: number; readonly answer: number }[] = [];
    for (let nth = 0; nth < tasks; nth++)
      times.push({ start: await start(`s${nth}`), answer: await answer(`a${nth}`) });
    await gap();
    const { billedMs } = fleet;
    const late: number[] = [];
    for (let nth = 0; nth < tasks; nth++) late.push(await wait(`w${nth}`));
    await gap();
    return {
      start: half(times.map((each) => each.start)),
      answer: half(times.map((each) => each.answer)),
      wait: half(late),
      billedOfWait: Math.round((fleet.billedMs - billedMs) / tasks),
    };
  };
  const restore = simulateTimers(fleet);
  try {
    return await fleet.run(all());
  } finally {
    restore();
  }
}

function half(times: readonly number[]): number {
  return Math.round(percentile(times, 0.5));
}

/** The SDK waits by the clock and the timers of its process, such as 20 ms before a suspension: they run in the fleet's time. */
function simulateTimers({ timeline, clock }: WokenFleet): () => void {
  const { setTimeout: realTimeout, clearTimeout: realClear, setImmediate: realImmediate } = globalThis;
  const { now } = Date;
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
  const soon = (run: (...args: unknown[]) => void, ...args: unknown[]): Event => later(run, 0, ...args);
  Object.assign(globalThis, { setTimeout: later, clearTimeout: cancel, setImmediate: soon });
  Date.now = () => clock.now();
  return () => {
    Object.assign(globalThis, { setTimeout: realTimeout, clearTimeout: realClear, setImmediate: realImmediate });
    Date.now = now;
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
