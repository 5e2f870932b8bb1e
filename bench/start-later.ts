/**
 * Delay of a task that becomes due later, with idle `leasehold work` and no dispatcher: `npm run bench -- start --no-dispatcher`.
 *
 * Each figure is of first tasks: one in each fleet, so its worker does not know yet where tasks of tenants or lines are.
 */
import { RetryAfter } from '../shared/tasks/task/control.ts';
import type { TaskRegistry } from '../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../shared/tasks/task/task-request.ts';
import type { Latencies } from './latencies.ts';
import { WokenFleet } from './woken-fleet.ts';

const DELAY = '2s' as const;
const DELAY_MS = 2_000;

interface LaterScene {
  readonly name: string;
  /** The way in which it becomes due later. */
  readonly task: 'delayed' | 'retries' | 'snoozes';
  readonly options: EnqueueOptions;
  /** Whether an engine's stream tells the worker of new tasks. */
  readonly hears: boolean;
  /** For how long the worker has been idle. */
  readonly idleMs: { readonly least: number; readonly most: number };
  readonly wanted: { readonly p99: number };
}

const MINUTE = { least: 4_000, most: 50_000 };
const LATER = { least: 90_000, most: 240_000 };
const TENANT = { tenant: 'acme' };
const LINE = { key: 'line', ordered: true };

export const LATER_SCENES: readonly LaterScene[] = [
  ...[true, false].flatMap((hears) =>
    [MINUTE, LATER].flatMap((idleMs): LaterScene[] => {
      const how = `${hears ? 'heard' : 'by polls'}, ${idleMs === MINUTE ? 'first minute' : 'later'}`;
      const beside = hears ? 1_500 : idleMs === MINUTE ? 4_000 : 12_000;
      const plain = idleMs === MINUTE ? 1_900 : 7_000;
      const delayed = { task: 'delayed', hears, idleMs } as const;
      return [
        { ...delayed, name: `delay, ${how}`, options: {}, wanted: { p99: plain } },
        { ...delayed, name: `delay, tenant, ${how}`, options: TENANT, wanted: { p99: beside } },
        { ...delayed, name: `delay, ordered, ${how}`, options: LINE, wanted: { p99: beside } },
      ];
    }),
  ),
  ...(['retries', 'snoozes'] as const).flatMap((task) =>
    Object.entries({ tenant: TENANT, ordered: LINE }).map(([where, options]): LaterScene => ({
      name: `${task === 'retries' ? 'RetryAfter' : 'snooze'}, ${where}, by polls`,
      task,
      options,
      hears: false,
      idleMs: MINUTE,
      wanted: { p99: 1_500 },
    })),
  ),
];

/** By how many milliseconds each of some first tasks begins late. */
export async function measureLater(
  scene: LaterScene,
  tasks: number,
  latencies: Latencies,
  workForEver: (fleet: WokenFleet, registry: TaskRegistry, how: { readonly hears: boolean }) => Promise<void>,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let nth = 1; nth <= tasks; nth++) {
    const begun: { at?: number; due?: number; fleet?: WokenFleet } = {};
    const begin = (): void => {
      begun.at = begun.fleet?.timeline.now ?? NaN;
    };
    const due = (): void => {
      begun.due = (begun.fleet?.timeline.now ?? NaN) + DELAY_MS;
    };
    const again = { retry: { maxAttempts: 3 } };
    const registry = registerTasks({
      delayed: defineTask({ name: 'delayed', run: begin }),
      retries: defineTask({
        name: 'retries',
        ...again,
        async run(_, task) {
          if (task.progress !== undefined) {
            begin();
            return;
          }
          await task.saveProgress(1);
          due();
          throw new RetryAfter(DELAY, 'busy');
        },
      }),
      snoozes: defineTask({
        name: 'snoozes',
        async run(_, task) {
          if (task.progress !== undefined) {
            begin();
            return undefined;
          }
          await task.saveProgress(1);
          due();
          return task.snooze(DELAY);
        },
      }),
    });
    const fleet = new WokenFleet({
      seed: BigInt(nth),
      registry,
      maxWorkers: 1,
      startWithinMs: 10_000,
      latencies,
      wakes: 'dropped',
      tickEveryMs: 1e9,
      workerLifeMs: 1e9,
    });
    begun.fleet = fleet;
    const { clock, random } = fleet.place('user').runtime;
    void workForEver(fleet, registry, scene);
    const one = async (): Promise<void> => {
      const { least, most } = scene.idleMs;
      await clock.sleep(least + random.next() * (most - least));
      if (scene.task === 'delayed') due();
      const delay: EnqueueOptions = scene.task === 'delayed' ? { delay: DELAY } : {};
      await fleet.client.enqueue(scene.task, null, { id: 't', ...delay, ...scene.options });
      const { kind } = await fleet.client.result('t', { wait: '10m' });
      if (kind !== 'done') throw new Error(`the task is ${kind}`);
    };
    await fleet.run(one());
    times.push((begun.at ?? NaN) - (begun.due ?? NaN));
  }
  return times;
}
