/**
 * One worker's view of key slots: the keys at capacity, the tasks that it postponed for them, and the tasks that it parks.
 * When one of its own tasks frees a slot, the next task of the key gets it: first a task whose row was just read, otherwise a parked task,
 * which is unparked in the background.
 */
import { CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Fullness, KeyLimit } from '../task/key-limit.ts';
import { expectedWaitMs } from '../task/key-limit.ts';
import { PARKED_FROM_MS, REPAIR_EVERY_MS } from '../task/parking.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { ReadyTask, TaskKey, TaskLinks } from '../task/task.ts';
import { FRESH_MS, FULL_KEY, HELD_RECHECK_MS, PAGE_ENTRIES, STAY_FOR_KEY_MS } from './tuning.ts';

/** A task, and its key, which may be at capacity. */
export type Linked = TaskKey & { readonly links?: TaskLinks | undefined };

interface KeyPlacesPorts {
  readonly tasks: TaskStore;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

interface Seen {
  readonly full: Fullness;
  /** Wall clock. How long the key had been idle by then predicts when a slot becomes free. */
  readonly at: number;
  /** The key counts as full until then. */
  readonly until: number;
}

export class KeyCapacity {
  readonly #queue: string;
  readonly #ports: KeyPlacesPorts;
  /** By limit of a key: the last time it was seen full. */
  readonly #full = new Map<string, Seen>();
  /** By key: when it was first seen full, for keys whose latest task start is unknown. */
  readonly #fullSince = new Map<string, number>();
  /** By key and id: tasks that found their key full, and the time until which they are postponed. */
  readonly #postponed = new Map<string, Map<string, { readonly task: Linked; readonly until: number }>>();
  /** By key of postponed tasks: monotonic time from which some of them are worth a read, even if no task of the key has ended here. */
  readonly #callAt = new Map<string, number>();
  /** By key and task id: postponed tasks, and the time until which they may be tried without reading them again. */
  readonly #waiting = new Map<string, Map<string, { readonly task: ReadyTask; readonly untilMonotonicMs: number }>>();
  /** By key: monotonic time when the latest of its tasks ended here. */
  readonly #endedHereAt = new Map<string, number>();
  /** By key: its tasks that are being tried or are running here. */
  readonly #tried = new Map<string, Set<string>>();
  /**
   * By key: until then, other workers are assumed to run tasks of the key, also when the first one is tried here. Without that, `bench keys`
   * with limit 30 gets half the tasks a second. Monotonic.
   */
  readonly #sharedUntil = new Map<string, number>();
  /** Keys with a slot that was freed here and for which no task has been unparked yet. */
  readonly #owed = new Set<string>();
  /** By limit with a rate: the start of the window that one visible task waits for. */
  readonly #headAt = new Map<string, number>();
  /** The part of the queue that this worker serves, and of a key's limit that it takes while other workers run tasks of the key. */
  readonly #part: number;
  #nextRepairMonotonicMs: number;

