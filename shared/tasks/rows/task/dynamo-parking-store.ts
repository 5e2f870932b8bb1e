import { CorruptItemError, StoreUnavailableError } from '../../../core/errors.ts';
import type { WriteLimits } from '../../../core/lease/outcome.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import { allOf } from '../../../core/runtime/all-of.ts';
import { inFlight } from '../../../core/runtime/in-flight.ts';
import type { KeyState } from '../../task/key-limit.ts';
import { entered, hasCapacity, isOutOfRate } from '../../task/key-limit.ts';
import type { ParkingStore } from '../../task/parking.ts';
import type { ReadyTask, TaskRecord } from '../../task/task.ts';
import { readInBatches } from '../../../dynamo/engine/batches.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { parkedPartitionKey, parkedPartitionKeys, splitKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { ownEntries } from '../index-entries.ts';
import { behindKeyOf, parkedPlace, parkedPrefix, parseParkedPlace } from './index-places.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { batchGetStatement } from '../../../dynamo/engine/statement.ts';
import { decodeKey } from '../key-codec.ts';
import { readKey } from '../key-statements.ts';
import { decodeTask } from './task-codec.ts';
import type { ParkedEntry } from './parking-statements.ts';
import { deferTask, pageOfParked, parkTask, putBackTask } from './parking-statements.ts';
import { isParkedItem } from './place.ts';

/** A parked task, and its entry. The task may have changed since it was read. */
interface Parked {
  readonly entry: ParkedEntry;
  readonly task: TaskRecord;
}

/** Position of a walk through all parked tasks of a queue. */
interface ParkedCursor {
  readonly partition: number;
  readonly within: string;
}

/** Number of concurrent writes: in a flood, a worker parks a page of tasks at a time. */
const WRITES_AT_ONCE = 16;
/** Entries of one key per read: within half a read unit. */
const ENTRIES = 25;
/** Number of rows to read at a time. Usually only one slot is free. */
const ROWS_AT_A_TIME = 4;
/** Entries per page for operators: one batch reads the rows behind them. */
const PAGE = 100;
/** Maximum pages to read while all their entries are foreign. */
const FOREIGN_PAGES = 40;
/** Keys of one partition per repair; the next repair begins elsewhere. */
const KEYS_LIMIT = 50;
/** Positions begin with this many digits of a hash. */
const DIGITS = 8;
/** Sort before and after all positions. */
const [FIRST, LAST] = [' ', '~'];

