/**
 * Slots of keys as one worker sees them: the keys that it knows to be full, the tasks that it postponed because of that,
 * and the tasks that it parks. When one of its own tasks frees a slot, the slot goes to the next task of the key that it has just read,
 * and in the background to parked tasks.
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

/** A task, and the key whose limit it may have reached. */
export type Linked = TaskKey & { readonly links?: TaskLinks | undefined };

interface KeyPlacesPorts {
  readonly tasks: TaskStore;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

interface Seen {
  readonly full: Fullness;
  /** Wall clock: how long it had stood still by then says how soon a place is left. */
  readonly at: number;
  /** Taken to be full until then. */
  readonly until: number;
}

export class KeyCapacity {
  readonly #queue: string;
  readonly #ports: KeyPlacesPorts;
  /** By limit of a key: the last time it was seen full. */
  readonly #full = new Map<string, Seen>();
  /** By key: when it was first seen full, if the worker could not know how long it had not moved. */
  readonly #fullSince = new Map<string, number>();
  /** By key and id: tasks that found it full, and the time until which they are known to wait. */
  readonly #postponed = new Map<string, Map<string, { readonly task: Linked; readonly until: number }>>();
  /** By key of those: monotonic time from which some of them are worth a read, although none of the key's tasks has ended here. */
  readonly #callAt = new Map<string, number>();
  /** By key and task id: postponed tasks, and the time until which they may be tried without reading them again. */
  readonly #waiting = new Map<string, Map<string, { readonly task: ReadyTask; readonly untilMonotonicMs: number }>>();
  /** By key: monotonic time of the last end of one of its tasks here. */
  readonly #endedHereAt = new Map<string, number>();
  /** By key: tasks of it that are tried or run here. */
  readonly #tried = new Map<string, Set<string>>();
  /** Keys of which a place was freed here, and no task has been put back for it. */
  readonly #owed = new Set<string>();
  /** By limit with a rate: the start of the window for which one task stays visible. */
  readonly #headAt = new Map<string, number>();
  #nextRepairMonotonicMs: number;

  /** @param hasDispatcher its ticks repair; without it, a worker repairs before its first exit, however short its life is */
  constructor(queue: string, ports: KeyPlacesPorts, { hasDispatcher }: { readonly hasDispatcher: boolean }) {
    this.#queue = queue;
    this.#ports = ports;
    this.#nextRepairMonotonicMs = hasDispatcher ? ports.runtime.clock.monotonic() + REPAIR_EVERY_MS : -Infinity;
  }

