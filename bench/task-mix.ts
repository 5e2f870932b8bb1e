/** No-op tasks for a bench, and their options in addition to the input. */
import type { EnqueueOptions, TaskClient } from '../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../shared/tasks/task/context.ts';
import { RetryAfter } from '../shared/tasks/task/control.ts';
import { defineTask } from '../shared/tasks/task/definition.ts';
import type { NewTask } from '../shared/tasks/task/task-store.ts';
import { PRIORITIES } from '../shared/tasks/task/task.ts';

export interface TaskMix {
  readonly hasPriorities: boolean;
  /** Number of keys of the tasks, each with a limit of 2; 0: no keys. */
  readonly keys: number;
  /** As keys, in strict order. */
  readonly lines: number;
  /** Number of tenants of the tasks; 0: no tenants. */
  readonly tenants: number;
  /** The share of tasks whose first attempt fails, in percent. */
  readonly retries: number;
}

export const PLAIN: TaskMix = { hasPriorities: false, keys: 0, lines: 0, tenants: 0, retries: 0 };

/** Fails the first attempts of its share, by the number in the input. */
export const noop = defineTask({
  name: 'noop',
  run({ fails }: { n: number; fails?: true }, { attempt }: TaskContext) {
    if (fails === true && attempt === 1) throw new RetryAfter(0, 'the first attempt fails');
  },
});

/** Validated at a time: the whole of a large backlog need not be in memory twice. */
const ENQUEUED_AT_A_TIME = 5_000;

/** Enqueues `tasks` tasks, one by one. */
export async function enqueueMix(client: TaskClient, tasks: number, mix: TaskMix, inFlight: number): Promise<void> {
  for (let from = 0; from < tasks; from += ENQUEUED_AT_A_TIME) {
    const some = Array.from({ length: Math.min(ENQUEUED_AT_A_TIME, tasks - from) }, (_, at) => from + at);
    const valid = some.map((n): Promise<NewTask> => client.validate(noop, inputOf(n, mix), optionsOf(n, mix)));
    await client.enqueueAll(await Promise.all(valid), { inFlight });
  }
}

function inputOf(n: number, { retries }: TaskMix): { n: number; fails?: true } {
  return n % 100 < retries ? { n, fails: true } : { n };
}

function optionsOf(n: number, { hasPriorities, keys, lines, tenants }: TaskMix): EnqueueOptions {
  return {
    ...(hasPriorities ? { priority: PRIORITIES[n % PRIORITIES.length] ?? 'normal' } : {}),
    ...(keys > 0 ? { key: `key-${n % keys}`, limit: 2 } : {}),
    ...(lines > 0 ? { key: `line-${n % lines}`, ordered: true } : {}),
    ...(tenants > 0 ? { tenant: `tenant-${n % tenants}` } : {}),
  };
}