  /** @param hasDispatcher whether ticks repair parked tasks; if not, even a short-lived worker repairs them before it exits */
  constructor(
    queue: string,
    ports: KeyPlacesPorts,
    { hasDispatcher, part }: { readonly hasDispatcher: boolean; readonly part: number },
  ) {
    this.#queue = queue;
    this.#ports = ports;
    this.#part = part;
    this.#nextRepairMonotonicMs = hasDispatcher ? ports.runtime.clock.monotonic() + REPAIR_EVERY_MS : -Infinity;
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
    const seen = { until: full.until, enteredAt };
    this.#full.set(limitName(links.concurrency), {
      full: seen,
      at: now,
      until: Math.max(full.until ?? 0, now + forMs),
    });
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
    if (clock.now() < (this.#full.get(limitName(links.concurrency))?.until ?? 0)) return false;
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
  postpone({ queue, id, links }: Linked, forMs: number): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    const { clock } = this.#ports.runtime;
    const names = this.#postponed.get(key) ?? new Map<string, never>();
    this.#postponed.set(key, names.set(id, { task: { queue, id, links }, until: clock.now() + forMs }));
    if (!this.#callAt.has(key)) this.#callAt.set(key, clock.monotonic() + HELD_RECHECK_MS);
  }

  /** Remembers a task of a full key whose row was just read: it may get the next slot that is freed here. */
  remember(task: ReadyTask): void {
    const key = task.links?.concurrency?.key;
    if (key === undefined) return;
    const waiting = this.#waiting.get(key) ?? new Map<string, never>();
    const untilMonotonicMs = this.#ports.runtime.clock.monotonic() + FRESH_MS;
    this.#waiting.set(key, waiting.set(task.id, { task, untilMonotonicMs }));
  }

  /** Returns the first remembered task for the slot that this task has freed, if it may still be tried. Forgets it and all before it. */
  nextOf({ links }: Linked, mayBeTried: (task: ReadyTask) => boolean): ReadyTask | undefined {
    const waiting = links?.concurrency === undefined ? undefined : this.#waiting.get(links.concurrency.key);
    const now = this.#ports.runtime.clock.monotonic();
    for (const [id, { task, untilMonotonicMs }] of waiting ?? []) {
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

  /** Returns the first few postponed tasks of its key, which are no longer postponed. */
  callBack({ links }: Linked): readonly TaskKey[] {
    if (links?.concurrency === undefined) return [];
    const { key } = links.concurrency;
    const names = this.#postponed.get(key);
    const called = [...(names?.values() ?? [])].slice(0, aheadOf(links.concurrency)).map(({ task }) => task);
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
    return [...this.#postponed.keys()].some(
      (key) => now < (this.#endedHereAt.get(key) ?? -Infinity) + STAY_FOR_KEY_MS && !this.#isOutOfRate(key),
    );
  }

  /** Notes that its key has a free slot, or capacity in its window, for another task. */
  owe({ links }: Linked): void {
    if (links?.concurrency !== undefined) this.#owed.add(links.concurrency.key);
  }

  get isOwing(): boolean {
    return this.#owed.size > 0;
  }

  /** Unparks tasks whose key has capacity now. Best effort: a repair later unparks any missed task. */
  async takeNextOfKey(reservedOf: (key: string) => number): Promise<readonly ReadyTask[]> {
    const back: ReadyTask[] = [];
    for (const key of this.#owed) {
      this.#owed.delete(key);
      const at = { now: this.#ports.runtime.clock.now(), reserved: reservedOf(key) };
      back.push(...(await this.#try(() => this.#ports.tasks.parking.putBack(this.#queue, key, at))));
    }
    return back;
  }

  /** Unparks missed tasks at intervals of `REPAIR_EVERY_MS`. */
  async repair(): Promise<readonly ReadyTask[]> {
    const { clock, random } = this.#ports.runtime;
    if (clock.monotonic() < this.#nextRepairMonotonicMs) return [];
    this.#nextRepairMonotonicMs = clock.monotonic() + REPAIR_EVERY_MS;
    const at = { now: clock.now(), from: random.next(), onDamaged: this.#ports.onDamaged };
    return this.#try(() => this.#ports.tasks.parking.repairParked(this.#queue, at));
  }

  /**
   * Parks tasks of full keys that will probably wait for long. Returns the tasks whose key turns out to have capacity.
   */
  async park(tasks: readonly ReadyTask[]): Promise<readonly ReadyTask[]> {
    const byLimit = Map.groupBy(
      tasks.filter((task) => this.#isWorthParking(task)),
      ({ links }) => (links?.concurrency === undefined ? '' : limitName(links.concurrency)),
    );
    const back: ReadyTask[] = [];
    for (const [name, ofLimit] of byLimit) {
      const key = ofLimit[0]?.links?.concurrency?.key;
      if (key === undefined) continue;
      const rest = await this.#withoutHead(name, ofLimit);
      const { parking } = this.#ports.tasks;
      for (const { id } of rest) {
        this.#postponed.get(key)?.delete(id);
        this.#waiting.get(key)?.delete(id);
      }
      const writes = rest.map((task) => ({ task, write: stampOf(this.#ports.runtime) }));
      back.push(...(await this.#try(() => parking.park(writes, key))));
    }
    return back;
  }

  forget(): void {
    const { clock } = this.#ports.runtime;
    const now = clock.now();
    for (const [name, { until }] of this.#full) if (until <= now) this.#full.delete(name);
    for (const key of this.#fullSince.keys()) if (!this.#postponed.has(key)) this.#fullSince.delete(key);
    for (const [name, until] of this.#headAt) if (until <= now) this.#headAt.delete(name);
    for (const [key, rows] of this.#waiting) {
      for (const [id, { untilMonotonicMs }] of rows) if (untilMonotonicMs < clock.monotonic()) rows.delete(id);
      if (rows.size === 0) this.#waiting.delete(key);
    }
    for (const [key, until] of this.#sharedUntil)
      if (until <= clock.monotonic() && !this.#tried.has(key)) this.#sharedUntil.delete(key);
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

  #isWorthParking({ links, isHeld }: ReadyTask): boolean {
    const limit = links?.concurrency;
    const seen = limit === undefined ? undefined : this.#full.get(limitName(limit));
    if (limit === undefined || seen === undefined || isHeld) return false;
    const waiting = this.#postponed.get(limit.key)?.size ?? 1;
    return expectedWaitMs(limit, seen.full, waiting, seen.at) >= PARKED_FROM_MS;
  }

  /** A new window starts without any task ending, so one of the waiting tasks stays visible and becomes due then. Returns the others. */
  async #withoutHead(name: string, tasks: readonly ReadyTask[]): Promise<readonly ReadyTask[]> {
    const until = this.#full.get(name)?.full.until;
    const [head, ...others] = tasks;
    if (until === undefined || head === undefined || this.#headAt.get(name) === until) return tasks;
    this.#headAt.set(name, until);
    await this.#try(async () => {
      await this.#ports.tasks.parking.defer(head, until, stampOf(this.#ports.runtime));
      return [];
    });
    return others;
  }

  #isOutOfRate(key: string): boolean {
    const now = this.#ports.runtime.clock.now();
    return [...this.#full].some(([name, { until }]) => until > now + FULL_KEY.most && name.startsWith(keyName(key)));
  }

  /** If the store does not respond, tasks stay visible, or stay parked until a repair. The worker continues in both cases. */
  async #try(write: () => Promise<readonly ReadyTask[]>): Promise<readonly ReadyTask[]> {
    try {
      return await write();
    } catch (error) {
      if (error instanceof CorruptItemError) this.#ports.onDamaged(error);
      else if (!(error instanceof StoreUnavailableError)) throw error;
      return [];
    }
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
