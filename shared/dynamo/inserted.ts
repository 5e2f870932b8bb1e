/** Which tasks were inserted, or changed, as the records of a table's stream tell: their keys are enough. */
import { splitKey } from './engine/keys.ts';

/** As much of a record as is read. */
export interface StreamRecord {
  readonly eventName?: string | undefined;
  readonly dynamodb?:
    | { readonly Keys?: Readonly<Record<string, { readonly S?: string | undefined }>> | undefined }
    | undefined;
}

/** Ids of the tasks that these records are of, by queue; each once, in their order. */
export function insertedTasks(records: readonly StreamRecord[]): ReadonlyMap<string, readonly string[]> {
  return changedTasks(records.filter(({ eventName }) => eventName === 'INSERT'));
}

/** The same for tasks whose rows were inserted, changed or deleted. */
export function changedTasks(records: readonly StreamRecord[]): ReadonlyMap<string, readonly string[]> {
  const tasks = records.flatMap(({ dynamodb }) => {
    const [kind, queue, id] = splitKey(dynamodb?.Keys?.pk?.S ?? '');
    return kind === 'task' && queue !== undefined && id !== undefined ? [{ queue, id }] : [];
  });
  const byQueue = Map.groupBy(tasks, ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, some]) => [queue, [...new Set(some.map(({ id }) => id))]]));
}