  /** A claim found its key full, so the key's other tasks also wait for a moment, or until the next window if the rate is used up. */
  seeFull({ links }: Linked, full: Fullness): void {
    const now = this.#ports.runtime.clock.now();
    if (links?.concurrency === undefined) return;
    const { key, limit } = links.concurrency;
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
   * Whether its key may have room, as far as is known here: it was not seen full a moment ago,
   * and fewer tasks of it are tried or run here than its limit allows. One more is tried to see who else has places, unless
   * places have passed on within this worker a moment ago.
   */
  mayHaveRoom({ links }: Linked): boolean {
    if (links?.concurrency === undefined) return true;
    const { key, limit } = links.concurrency;
    const { clock } = this.#ports.runtime;
    if (clock.now() < (this.#full.get(limitName(links.concurrency))?.until ?? 0)) return false;
    const tried = this.#tried.get(key)?.size ?? 0;
    const hasPassedOn = clock.monotonic() < (this.#endedHereAt.get(key) ?? -Infinity) + STAY_FOR_KEY_MS;
    return hasPassedOn ? tried < limit : tried <= limit;
  }

  /** It is tried here. */
  enter({ id, links }: Linked): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    this.#tried.set(key, (this.#tried.get(key) ?? new Set()).add(id));
  }

  /** It is neither tried nor run here any more. */
  leave({ id, links }: Linked): void {
    if (links?.concurrency === undefined) return;
    const { key } = links.concurrency;
    const tried = this.#tried.get(key);
    tried?.delete(id);
    if (tried?.size === 0) this.#tried.delete(key);
  }

  /** Postpones a task of a full key until it is called back, at most for `forMs`. */
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

  /** Whether one is remembered for the next place of its key, and stays fresh for long enough. */
  isNextKnown({ links }: Linked): boolean {
    const waiting = links?.concurrency === undefined ? undefined : this.#waiting.get(links.concurrency.key);
    const neededMs = this.#ports.runtime.clock.monotonic() + FRESH_MS / 2;
    return [...(waiting?.values() ?? [])].some(({ untilMonotonicMs }) => neededMs < untilMonotonicMs);
  }

  /** A task of its key has ended here: the key may have room. */
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

  /** The first few that were turned away from its key: they wait no longer. */
  callBack({ links }: Linked): readonly TaskKey[] {
    if (links?.concurrency === undefined) return [];
    const { key } = links.concurrency;
    const names = this.#postponed.get(key);
    const called = [...(names?.values() ?? [])].slice(0, aheadOf(links.concurrency)).map(({ task }) => task);
    for (const { id } of called) names?.delete(id);
    this.#callAt.set(key, this.#ports.runtime.clock.monotonic() + HELD_RECHECK_MS);
    return called;
  }

  /** The same of a key that may have room because one of its tasks has ended elsewhere. */
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

  /** A slot of its key was freed here, or its window has capacity: another task may have it. */
  owe({ links }: Linked): void {
    if (links?.concurrency !== undefined) this.#owed.add(links.concurrency.key);
  }

  get isOwing(): boolean {
    return this.#owed.size > 0;
  }

  /** Unparks tasks whose key has capacity now. Best effort: a repair unparks the ones that are missed. */
  async takeNextOfKey(reservedOf: (key: string) => number): Promise<readonly ReadyTask[]> {
    const back: ReadyTask[] = [];
    for (const key of this.#owed) {
      this.#owed.delete(key);
      const at = { now: this.#ports.runtime.clock.now(), reserved: reservedOf(key) };
      back.push(...(await this.#try(() => this.#ports.tasks.parking.putBack(this.#queue, key, at))));
    }
    return back;
  }

  /** Unparks missed tasks once in a while. */
  async repair(): Promise<readonly ReadyTask[]> {
    const { clock, random } = this.#ports.runtime;
    if (clock.monotonic() < this.#nextRepairMonotonicMs) return [];
    this.#nextRepairMonotonicMs = clock.monotonic() + REPAIR_EVERY_MS;
    const at = { now: clock.now(), from: random.next(), onDamaged: this.#ports.onDamaged };
    return this.#try(() => this.#ports.tasks.parking.repairParked(this.#queue, at));
  }

  /**
   * Parks the tasks that will probably wait for long, if their keys are known to be full. Returns the tasks whose key has capacity after
   * all.
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
    const before = clock.monotonic() - STAY_FOR_KEY_MS;
    for (const [key, endedAt] of this.#endedHereAt) if (endedAt < before) this.#endedHereAt.delete(key);
    for (const [key, names] of this.#postponed) {
      for (const [name, { until }] of names) if (until <= now) names.delete(name);
      if (names.size > 0) continue;
      this.#postponed.delete(key);
      this.#callAt.delete(key);
    }
  }

  #isWorthParking({ links, isHeld }: ReadyTask): boolean {
    const limit = links?.concurrency;
    const seen = limit === undefined ? undefined : this.#full.get(limitName(limit));
    if (limit === undefined || seen === undefined || isHeld) return false;
    const waiting = this.#postponed.get(limit.key)?.size ?? 1;
    return expectedWaitMs(limit, seen.full, waiting, seen.at) >= PARKED_FROM_MS;
  }

  /** No task ends when a new window starts, so one of the tasks that wait for it stays visible, due then. Returns the others. */
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

  /** If the store does not respond, tasks stay visible, or parked until a repair. Neither is a reason to stop working. */
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

/** Rows of a key that are worth a read at a time. */
function aheadOf({ limit }: KeyLimit): number {
  return Math.min(PAGE_ENTRIES, Math.max(FULL_KEY.ahead, limit));
}

/** Tasks of one key that were given different limits each obey theirs. */
function limitName({ key, limit, rate }: KeyLimit): string {
  return `${keyName(key)}${limit} ${rate?.count} ${rate?.perMs}`;
}

function keyName(key: string): string {
  return `${JSON.stringify(key)} `;
}
