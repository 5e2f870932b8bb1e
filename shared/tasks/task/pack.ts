/**
 * A pack: many small tasks, its items, in one row.
 *
 *     enqueue ──▶ one task row whose input is a list ──▶ claimed, kept alive, handed back and taken over as any task
 *                   each item: open ──▶ done        recorded in the row, some at a time, or one by one with writes of the user's own
 *                                  └──▶ moved       a task of its own from here on: to be retried, snoozed, handed back, or dead
 *                                  └──▶ cancelled   by an operator
 *                 nothing open ──▶ the pack is done
 *
 * Guarantees, for each item, what a task of its own would have
 *   - It runs at least once. Its effect is once where it goes through `commit`: one transaction with the user's writes, conditional on the
 *     pack's lease counter and on the item being open.
 *   - A holder that was taken over can record, move or commit no item: every write names the counter and the session.
 *   - Items that are recorded do not run again, whichever worker has the pack: hand-back, take-over and redrive keep what is recorded.
 *   - One that fails leaves the pack for a row of its own, in one transaction,
 *     and delays none of the others; from then on it is a task like any.
 *   - So does one that was handed back after most of its worker's life: else no worker would come to those behind it.
 *   - One that kills its worker is found, moved out and buried alone: see `suspect.ts`. The others live.
 *
 * Does not guarantee
 *   - That an item whose code has ended is recorded at once.
 *     Ends are written together, after `flushInterval` at the latest; a crash repeats
 *     those that were not yet. What was committed through `commit` is recorded with it.
 *   - Identity by input or by a name of the item's own. An item is known by the id of its bulk and its position; see `task-request.ts`.
 *   - Company: the items of a pack run one after the other. What runs side by side are packs.
 *
 * A row is billed by its size with every write, so a pack is cheap as long as it stays within 1 KB; inputs are stored deflated.
 */
import type { Json, PackState, RunningTask, TaskKey, TaskRecord } from './task.ts';

/** A task that is a pack. */
export type PackOf<Task extends TaskRecord> = Task & { readonly bulk: PackState; readonly input: readonly Json[] };

export function isPack<Task extends TaskRecord>(task: Task): task is PackOf<Task> {
  return task.bulk !== undefined;
}

/** Whether it is still to be run in its pack. */
export function isOpen(
  { done, moved, cancelled }: Pick<PackState, 'done' | 'moved' | 'cancelled'>,
  index: number,
): boolean {
  return !done.has(index) && !moved.has(index) && !cancelled.has(index);
}

export function openItems({ input, bulk }: PackOf<TaskRecord>): number[] {
  return input.flatMap((_, index) => (isOpen(bulk, index) ? [index] : []));
}

/** An item's id: its own row's key, should it ever have one. */
export function itemId(pack: string, index: number): string {
  return `${pack}/${index}`;
}

/** The pack and the position that an id speaks of, if it can be an item's. */
export function parseItemId({ queue, id }: TaskKey): { readonly pack: TaskKey; readonly index: number } | undefined {
  const [, pack, index] = /^(.+)\/(0|[1-9]\d{0,2})$/s.exec(id) ?? [];
  return pack === undefined ? undefined : { pack: { queue, id: pack }, index: Number(index) };
}

/** An item as the running task that its code sees: the pack's claim under the item's own name. */
export function itemTask(pack: PackOf<RunningTask>, index: number): RunningTask {
  const id = itemId(pack.id, index);
  const input = pack.input[index] ?? null;
  return { ...pack, id, input, bulk: undefined, progress: undefined, children: undefined, cancellation: undefined };
}

/** More would make every write of the row expensive. */
export const PACK_SIZE_LIMIT = 100;
/** JSON, of all inputs of a pack. A single item that is larger than this wants a row of its own. */
export const PACK_INPUT_LIMIT_BYTES = 8 * 1024;
/** JSON, of what one item returns, where that is kept. */
export const ITEM_RESULT_LIMIT_BYTES = 256;
