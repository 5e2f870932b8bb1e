/**
 * A pack: many small tasks, its items, in one row.
 *
 *     enqueue ──▶ one task row whose input is a list ──▶ claimed, kept alive, handed back and taken over as any task
 *                   each item: open ──▶ done        recorded in the row, some at a time, or one by one with the user's own writes
 *                                  └──▶ moved       a separate task from here on: to be retried, snoozed, handed back, or dead
 *                                  └──▶ cancelled   by an operator
 *                 nothing open ──▶ the pack is done
 *
 * Guarantees for each item, the same as for a separate task
 *   - It runs at least once. Its effect is once if it uses `commit`: one transaction with the user's writes, conditional on the
 *     pack's lease counter and on the item being open.
 *   - A holder that was taken over cannot record, move or commit an item: every write names the counter and the session.
 *   - Recorded items do not run again, whichever worker has the pack: hand-back, take-over and retry keep the records.
 *   - An item that fails moves to its own row, in one transaction,
 *     and does not delay the other items. From then on it is a normal task.
 *   - An item that was handed back after most of its worker's life also leaves, because otherwise no worker would reach
 *     the items behind it.
 *   - An item that kills its worker is found, moved out and marked dead alone: see `suspect.ts`. The others survive.
 *
 * Does not guarantee
 *   - That an item is recorded as soon as its code has ended.
 *     Ends are written together, after `flushInterval` at the latest; a crash repeats
 *     items that were not recorded yet. A `commit` records its item in the same transaction.
 *   - Identity by input or by the item's own name. An item is identified by its bulk's id and its position; see `task-request.ts`.
 *   - Concurrency: the items of a pack run one after the other. Packs run concurrently.
 *
 * A row is billed by its size with every write, so a pack is cheap as long as it stays within 1 KB; inputs are stored deflated.
 */
import type { Json, PackState, RunningTask, TaskKey, TaskRecord } from './task.ts';

/** A task that is a pack. */
export type PackOf<Task extends TaskRecord> = Task & { readonly bulk: PackState; readonly input: readonly Json[] };

export function isPack<Task extends TaskRecord>(task: Task): task is PackOf<Task> {
  return task.bulk !== undefined;
}

/** Whether the item still has to run in its pack. */
export function isOpen(
  { done, moved, cancelled }: Pick<PackState, 'done' | 'moved' | 'cancelled'>,
  index: number,
): boolean {
  return !done.has(index) && !moved.has(index) && !cancelled.has(index);
}

export function openItems({ input, bulk }: PackOf<TaskRecord>): number[] {
  return input.flatMap((_, index) => (isOpen(bulk, index) ? [index] : []));
}

/** Returns an item's id, which is also the key of its own row if it gets one. */
export function itemId(pack: string, index: number): string {
  return `${pack}/${index}`;
}

/** Returns the pack and the position that an id names, if it can be an item's id. */
export function parseItemId({ queue, id }: TaskKey): { readonly pack: TaskKey; readonly index: number } | undefined {
  const [, pack, index] = /^(.+)\/(0|[1-9]\d{0,2})$/s.exec(id) ?? [];
  return pack === undefined ? undefined : { pack: { queue, id: pack }, index: Number(index) };
}

/** Returns an item as the running task that its code sees: the pack's claim with the item's own name. */
export function itemTask(pack: PackOf<RunningTask>, index: number): RunningTask {
  const id = itemId(pack.id, index);
  const input = pack.input[index] ?? null;
  return { ...pack, id, input, bulk: undefined, progress: undefined, children: undefined, cancellation: undefined };
}

/** A larger number would make every write of the row expensive. */
export const PACK_SIZE_LIMIT = 100;
/** Limit of all inputs of a pack as JSON. A larger single item needs its own row. */
export const PACK_INPUT_LIMIT_BYTES = 8 * 1024;
/** Limit of an item's result as JSON, if results are kept. */
export const ITEM_RESULT_LIMIT_BYTES = 256;
