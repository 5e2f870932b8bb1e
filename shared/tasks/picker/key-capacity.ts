/**
 * One worker's view of key slots: the keys at capacity, and the tasks that it postponed for them.
 * When one of its own tasks frees a slot, the next task of the key gets it: first a task whose row was just read.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Fullness, KeyLimit } from '../task/key-limit.ts';
import { fullnessOf } from '../task/key-limit.ts';
import type { GroupEntry, TaskStore } from '../task/task-store.ts';
import type { Look } from '../task/group-walk.ts';
import type { ReadyTask, TaskKey, TaskLinks } from '../task/task.ts';
import { KeyRunners, lookAtNothing } from './key-runners.ts';
import { FRESH_MS, FULL_KEY, HELD_RECHECK_MS, PAGE_ENTRIES, STAY_FOR_KEY_MS } from './tuning.ts';

/** A task, and its key, which may be at capacity. */
export type Linked = TaskKey & { readonly links?: TaskLinks | undefined };

/** A task that waits for its key. */
export type Waiting = Linked & Pick<ReadyTask, 'readyAt'>;

interface KeyPlacesPorts {
  readonly tasks: Pick<TaskStore, 'getKeys'>;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

interface CapacityOptions {
  readonly part: number;
  readonly heartbeatMs: number;
  /** Whether a task is not in hand, and was not read a moment ago. */
  readonly isWorthReading: (key: TaskKey) => boolean;
}

export class KeyCapacity {
  readonly #queue: string;
  readonly #ports: KeyPlacesPorts;
  /** The running tasks of full keys. */
  readonly runners: KeyRunners;
  /** By limit of a key: wall clock until which the key counts as full. */
  readonly #full = new Map<string, number>();
  /** By key: when it was first seen full, for keys whose latest task start is unknown. */
  readonly #fullSince = new Map<string, number>();
  /** By key and id: tasks that found their key full, and the time until which they are postponed. */
  readonly #postponed = new Map<string, Map<string, { readonly task: Waiting; readonly until: number }>>();
  /** By key of postponed tasks: monotonic time from which some of them are worth a read, even if no task of the key has ended here. */
  readonly #callAt = new Map<string, number>();
  /** By key and task id: postponed tasks, and the time until which they may be tried without reading them again. */
  readonly #waiting = new Map<string, Map<string, { readonly task: ReadyTask; readonly untilMonotonicMs: number }>>();
  /** By key: monotonic time when the latest of its tasks ended here. */
  readonly #endedHereAt = new Map<string, number>();
  /**
   * By full key whose limit allows each worker a task: until then it counts as moving, so that the next free slot may be this worker's share.
   * Monotonic.
   */
  readonly #movesUntil = new Map<string, number>();
  /** By key: its tasks that are being tried or are running here. */
  readonly #tried = new Map<string, Set<string>>();
  /**
   * By key: until then, other workers are assumed to run tasks of the key, also when the first one is tried here. Without that, `bench keys`
   * with limit 30 gets half the tasks a second. Monotonic.
   */
  readonly #sharedUntil = new Map<string, number>();
  /** The part of the queue that this worker serves, and of a key's limit that it takes while other workers run tasks of the key. */
  readonly #part: number;

  constructor(queue: string, ports: KeyPlacesPorts, { part, heartbeatMs, isWorthReading }: CapacityOptions) {
    this.#queue = queue;
    this.#ports = ports;
    this.#part = part;
    this.runners = new KeyRunners(ports.runtime.clock, heartbeatMs, isWorthReading);
  }

