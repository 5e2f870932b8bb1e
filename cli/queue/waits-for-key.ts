import type { ReadyTask } from '../../shared/tasks/task/task.ts';

/** Describes why a task is parked. */
export function waitsForKey({ links }: Pick<ReadyTask, 'links'>): string {
  const { key, limit, rate } = links?.concurrency ?? {};
  const atATime = `${limit} at a time`;
  return `waits for a place of its key ${key}, which has ${rate === undefined ? atATime : `${atATime} and a rate`}`;
}