export function createParkingStore(sender: Sender, table: string): ParkingStore {
  return {
    async park(observed, key, limits) {
      const someAtATime = inFlight(WRITES_AT_ONCE);
      const writes = await Promise.allSettled(
        observed.map(({ task, write }) => someAtATime(() => parkOne(task, key, write, limits))),
      );
      const there = writes.flatMap((write) => (write.status === 'fulfilled' ? write.value : []));
      const failure = writes.find((write) => write.status === 'rejected');
      if (failure !== undefined && !(failure.reason instanceof StoreUnavailableError)) throw failure.reason;
      const [first] = observed;
      if (there.length === 0 || first === undefined) return [];
      // A task that ended between the read of the full key and this write found nothing to unpark.
      return putBackFitting(first.task.queue, key, [there], { now: first.write.now, reserved: 0 });
    },

    async defer(observed, readyAt, stamp, limits) {
      await sender.write(deferTask(table, observed, readyAt, stamp), stamp.nonce, limits);
    },

    async page(queue, after) {
      const { partition, within } = (after ?? { partition: 0, within: FIRST }) as ParkedCursor;
      const partitions = parkedPartitionKeys(queue);
      const query = { from: within, to: LAST, limit: PAGE };
      const { entries, next } = await entriesOf(queue, partitions[partition] ?? '', query);
      const hints = entries.map(({ key, place }) => {
        const [, , id = ''] = splitKey(key.pk);
        return { queue, id, ...parseParkedPlace(place) };
      });
      if (next !== undefined) return { hints, next: { partition, within: next } };
      return {
        hints,
        next: partition + 1 < partitions.length ? { partition: partition + 1, within: FIRST } : undefined,
      };
    },

    putBack: (queue, key, { now, reserved = 0 }) => putBackOfKey(queue, key, { now, reserved, rows: ROWS_AT_A_TIME }),

    async repairParked(queue, { now, from, onDamaged }) {
      const start = Math.floor(from * 16 ** DIGITS)
        .toString(16)
        .padStart(DIGITS, '0');
      const ofPartitions = await allOf(
        parkedPartitionKeys(queue).map((partition) =>
          repairPartition({ queue, partition, onDamaged }, start, (entry) => repairFrom(queue, entry, now, onDamaged)),
        ),
      );
      return ofPartitions.flat();
    },
  };

  async function parkOne(
    task: ReadyTask,
    key: string,
    stamp: Stamp,
    limits: WriteLimits | undefined,
  ): Promise<Parked[]> {
    if (task.isParked) return [];
    const { kind } = await sender.write(parkTask(table, task, key, stamp), stamp.nonce, limits);
    const entry = { key: taskKey(task.queue, task.id), place: parkedPlace({ ...task, key }, task.id) };
    return kind === 'applied' ? [{ entry, task: { ...task, nonce: stamp.nonce, isParked: true } }] : [];
  }

  /** @param rows read at a time: if all are too large, the others are assumed to be too */
  async function putBackOfKey(
    queue: string,
    key: string,
    { now, rows, reserved }: { readonly now: number; readonly rows: number; readonly reserved: number },
  ): Promise<readonly ReadyTask[]> {
    const prefix = parkedPrefix(key);
    const query = { from: prefix, to: prefix + LAST, limit: ENTRIES };
    const { entries } = await entriesOf(queue, parkedPartitionKey(queue, key), query);
    if (entries.length === 0) return [];
    const batches = Array.from({ length: Math.ceil(entries.length / rows) }, (_, batch) =>
      entries.slice(batch * rows, (batch + 1) * rows),
    );
    return putBackFitting(queue, key, batches, { now, reserved });
  }

  /** Unparks as many tasks as the key has capacity for, in their order, and also all tasks that no longer need its slots. */
  async function putBackFitting(
    queue: string,
    key: string,
    batches: readonly (readonly (ParkedEntry | Parked)[])[],
    { now, reserved }: { readonly now: number; readonly reserved: number },
  ): Promise<readonly ReadyTask[]> {
    const state = decodeKey((await sender.read(readKey(table, queue, key))).Item);
    const room = new Room(key, { ...state, running: state.running + reserved, started: state.started + reserved }, now);
    const back: ReadyTask[] = [];
    for (const batch of batches) {
      const fitting = (await withTasks(batch)).filter(({ task }) => room.admits(task));
      if (fitting.length === 0) break;
      const rows = await allOf(fitting.map(({ entry, task }) => putBackOne(entry, task.tenant !== undefined)));
      back.push(...rows.flat());
    }
    return back;
  }

  async function putBackOne(entry: ParkedEntry, isOfTenant: boolean): Promise<ReadyTask[]> {
    const result = await sender.write(putBackTask(table, entry, { isOfTenant }), NO_NONCE);
    const row = result.kind === 'applied' && result.item !== undefined ? decodeTask(result.item) : undefined;
    return row?.state === 'ready' ? [row] : [];
  }

  /** Repairs the keys of a partition in a circle, from a different position each time. */
  async function repairPartition(
    of: { readonly queue: string; readonly partition: string; readonly onDamaged: (error: unknown) => void },
    start: string,
    repair: (first: ParkedEntry) => Promise<readonly ReadyTask[]>,
  ): Promise<readonly ReadyTask[]> {
    const firstOf = async (from: string, to: string): Promise<ParkedEntry | undefined> =>
      (await entriesOf(of.queue, of.partition, { from, to, limit: 1 }, of.onDamaged)).entries[0];
    if ((await firstOf(FIRST, LAST)) === undefined) return [];
    const back: ReadyTask[] = [];
    let [from, to] = [start, LAST];
    for (let keys = 0; keys < KEYS_LIMIT; keys++) {
      const first = await firstOf(from, to);
      if (first !== undefined) {
        from = behindKeyOf(first.place);
        back.push(...(await repair(first)));
      } else if (to === LAST) [from, to] = [FIRST, start];
      else break;
    }
    return back;
  }

  /** Unparks as many tasks of an entry's key as it has capacity for. Also unparks the entry itself if its position is wrong. */
  async function repairFrom(
    queue: string,
    entry: ParkedEntry,
    now: number,
    onDamaged: (error: unknown) => void,
  ): Promise<readonly ReadyTask[]> {
    const [item] = await itemsOf([entry]);
    if (item === undefined) return [];
    try {
      const key = decodeTask(item).links?.concurrency?.key;
      const belongs = key !== undefined && isParkedItem(item) && entry.place.startsWith(parkedPrefix(key));
      if (belongs) return await putBackOfKey(queue, key, { now, rows: ENTRIES, reserved: 0 });
      return await putBackOne(entry, item.parkedName !== undefined);
    } catch (error) {
      // A damaged row of one key or task must not block other keys.
      if (!(error instanceof CorruptItemError)) throw error;
      onDamaged(error);
      return [];
    }
  }

  /** Returns the next entries of the queue itself, and where to continue: foreign entries are skipped. */
  async function entriesOf(
    queue: string,
    partition: string,
    { from, to, limit }: { readonly from: string; readonly to: string; readonly limit: number },
    onDamaged?: (error: unknown) => void,
  ): Promise<{ readonly entries: readonly ParkedEntry[]; readonly next: string | undefined }> {
    let [place, isMore, own]: [string, boolean, readonly DynamoItem[]] = [from, true, []];
    for (let page = 0; page < FOREIGN_PAGES && own.length === 0 && isMore; page++) {
      const query = { from: place, to, limit: page === 0 ? limit : PAGE };
      const { Items = [], LastEvaluatedKey } = await sender.read(pageOfParked(table, partition, query));
      own = ownEntries(Items, { kind: 'task', queue }, onDamaged);
      isMore = LastEvaluatedKey !== undefined && Items.length > 0;
      place = `${String(Items.at(-1)?.directoryName)} `;
    }
    const entries = own.map(({ pk, sk, directoryName }) => ({
      key: { pk: String(pk), sk: String(sk) },
      place: String(directoryName),
    }));
    return { entries, next: isMore ? place : undefined };
  }

  /** Eventually consistent, because the guard of each write decides. */
  async function itemsOf(entries: readonly ParkedEntry[]): Promise<readonly DynamoItem[]> {
    const keys = entries.map(({ key }) => key);
    return readInBatches(sender, table, batchGetStatement('task.getMany', table, keys, { consistent: false }));
  }

  async function withTasks(batch: readonly (ParkedEntry | Parked)[]): Promise<readonly Parked[]> {
    const unread = batch.filter((one): one is ParkedEntry => !('task' in one));
    const items = unread.length === 0 ? [] : await itemsOf(unread);
    const tasks = new Map(
      items.flatMap((item) => readable(item)).map((task) => [taskKey(task.queue, task.id).pk, task]),
    );
    return batch.flatMap((one) => {
      if ('task' in one) return [one];
      const task = tasks.get(one.key.pk);
      return task === undefined ? [] : [{ entry: one, task }];
    });
  }
}

