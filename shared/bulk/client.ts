/** Adding a bulk, and looking for one of its items. */
import { isSame } from '../runtime/same.ts';
import { MismatchError, assert } from '../errors.ts';
import { stampOf } from '../lease/stamp.ts';
import { allOf } from '../runtime/all-of.ts';
import { inFlight } from '../runtime/in-flight.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Json, TaskKey, TaskRecord, TaskState } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { PageOf } from '../task/page.ts';
import { isPage, parseItemId } from '../task/page.ts';
import type { NewBulk } from './request.ts';
import type { NewPage, TaskAndPageStore } from './store.ts';

export interface EnqueuedBulk {
  readonly id: string;
  readonly queue: string;
  readonly pages: number;
  /** Pages that were not there before. */
  readonly created: number;
  /** Ids of all items, in the order of their inputs. */
  readonly items: readonly string[];
}

/** One task of a bulk. */
export interface BulkItem extends TaskKey {
  readonly name: string;
  readonly input: Json;
  /**
   * `running` while its page runs, begun or not; what ended less than a flush interval ago may not be known yet.
   * `dead` and `cancelled` with its page, too.
   */
  readonly state: TaskState;
  /** What it returned, where the definition keeps it. */
  readonly result: Json | undefined;
  readonly page: string;
  readonly index: number;
  /** Its own row, once it has left its page and unless it has been swept. */
  readonly task: TaskRecord | undefined;
}

interface BulkPorts {
  readonly store: TaskAndPageStore;
  readonly runtime: Runtime;
}

/** One client process is busy with about as many. */
const PAGES_IN_FLIGHT = 32;

/** @throws MismatchError when a page's id stands for other work; the other pages are there all the same */
export async function putBulk({ id, queue, pages, items }: NewBulk, ports: BulkPorts): Promise<EnqueuedBulk> {
  const run = inFlight(PAGES_IN_FLIGHT);
  const outcomes = await allOf(pages.map((page) => run(() => putPage(page, ports))));
  const mismatch = outcomes.find((outcome) => outcome instanceof MismatchError);
  if (mismatch !== undefined) throw mismatch;
  return { id, queue, pages: pages.length, created: outcomes.filter((outcome) => outcome === 'created').length, items };
}

async function putPage(page: NewPage, { store, runtime }: BulkPorts): Promise<'created' | 'there' | MismatchError> {
  const outcome = await store.bulk.enqueue(page, stampOf(runtime));
  if (outcome.kind === 'applied') return 'created';
  const current = outcome.current ?? (await store.get(page));
  assert(current !== undefined, `${describeTask(page)} was refused by a row that is not there`);
  const isSameWork = isPage(current) && current.name === page.name && isSame(current.input, page.input);
  return isSameWork
    ? 'there'
    : new MismatchError(
        describeTask(page),
        `${describeTask(page)} is there already (${current.state}) with other items: a bulk's id stands for the same inputs in the same order and pages, give this one an id of its own`,
      );
}

/** Undefined when no page, or none any more, has such an item. Strongly consistent. */
export async function findItem(key: TaskKey, store: TaskAndPageStore): Promise<BulkItem | undefined> {
  const place = parseItemId(key);
  if (place === undefined) return undefined;
  const page = await store.get(place.page);
  if (page === undefined || !isPage(page) || place.index >= page.input.length) return undefined;
  const task = page.bulk.moved.has(place.index) ? await store.get(key) : undefined;
  return itemOf(page, place.index, key, task);
}

function itemOf(page: PageOf<TaskRecord>, index: number, key: TaskKey, task: TaskRecord | undefined): BulkItem {
  const { done, moved, cancelled, results } = page.bulk;
  const base = {
    ...{ id: key.id, queue: page.queue, name: page.name, input: page.input[index] ?? null },
    ...{ page: page.id, index, result: results[index], task },
  };
  if (done.has(index)) return { ...base, state: 'done' };
  // An item that left outlives its page by the page's retention, unless it ended long before: only what has ended is swept.
  if (moved.has(index)) return { ...base, state: task?.state ?? 'done' };
  if (cancelled.has(index)) return { ...base, state: 'cancelled' };
  return { ...base, state: page.state };
}
