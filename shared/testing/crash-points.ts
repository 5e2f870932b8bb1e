/** The three places of `kit.crash`, and the limit of `kit.runOnce`. */
import type { AnyTask, TaskRegistry } from '../tasks/task/definition.ts';
import type { TaskStore } from '../tasks/task/task-store.ts';

/**
 * The moment at which a worker crashes in `crash`:
 * `beforeRun`     after it has claimed a task, and before the task code starts.
 * `beforeSettle`  after the task code returns and before its result is stored. Writes to other systems happened; the commit did not.
 * `afterSettle`   after the result is stored and before the worker receives the response. The task is finished.
 */
export type CrashPoint = 'beforeRun' | 'beforeSettle' | 'afterSettle';

export const CRASH_POINTS: readonly CrashPoint[] = ['beforeRun', 'beforeSettle', 'afterSettle'];

export const NOT_NOW = { kind: 'refused', current: undefined, earlierAttempt: 'none' } as const;

/** Returns a store that allows at most `attempts` claims. */
export function limited(store: TaskStore, attempts: number, onSpent: () => void): TaskStore {
  let left = attempts;
  const spend = <T extends { readonly kind: string }>(outcome: T): T => {
    if (outcome.kind === 'applied') left--;
    return outcome;
  };
  return {
    ...store,
    page: (partition, query) => {
      if (left > 0) return store.page(partition, query);
      onSpent();
      return Promise.resolve({ hints: [], next: undefined });
    },
    claim: async (...claim) => (left > 0 ? spend(await store.claim(...claim)) : NOT_NOW),
    takeOver: async (...claim) => (left > 0 ? spend(await store.takeOver(...claim)) : NOT_NOW),
  };
}

/** Tasks whose worker dies before, or after, their code. */
export function dying(registry: TaskRegistry, point: CrashPoint, die: () => never): TaskRegistry {
  return mapTasks(registry, (definition) => ({
    ...definition,
    run: async (input, task) => {
      if (point === 'afterSettle') return definition.run(input, task);
      if (point === 'beforeSettle') await definition.run(input, { ...task, commit: die, snooze: die, waitFor: die });
      return die();
    },
  }));
}

export function mapTasks(registry: TaskRegistry, change: (definition: AnyTask) => AnyTask): TaskRegistry {
  return new Map([...registry].map(([name, definition]) => [name, change(definition)]));
}
