/** The order in which candidates of one key are tried. */
import { limitText } from '../task/key-limit.ts';
import type { ReadyTask, RunningTask } from '../task/task.ts';

/** Puts the tasks of each key into their order, and leaves all others where they are. */
export function oldestFirst<One extends { readonly task: ReadyTask | RunningTask }>(
  found: readonly One[],
): readonly One[] {
  const limitOf = ({ task }: One): string | undefined =>
    task.state === 'ready' && task.isInGroup && task.links?.concurrency !== undefined
      ? `${task.tenant} ${limitText(task.links.concurrency)} ${task.links.concurrency.key}`
      : undefined;
  const sorted = new Map(
    [...Map.groupBy(found, limitOf)].map(([name, ofKey]) => [
      name,
      ofKey.toSorted((one, other) => one.task.readyAt - other.task.readyAt).values(),
    ]),
  );
  return found.map((one) => {
    const name = limitOf(one);
    return (name === undefined ? undefined : sorted.get(name)?.next().value) ?? one;
  });
}
