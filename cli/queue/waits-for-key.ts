import type { ReadyTask } from '../../shared/tasks/task/task.ts';

/** Describes what a due task of a key waits for. */
export function waitsForKey({ links }: Pick<ReadyTask, 'links'>): string {
  const { key, limit, rate } = links?.concurrency ?? {};
  const atATime = `${limit} at a time`;
  return `waits for a place of its key ${key}, which has ${rate === undefined ? atATime : `${atATime} and a rate`}`;
}
