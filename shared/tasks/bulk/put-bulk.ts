/** Adds a bulk, and finds one of its items. */
import { isSame } from '../../core/runtime/same.ts';
import { MismatchError, assert } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Json, TaskKey, TaskRecord, TaskState } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import { isPack, parseItemId } from '../task/pack.ts';
import type { NewBulk } from './bulk-request.ts';
import type { NewPack, TaskAndPackStore } from './pack-store.ts';

export interface EnqueuedBulk {
  readonly id: string;
  readonly queue: string;
  readonly packs: number;
  /** Newly created packs. */
  readonly created: number;
  /** Ids of all items, in the order of their inputs. */
  readonly items: readonly string[];
}

export interface BulkItem extends TaskKey {
  readonly name: string;
  readonly input: Json;
  /**
   * `running` while its pack runs, even if the item has not started. An end within the last flush interval may not be recorded yet.
   * If the pack is `dead` or `cancelled`, so are its open items.
   */
  readonly state: TaskState;
  /** The item's result, if the definition keeps results. */
  readonly result: Json | undefined;
  readonly pack: string;
  readonly index: number;
  /** Its own row, once it has left its pack and until TTL deletes it. */
  readonly task: TaskRecord | undefined;
}

interface BulkPorts {
  readonly store: TaskAndPackStore;
  readonly runtime: Runtime;
}

/** About as many as keep one client process busy. */
const PACKS_IN_FLIGHT = 32;

/** @throws MismatchError when a pack's id belongs to other work; the other packs are still created */
export async function putBulk({ id, queue, packs, items }: NewBulk, ports: BulkPorts): Promise<EnqueuedBulk> {
  const run = inFlight(PACKS_IN_FLIGHT);
  const outcomes = await allOf(packs.map((pack) => run(() => putPack(pack, ports))));
  const mismatch = outcomes.find((outcome) => outcome instanceof MismatchError);
  if (mismatch !== undefined) throw mismatch;
  return { id, queue, packs: packs.length, created: outcomes.filter((outcome) => outcome === 'created').length, items };
}

async function putPack(pack: NewPack, { store, runtime }: BulkPorts): Promise<'created' | 'there' | MismatchError> {
  const outcome = await store.bulk.enqueue(pack, stampOf(runtime));
  if (outcome.kind === 'applied') return 'created';
  const current = outcome.current ?? (await store.get(pack));
  assert(current !== undefined, `${describeTask(pack)} was refused by a row that is not there`);
  const isSameWork = isPack(current) && current.name === pack.name && isSame(current.input, pack.input);
  return isSameWork
    ? 'there'
    : new MismatchError(
        describeTask(pack),
        `${describeTask(pack)} exists already (${current.state}) with other items: use another id, ` +
          'because the id of a bulk stands for the same inputs in the same order and packs',
      );
}

/** Returns undefined if no stored pack has such an item. Strongly consistent. */
export async function findItem(key: TaskKey, store: TaskAndPackStore): Promise<BulkItem | undefined> {
  const place = parseItemId(key);
  if (place === undefined) return undefined;
  const pack = await store.get(place.pack);
  if (pack === undefined || !isPack(pack) || place.index >= pack.input.length) return undefined;
  const task = pack.bulk.moved.has(place.index) ? await store.get(key) : undefined;
  return itemOf(pack, place.index, key, task);
}

function itemOf(pack: PackOf<TaskRecord>, index: number, key: TaskKey, task: TaskRecord | undefined): BulkItem {
  const { done, moved, cancelled, results } = pack.bulk;
  const base = {
    id: key.id,
    queue: pack.queue,
    name: pack.name,
    input: pack.input[index] ?? null,
    pack: pack.id,
    index,
    result: results[index],
    task,
  };
  if (done.has(index)) return { ...base, state: 'done' };
  // A moved item's row outlives its pack by the pack's retention, unless the item ended long before: TTL only deletes ended tasks.
  if (moved.has(index)) return { ...base, state: task?.state ?? 'done' };
  if (cancelled.has(index)) return { ...base, state: 'cancelled' };
  return { ...base, state: pack.state };
}
