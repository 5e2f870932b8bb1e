/** Time of a step of a durable task on an engine, and of `saveProgress` of a plain task: both do 1 ms of work, and record as much. */
import { setTimeout as pause } from 'node:timers/promises';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { durableTask } from '../../shared/client/durable.ts';
import type { TaskContext } from '../../shared/tasks/task/context.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { BenchEngine } from '../arguments.ts';
import { drain } from '../drain.ts';
import { median } from '../figures.ts';
import { openTable, worldOver } from '../table.ts';
import { result } from './units.ts';

const CONTESTANTS = ['step', 'progress'] as const;

/** Medians of a round, in milliseconds. */
export type StepTimes = Readonly<Record<(typeof CONTESTANTS)[number], number>>;

/** The two take turns at beginning. The first round warms engine and compiler, and does not count. */
export async function measureSteps(engine: BenchEngine, steps: number, rounds: number): Promise<readonly StepTimes[]> {
  await using table = await openTable(engine);
  const world = worldOver(table.drivers.wire);
  const all: StepTimes[] = [];
  for (let round = 0; round <= rounds; round++) {
    const times = { step: NaN, progress: NaN };
    for (const name of round % 2 === 0 ? CONTESTANTS : CONTESTANTS.toReversed()) {
      const taken: number[] = [];
      const settings = { queue: `${name}${round}`, shards: 1, workers: 1, concurrency: 1, pollMs: 100 };
      const { done } = await drain(world, settings, { [name]: TASKS[name](taken) }, (client) =>
        client.enqueue(name, steps),
      );
      if (done !== 1) throw new Error(`the task of ${name} has not ended`);
      times[name] = median(taken);
    }
    if (round > 0) all.push(times);
  }
  return all;
}

const TASKS = {
  step: (taken: number[]) =>
    durableTask({
      name: 'step',
      run: async (steps: number, ctx: DurableContext) => {
        for (let at = 0; at < steps; at++) await timed(taken, () => ctx.step(`step-${at}`, work));
      },
    }),
  progress: (taken: number[]) =>
    defineTask({
      name: 'progress',
      run: async (steps: number, task: TaskContext) => {
        for (let at = 0; at < steps; at++)
          await timed(taken, async () => task.saveProgress({ at, last: await work() }));
      },
    }),
};

async function work(): Promise<ReturnType<typeof result>> {
  await pause(1);
  return result();
}

async function timed(taken: number[], work: () => Promise<unknown>): Promise<void> {
  const at = performance.now();
  await work();
  taken.push(performance.now() - at);
}
