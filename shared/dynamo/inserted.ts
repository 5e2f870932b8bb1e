/** Finds the tasks that were inserted or changed, or for which something has arrived, from the keys in the records of a table's stream. */
import { splitKey } from './engine/keys.ts';

/** The part of a record that is read. */
export interface StreamRecord {
  readonly eventName?: string | undefined;
  readonly dynamodb?:
    | { readonly Keys?: Readonly<Record<string, { readonly S?: string | undefined }>> | undefined }
    | undefined;
}

/** Returns the ids of these records' inserted tasks, and of durable tasks with an arrival, by queue, in order and without duplicates. */
export function insertedTasks(records: readonly StreamRecord[]): ReadonlyMap<string, readonly string[]> {
  const inserted = records.filter(({ eventName }) => eventName === 'INSERT');
  return tasksIn(inserted, ['task', 'arrival']);
}

/** The same for tasks whose rows were inserted, changed or deleted. */
export function changedTasks(records: readonly StreamRecord[]): ReadonlyMap<string, readonly string[]> {
  return tasksIn(records, ['task']);
}

function tasksIn(records: readonly StreamRecord[], kinds: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const tasks = records.flatMap(({ dynamodb }) => {
    const [kind = '', queue, id] = splitKey(dynamodb?.Keys?.pk?.S ?? '');
    return kinds.includes(kind) && queue !== undefined && id !== undefined ? [{ queue, id }] : [];
  });
  const byQueue = Map.groupBy(tasks, ({ queue }) => queue);
  return new Map([...byQueue].map(([queue, some]) => [queue, [...new Set(some.map(({ id }) => id))]]));
}