  /** Notes that a claim found the key full. The key's other tasks also wait for a moment, or for the next window if the rate is used up. */
  seeFull({ links }: Linked, full: Fullness): void {
    const now = this.#ports.runtime.clock.now();
    if (links?.concurrency === undefined) return;
    const { key, limit } = links.concurrency;
    this.#share(links.concurrency);
    const since = this.#fullSince.get(key) ?? now;
    this.#fullSince.set(key, since);
    const enteredAt = full.enteredAt ?? since;
    const leastMs = Math.max(FULL_KEY.least, FULL_KEY.oneSlot / limit);
    const forMs = Math.min(FULL_KEY.most, Math.max(leastMs, (now - enteredAt) / FULL_KEY.standing));
    this.#full.set(limitName(links.concurrency), Math.max(full.until ?? 0, now + forMs));
    this.runners.see(key, { running: full.running, enteredAt });
    if (full.until === undefined && limit * this.#part >= 1)
      this.#movesUntil.set(key, this.#ports.runtime.clock.monotonic() + HELD_RECHECK_MS - Math.max(0, now - enteredAt));
  }

  /** Whether the key of this limit was seen full a moment ago. */
  isFull(limit: KeyLimit): boolean {
    return this.#ports.runtime.clock.now() < (this.#full.get(limitName(limit)) ?? 0);
  }

  /** Returns what to read of the tasks of an entry's key, if the key is full or this worker has enough of its tasks. */
  lookAt(partition: string, entry: GroupEntry): Look | undefined {
    const { limit } = entry.hint;
    if (limit === undefined) return undefined;
    const tried = this.#tried.get(limit.key)?.size ?? 0;
    if (this.isFull(limit)) return this.runners.look(partition, entry, limit, tried);
    // This worker fills the key itself, and knows enough tasks for its next slots.
    const isOwnFull = !this.mayHaveRoom({ ...entry.hint, links: { concurrency: limit } });
    return isOwnFull && (this.#postponed.get(limit.key)?.size ?? 0) >= aheadOf(limit) ? lookAtNothing() : undefined;
  }

  /** Whether the key is full and all its running tasks are known. Then its other tasks, and entries that were read ahead, are not read. */
  isPassed(limit: KeyLimit): boolean {
    return this.isFull(limit) && this.runners.areKnown(limit.key, this.#tried.get(limit.key)?.size ?? 0);
  }

  /**
   * Leaves out the entries of keys without capacity, except the ones to look at. Reads the rows of unknown keys in one batch, because the
   * rows of tasks that cannot start cost more.
   */
  async withRoom(partition: string, entries: readonly GroupEntry[]): Promise<ReadonlySet<GroupEntry>> {
    const limits = new Map(entries.flatMap(({ hint }) => this.#isUnknown(hint.limit)));
    if (limits.size > 0) await this.#readKeys([...limits.values()]);
    return new Set(
      entries.filter((entry) => {
        const { limit } = entry.hint;
        if (limit === undefined || !limits.has(limitName(limit)) || !this.isFull(limit)) return true;
        const look = this.runners.look(partition, entry, limit, this.#tried.get(limit.key)?.size ?? 0);
        return look.left > 0 && look.pass(entry);
      }),
    );
  }

  async #readKeys(limits: readonly KeyLimit[]): Promise<void> {
    const { tasks, runtime, onDamaged } = this.#ports;
    const keys = [...new Set(limits.map(({ key }) => key))];
    const states = await tasks.getKeys(this.#queue, keys, onDamaged);
    const now = runtime.clock.now();
    for (const limit of limits) {
      const state = states.get(limit.key);
      const full = state && fullnessOf(limit, state, now);
      if (full !== undefined) this.seeFull({ queue: this.#queue, id: '', links: { concurrency: limit } }, full);
    }
  }

  /**
   * Whether its key may have capacity, as far as this worker knows: the key was not seen full a moment ago,
   * and fewer of its tasks are tried or run here than its limit.
   * One more task is tried, to find out whether other workers hold slots, unless a task of the key has just ended here.
   * While other workers run tasks of the key, it takes one more than its share of the limit, or most claims would be refused.
   */
  mayHaveRoom({ links }: Linked): boolean {
    if (links?.concurrency === undefined) return true;
    const { key, limit } = links.concurrency;
    const { clock } = this.#ports.runtime;
    if (this.isFull(links.concurrency)) return false;
    const tried = this.#tried.get(key)?.size ?? 0;
    const share = Math.max(1, Math.floor(limit * this.#part));
    if (share < limit && clock.monotonic() < (this.#sharedUntil.get(key) ?? Infinity)) return tried <= share;
    const hasPassedOn = clock.monotonic() < (this.#endedHereAt.get(key) ?? -Infinity) + STAY_FOR_KEY_MS;
    return hasPassedOn ? tried < limit : tried <= limit;
  }

  /** Counts a task that is being tried here. */
  enter({ id, links }: Linked): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    if (!this.#sharedUntil.has(key)) this.#share(links.concurrency);
    this.#tried.set(key, (this.#tried.get(key) ?? new Set()).add(id));
  }

  /** Stops counting a task that is no longer tried or run here. */
  leave({ id, links }: Linked): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    const tried = this.#tried.get(key);
    tried?.delete(id);
    if (tried?.size === 0) this.#tried.delete(key);
  }

  /** Notes that another worker was faster to take the last slot of its key. */
  loseSlot({ links }: Linked): void {
    if (links?.concurrency !== undefined) this.#share(links.concurrency);
  }

  /** Postpones a task of a full key until its key has capacity, at most for `forMs`. */
  postpone({ queue, id, readyAt, links }: Waiting, forMs: number): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    const { clock } = this.#ports.runtime;
    const names = this.#postponed.get(key) ?? new Map<string, never>();
    this.#postponed.set(key, names.set(id, { task: { queue, id, readyAt, links }, until: clock.now() + forMs }));
    if (!this.#callAt.has(key)) this.#callAt.set(key, clock.monotonic() + HELD_RECHECK_MS);
  }

  /** Forgets a task of a full key that was read. */
  unpostpone({ id, links }: Linked): void {
    if (links?.concurrency === undefined) return;
    this.#postponed.get(links.concurrency.key)?.delete(id);
    this.#waiting.get(links.concurrency.key)?.delete(id);
  }

  /** Remembers a task of a full key whose row was just read: it may get the next slot that is freed here. */
  remember(task: ReadyTask): void {
    const key = task.links?.concurrency?.key;
    if (key === undefined) return;
    const waiting = this.#waiting.get(key) ?? new Map<string, never>();
    const untilMonotonicMs = this.#ports.runtime.clock.monotonic() + FRESH_MS;
    this.#waiting.set(key, waiting.set(task.id, { task, untilMonotonicMs }));
  }

  /** Returns the oldest remembered task for the slot that this task has freed, if it may still be tried. Forgets it and all before it. */
  nextOf({ links }: Linked, mayBeTried: (task: ReadyTask) => boolean): ReadyTask | undefined {
    const waiting = links?.concurrency === undefined ? undefined : this.#waiting.get(links.concurrency.key);
    const now = this.#ports.runtime.clock.monotonic();
    const inOrder = [...(waiting ?? [])].sort(([, one], [, other]) => one.task.readyAt - other.task.readyAt);
    for (const [id, { task, untilMonotonicMs }] of inOrder) {
      waiting?.delete(id);
      if (now <= untilMonotonicMs && mayBeTried(task)) return task;
    }
    return undefined;
  }

  /** Whether a task is remembered for the key's next slot and stays fresh for long enough. */
  isNextKnown({ links }: Linked): boolean {
    const waiting = links?.concurrency === undefined ? undefined : this.#waiting.get(links.concurrency.key);
    const neededMs = this.#ports.runtime.clock.monotonic() + FRESH_MS / 2;
    return [...(waiting?.values() ?? [])].some(({ untilMonotonicMs }) => neededMs < untilMonotonicMs);
  }

  /** Notes that a task of the key has ended here: the key may have capacity. */
  ended({ links }: Linked): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    this.#endedHereAt.set(key, this.#ports.runtime.clock.monotonic());
    // The next claim finds out whether the rate allows more.
    this.#full.delete(limitName(links.concurrency));
    this.#fullSince.delete(key);
  }

  hasTurnedAway({ links }: Linked): boolean {
    return links?.concurrency !== undefined && (this.#postponed.get(links.concurrency.key)?.size ?? 0) > 0;
  }

  /** Returns the oldest few postponed tasks of its key, which are no longer postponed. */
  callBack({ links }: Linked): readonly TaskKey[] {
    if (links?.concurrency === undefined) return [];
    const { key } = links.concurrency;
    const names = this.#postponed.get(key);
    const called = [...(names?.values() ?? [])]
      .map(({ task }) => task)
      .sort((one, other) => one.readyAt - other.readyAt)
      .slice(0, aheadOf(links.concurrency));
    for (const { id } of called) names?.delete(id);
    this.#callAt.set(key, this.#ports.runtime.clock.monotonic() + HELD_RECHECK_MS);
    return called;
  }

  /** Does the same for a key that may have capacity because one of its tasks has ended in another worker. */
  callBackInTurn(): readonly TaskKey[] {
    const now = this.#ports.runtime.clock.monotonic();
    for (const [key, names] of this.#postponed) {
      const [first] = names.values();
      if (first !== undefined && (this.#callAt.get(key) ?? 0) <= now && this.mayHaveRoom(first.task))
        return this.callBack(first.task);
    }
    return [];
  }

  /**
   * Whether tasks wait for a slot of a key whose task has just ended here: the next slot may be ours again.
   * A worker does not stay for a key that other workers have filled, or for the next window of a rate.
   */
  get areExpecting(): boolean {
    const now = this.#ports.runtime.clock.monotonic();
    if ([...this.#movesUntil.values()].some((until) => now < until)) return true;
    return [...this.#postponed.keys()].some(
      (key) => now < (this.#endedHereAt.get(key) ?? -Infinity) + STAY_FOR_KEY_MS && !this.#isOutOfRate(key),
    );
  }

  forget(): void {
    const { clock } = this.#ports.runtime;
    const now = clock.now();
    // A rate may keep a key full for hours. Its row shows again how many of its tasks run.
    for (const key of this.runners.forget())
      for (const name of this.#full.keys()) if (name.startsWith(keyName(key))) this.#full.delete(name);
    for (const [name, until] of this.#full) if (until <= now) this.#full.delete(name);
    for (const key of this.#fullSince.keys())
      if (!this.#postponed.has(key) && !this.runners.has(key)) this.#fullSince.delete(key);
    for (const [key, rows] of this.#waiting) {
      for (const [id, { untilMonotonicMs }] of rows) if (untilMonotonicMs < clock.monotonic()) rows.delete(id);
      if (rows.size === 0) this.#waiting.delete(key);
    }
    for (const [key, until] of this.#sharedUntil)
      if (until <= clock.monotonic() && !this.#tried.has(key)) this.#sharedUntil.delete(key);
    for (const [key, until] of this.#movesUntil) if (until <= clock.monotonic()) this.#movesUntil.delete(key);
    const before = clock.monotonic() - STAY_FOR_KEY_MS;
    for (const [key, endedAt] of this.#endedHereAt) if (endedAt < before) this.#endedHereAt.delete(key);
    for (const [key, names] of this.#postponed) {
      for (const [name, { until }] of names) if (until <= now) names.delete(name);
      if (names.size > 0) continue;
      this.#postponed.delete(key);
      this.#callAt.delete(key);
    }
  }

  /** Unless its own tasks alone fill the key. */
  #share({ key, limit }: KeyLimit): void {
    if ((this.#tried.get(key)?.size ?? 0) > limit) return;
    this.#sharedUntil.set(key, this.#ports.runtime.clock.monotonic() + HELD_RECHECK_MS);
  }

  /** If a task of the key has just ended here, or is tried here, the key's row is not read: the next claim finds out. */
  #isUnknown(limit: KeyLimit | undefined): readonly (readonly [string, KeyLimit])[] {
    if (limit === undefined || this.isFull(limit) || (this.#tried.get(limit.key)?.size ?? 0) > 0) return [];
    const endedHereAt = this.#endedHereAt.get(limit.key) ?? -Infinity;
    return this.#ports.runtime.clock.monotonic() < endedHereAt + STAY_FOR_KEY_MS ? [] : [[limitName(limit), limit]];
  }

  #isOutOfRate(key: string): boolean {
    const now = this.#ports.runtime.clock.now();
    return [...this.#full].some(([name, until]) => until > now + FULL_KEY.most && name.startsWith(keyName(key)));
  }
}

/** Number of a key's rows to read at a time. */
function aheadOf({ limit }: KeyLimit): number {
  return Math.min(PAGE_ENTRIES, Math.max(FULL_KEY.ahead, limit));
}

/** If tasks of one key have different limits, each obeys its own. */
function limitName({ key, limit, rate }: KeyLimit): string {
  return `${keyName(key)}${limit} ${rate?.count} ${rate?.perMs}`;
}

function keyName(key: string): string {
  return `${JSON.stringify(key)} `;
}
