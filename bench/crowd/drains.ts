/** Tasks that many workers end at once, all of one key or of one batch, so that each end changes the same row. */
import { drain } from '../drain.ts';
import { round } from '../figures.ts';
import { simulatedWorld } from '../table.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { TaskClient } from '../../shared/tasks/queue/task-client.ts';

const SHARDS = 8;
const CONCURRENCY = 10;
const POLL_MS = 220;
const TASK_MS = 20;
const SECOND_MS = 1_000;
const KEY = { key: 'one', limit: 100 };

interface Case {
  readonly what: string;
  readonly tasks: number;
  readonly workers: number;
  readonly fill: (client: TaskClient, tasks: number) => Promise<unknown>;
}

export interface Ended {
  readonly what: string;
  readonly tasks: number;
  readonly workers: number;
  readonly done: number;
  /** From the first beginning to the last end. */
  readonly perSecond: number;
  /** The enqueue included. */
  readonly writeUnits: number;
  readonly readUnits: number;
}

const batch = (client: TaskClient, tasks: number): Promise<unknown> =>
  client.enqueueBatch(
    Array.from({ length: tasks }, (_, n) => ({ task: 'work', input: { n }, options: {} })),
    { id: 'batch', then: { task: 'after', input: null, options: {} } },
  );

const CASES: readonly Case[] = [
  { what: 'children of one batch', tasks: 1_000, workers: 10, fill: batch },
  { what: 'children of one batch', tasks: 1_000, workers: 50, fill: batch },
  {
    what: 'one key of limit 100',
    tasks: 600,
    workers: 10,
    async fill(client, tasks) {
      const requests = Array.from({ length: tasks }, (_, n) => client.validate('work', { n }, KEY));
      await client.enqueueAll(await Promise.all(requests), { inFlight: 64 });
    },
  },
];

export function drains(): Promise<readonly Ended[]> {
  return Promise.all(CASES.map(drained));
}

async function drained({ what, tasks, workers, fill }: Case): Promise<Ended> {
  const world = simulatedWorld({ conflicts: true, writeUnits: true, readUnits: true });
  const { clock } = world.placeOf('task code').runtime;
  const moments: number[] = [];
  const work = defineTask({
    name: 'work',
    async run() {
      if (moments.length === 0) moments.push(clock.monotonic());
      await clock.sleep(TASK_MS);
      moments.push(clock.monotonic());
    },
  });
  const after = defineTask({ name: 'after', run: () => undefined });
  const settings = { queue: 'one', shards: SHARDS, workers, concurrency: CONCURRENCY, pollMs: POLL_MS };
  const { done, cost } = await drain(world, settings, { work, after }, (client) => fill(client, tasks));
  const tookMs = Math.max(...moments) - Math.min(...moments);
  return {
    what,
    tasks,
    workers,
    done,
    perSecond: round((tasks * SECOND_MS) / tookMs),
    writeUnits: round(cost.writeUnits / tasks),
    readUnits: round(cost.readUnits / tasks),
  };
}