/** Remaining capacity of a key while its tasks are unparked one by one. */
class Room {
  readonly #key: string;
  readonly #now: number;
  #state: KeyState;
  #hasAdmitted = false;
  #hasHead = false;

  constructor(key: string, state: KeyState, now: number) {
    this.#key = key;
    this.#state = state;
    this.#now = now;
  }

  admits(task: TaskRecord): boolean {
    // A worker that read the row before it was parked has claimed the hidden task. Make it visible, so that a next holder can find it.
    if (task.state !== 'ready') return true;
    const { links, expiresAt } = task;
    const now = this.#now;
    const limit = links?.concurrency;
    // Other work under its id may have another key. An expired task needs no slot, because the worker that reads it drops it.
    if (limit?.key !== this.#key || (expiresAt !== undefined && expiresAt <= now)) return true;
    if (hasCapacity(limit, this.#state, now)) {
      this.#state = entered(limit, this.#state, now);
      this.#hasAdmitted = true;
      return true;
    }
    // If the key has used up its rate, one task stays visible and waits for the next window.
    const isHead = this.#hasAdmitted && !this.#hasHead && isOutOfRate(limit, this.#state, now);
    this.#hasHead ||= isHead;
    return isHead;
  }
}

/** Unparking writes no nonce. */
const NO_NONCE = '';

/** A damaged row stays parked, and does not block others. */
function readable(item: DynamoItem): TaskRecord[] {
  try {
    return [decodeTask(item)];
  } catch {
    return [];
  }
}
