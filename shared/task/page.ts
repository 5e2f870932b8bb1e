/**
 * A page: many small tasks, its items, in one row.
 *
 *     enqueue ──▶ one task row whose input is a list ──▶ claimed, kept alive, handed back and taken over as any task
 *                   each item: open ──▶ done        recorded in the row, some at a time, or one by one with writes of the user's own
 *                                  └──▶ moved       a task of its own from here on: to be retried, snoozed, or dead
 *                                  └──▶ cancelled   by an operator
 *                 nothing open ──▶ the page is done
 *
 * Guarantees, for each item, what a task of its own would have
 *   - It runs at least once. Its effect is once where it goes through `commit`: one transaction with the user's writes, conditional on the
 *     page's lease counter and on the item being open.
 *   - A holder that was taken over can record, move or commit no item: every write names the counter and the session.
 *   - Items that are recorded do not run again, whichever worker has the page: hand-back, take-over and redrive keep what is recorded.
 *   - One that fails leaves the page for a row of its own, in one transaction,
 *     and delays none of the others; from then on it is a task like any.
 *   - One that kills its worker is found, moved out and buried alone: see `suspect.ts`. The others live.
 *
 * Does not guarantee
 *   - That an item whose code has ended is recorded at once.
 *     Ends are written together, after `flushInterval` at the latest; a crash repeats
 *     those that were not yet. What was committed through `commit` is recorded with it.
 *   - Identity by input or by a name of the item's own. An item is known by the id of its bulk and its position; see `request.ts`.
 *   - Company: the items of a page run one after the other. What runs side by side are pages.
 *
 * A row is billed by its size with every write, so a page is cheap as long as it stays within 1 KB; inputs are stored deflated.
 */
import type { Json, PageState, RunningTask, TaskKey, TaskRecord } from './task.ts';

/** A task that is a page. */
export type PageOf<Task extends TaskRecord> = Task & { readonly bulk: PageState; readonly input: readonly Json[] };

export function isPage<Task extends TaskRecord>(task: Task): task is PageOf<Task> {
  return task.bulk !== undefined;
}

/** Whether it is still to be run in its page. */
export function isOpen(
  { done, moved, cancelled }: Pick<PageState, 'done' | 'moved' | 'cancelled'>,
  index: number,
): boolean {
  return !done.has(index) && !moved.has(index) && !cancelled.has(index);
}

/** Indexes of the open items, in order. */
export function openItems({ input, bulk }: PageOf<TaskRecord>): number[] {
  return input.flatMap((_, index) => (isOpen(bulk, index) ? [index] : []));
}

/** An item's id: its own row's key, should it ever have one. */
export function itemId(page: string, index: number): string {
  return `${page}/${index}`;
}

/** The page and the position that an id speaks of, if it can be an item's. */
export function parseItemId({ queue, id }: TaskKey): { readonly page: TaskKey; readonly index: number } | undefined {
  const [, page, index] = /^(.+)\/(0|[1-9]\d{0,2})$/s.exec(id) ?? [];
  return page === undefined ? undefined : { page: { queue, id: page }, index: Number(index) };
}

/** An item as the running task that its code sees: the page's claim under the item's own name. */
export function itemTask(page: PageOf<RunningTask>, index: number): RunningTask {
  const id = itemId(page.id, index);
  const input = page.input[index] ?? null;
  return { ...page, id, input, bulk: undefined, progress: undefined, children: undefined, cancellation: undefined };
}

/** More would make every write of the row expensive. */
export const PAGE_SIZE_LIMIT = 100;
/** JSON, of all inputs of a page. A single item that is larger than this wants a row of its own. */
export const PAGE_INPUT_LIMIT_BYTES = 8 * 1024;
/** JSON, of what one item returns, where that is kept. */
export const ITEM_RESULT_LIMIT_BYTES = 256;
