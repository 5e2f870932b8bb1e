/**
 * One worker's knowledge of the keys of its tasks: their free slots, and the tasks that wait for one. Lines: `lines.ts`.
 *
 * After a read, a full key is not read again for a quarter of the time for which it has not changed. Meanwhile its tasks are
 * skipped. If a task ends here, the next one of its key is read by its id, without a poll.
 *
 * A key may be full of tasks whose workers have crashed. The sessions of its known runners are read once a heartbeat. If the key's row counts
 * more runners than are known, a page of the waiting tasks is read once a heartbeat, each time a page further, until they are found.
 */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Visit } from '../task/group-walk.ts';
import { QUANTUM } from '../task/group-walk.ts';
import type { Fullness, KeyLimit } from '../task/key-limit.ts';
import { fullnessOf, limitText } from '../task/key-limit.ts';
import type { GroupEntry, GroupHint, TaskStore } from '../task/task-store.ts';
import type { ReadyTask, RunningTask, TaskKey, TaskRecord } from '../task/task.ts';
import { FRESH_MS, HELD_RECHECK_MS, LONGEST_BACKOFF_MS, PAGE_ENTRIES, backoffMs } from './tuning.ts';

export interface WaitPorts {
  readonly tasks: Pick<TaskStore, 'getKeys' | 'getTurns' | 'passTurn'>;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
}

/** A key and a limit. If tasks of one key have different limits, each limit is like a key of its own. All times: wall clock. */
interface KnownKey {
  readonly limit: KeyLimit;
  fullUntil: number;
  /** Start of its latest task, by the clock of that task's worker, when it was last seen full. */
  enteredAt: number | undefined;
  /** When that task started, by our clock; if that clock is ahead, when we first saw it. */
  changedAt: number;
  /** How many tasks ran then. */
  running: number;
  endedHereAt: number;
  /** 1 after one of its tasks has ended here, until the next one is tried: the slot is probably still free. */
  freed: number;
  /** Tasks that are tried or run here. */
  readonly tried: Set<string>;
  /** The first few waiting tasks that were met. */
  readonly waiting: Map<string, TaskKey>;
  /** Of some of them, the row. It is old from a monotonic time. */
  readonly fresh: Map<string, { readonly task: ReadyTask; readonly staleAt: number }>;
  /** Tasks that run elsewhere. */
  readonly runners: Map<string, RunningTask>;
  /** By partition: how far its waiting tasks were read to find more runners. */
  readonly looks: Map<string, Visit & { readonly from: string | undefined; readonly dueAt: number }>;
}

const LOOK_ENTRIES = PAGE_ENTRIES / 2;

/** What may follow a task that has ended here. */
export interface Next {
  /** A task that may be tried, if its row is known. */
  readonly fresh?: ReadyTask | undefined;
  /** Tasks to read. */
  readonly unread: readonly TaskKey[];
}

export class Keys {
  readonly #queue: string;
  readonly #heartbeatMs: number;
  readonly #ports: WaitPorts;
  readonly #keys = new Map<string, KnownKey>();

  constructor(queue: string, heartbeatMs: number, ports: WaitPorts) {
    this.#queue = queue;
    this.#heartbeatMs = heartbeatMs;
    this.#ports = ports;
  }

  /** Whether a task may be tried: its key was not seen full a moment ago, and fewer of its tasks are tried here than its limit. */
  hasRoom(limit: KeyLimit | undefined): boolean {
    const known = limit && this.#keys.get(nameOf(limit));
    if (known === undefined || known.freed > 0) return true;
    return known.fullUntil <= this.#now && known.tried.size < known.limit.limit;
  }

  enter(limit: KeyLimit | undefined, id: string): void {
    if (limit === undefined) return;
    const known = this.#of(limit);
    known.tried.add(id);
    known.waiting.delete(id);
    known.fresh.delete(id);
    known.freed = 0;
  }

  leave(limit: KeyLimit | undefined, id: string): void {
    if (limit !== undefined) this.#of(limit).tried.delete(id);
  }

  seeFull(limit: KeyLimit, { until = 0, running, enteredAt }: Fullness): void {
    const known = this.#of(limit);
    if (enteredAt !== known.enteredAt || running !== known.running) {
      known.runners.clear();
      known.looks.clear();
    }
    if (enteredAt !== undefined && enteredAt !== known.enteredAt) known.changedAt = Math.min(enteredAt, this.#now);
    Object.assign(known, { running, enteredAt, freed: 0 });
    known.fullUntil = Math.max(until, this.#now + backoffMs(this.#now - known.changedAt));
  }

  /** Remembers a task that waits for its key. @param staleAt if given, it is a row that may be tried until then */
  wait(limit: KeyLimit | undefined, task: TaskKey | ReadyTask, staleAt?: number): void {
    const known = limit && this.#of(limit);
    if (known === undefined || known.waiting.size >= known.limit.limit + PAGE_ENTRIES) return;
    const { queue, id } = task;
    known.waiting.set(id, { queue, id });
    if (staleAt !== undefined && 'state' in task) known.fresh.set(id, { task, staleAt });
  }

  /** Notes rows that were read: tasks that run elsewhere, and tasks that do not. */
  note(rows: readonly TaskRecord[], isElsewhere: (row: RunningTask) => boolean): void {
    for (const row of rows) {
      const known = row.links?.concurrency && this.#keys.get(nameOf(row.links.concurrency));
      if (row.state === 'running' && isElsewhere(row)) known?.runners.set(row.id, row);
      else known?.runners.delete(row.id);
    }
  }

  /** A task of the key has ended here. @returns the task that may take its slot, if its row is known, and tasks to read */
  ended(limit: KeyLimit): Next {
    const known = this.#of(limit);
    const isFast = this.#now < known.endedHereAt + FRESH_MS;
    known.endedHereAt = this.#now;
    known.freed = 1;
    const now = this.#ports.runtime.clock.monotonic();
    for (const [id, { staleAt }] of known.fresh) if (staleAt <= now) known.fresh.delete(id);
    const [first] = known.fresh.values();
    if (first === undefined) return { unread: take(known, isFast ? QUANTUM : 2) };
    known.fresh.delete(first.task.id);
    known.waiting.delete(first.task.id);
    // The rows of the next ones are read while it runs.
    return { fresh: first.task, unread: isFast && known.fresh.size === 0 ? take(known, QUANTUM) : [] };
  }

  /** Leaves out tasks of full keys. Unless a task of the key was here a moment ago, its row is read first: those of tasks cost more. */
  async admit(hints: readonly GroupHint[]): Promise<readonly GroupHint[]> {
    const limits = hints.flatMap(({ limit }) => limit ?? []);
    const before = this.#now - 2 * HELD_RECHECK_MS;
    const known = new Set(limits.map((limit) => this.#of(limit)));
    await this.#read([...known].filter(({ tried, endedHereAt }) => tried.size === 0 && endedHereAt < before));
    // Of a full key with unknown runners the first tasks are read: they are usually its runners.
    const isLeftOut = ({ limit }: GroupHint): boolean =>
      limit !== undefined && !this.hasRoom(limit) && isFilled(this.#of(limit));
    for (const hint of hints) if (isLeftOut(hint)) this.wait(hint.limit, hint);
    return hints.filter((hint) => !isLeftOut(hint));
  }

  /** Returns tasks to try of keys that were full a while ago. */
  async retry(most: number): Promise<readonly TaskKey[]> {
    const due = [...this.#keys.values()]
      .filter(({ fullUntil, waiting, limit }) => fullUntil > 0 && waiting.size > 0 && this.hasRoom(limit))
      .slice(0, PAGE_ENTRIES);
    await this.#read(due);
    return due.flatMap((known) =>
      this.hasRoom(known.limit) ? take(known, Math.min(most, known.limit.limit - known.running)) : [],
    );
  }

  async #read(known: readonly KnownKey[]): Promise<void> {
    if (known.length === 0) return;
    const { tasks, onDamaged } = this.#ports;
    const states = await tasks.getKeys(this.#queue, [...new Set(known.map(({ limit }) => limit.key))], onDamaged);
    for (const one of known) {
      const state = states.get(one.limit.key);
      const full = state && fullnessOf(one.limit, state, this.#now);
      if (full === undefined) Object.assign(one, { fullUntil: 0, running: state?.running ?? 0 });
      else this.seeFull(one.limit, full);
    }
  }

  /** Plans a visit to the tasks of one key in one partition. */
  visit(partition: string, group: readonly GroupEntry[]): Visit {
    const limit = group[0]?.hint.limit;
    if (limit === undefined) return { left: Infinity };
    const known = this.#of(limit);
    const isFull = this.#now < known.fullUntil;
    const left = isFull ? 0 : known.limit.limit - known.tried.size;
    for (const { hint } of group.slice(Math.max(0, left))) if (!known.tried.has(hint.id)) this.wait(limit, hint);
    return isFull && !isFilled(known) ? this.#look(partition, known) : { left };
  }

  /** The longer the key has stood still, the deeper: workers that exit soon begin with the first task each time. */
  #look(partition: string, { looks, limit, changedAt }: KnownKey): Visit {
    const last = looks.get(partition);
    if (last !== undefined && this.#now < last.dueAt) return { left: 0 };
    const heartbeats = Math.max(1, Math.floor((this.#now - changedAt) / this.#heartbeatMs));
    // A look that has found no entry was behind the last one.
    const from = last?.after === last?.from ? undefined : last?.after;
    const look = { isLook: true, left: limit.limit + LOOK_ENTRIES * heartbeats, from, after: from };
    const noted = Object.assign(look, { dueAt: this.#now + this.#heartbeatMs });
    looks.set(partition, noted);
    return noted;
  }

  get runners(): readonly RunningTask[] {
    return [...this.#keys.values()].flatMap(({ runners }) => [...runners.values()]);
  }

  /**
   * Whether the next slot of a key may be ours, because one of its tasks has just ended here or begun elsewhere: it may be handed back.
   * A rate may keep a key full for hours.
   */
  get areExpecting(): boolean {
    const now = this.#now;
    return [...this.#keys.values()].some(
      ({ waiting, endedHereAt, changedAt, fullUntil }) =>
        waiting.size > 0 &&
        now < Math.max(endedHereAt, changedAt) + 2 * HELD_RECHECK_MS &&
        fullUntil <= now + LONGEST_BACKOFF_MS,
    );
  }

  forget(): void {
    for (const [name, { fullUntil, endedHereAt, tried, waiting }] of this.#keys) {
      const isOld = Math.max(fullUntil, endedHereAt + 2 * HELD_RECHECK_MS) <= this.#now;
      if (isOld && tried.size === 0 && (fullUntil === 0 || waiting.size === 0)) this.#keys.delete(name);
    }
  }

  #of(limit: KeyLimit): KnownKey {
    const name = nameOf(limit);
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const created: KnownKey = {
      limit,
      fullUntil: 0,
      enteredAt: undefined,
      changedAt: this.#now,
      running: 0,
      endedHereAt: 0,
      freed: 0,
      tried: new Set(),
      waiting: new Map(),
      fresh: new Map(),
      runners: new Map(),
      looks: new Map(),
    };
    this.#keys.set(name, created);
    return created;
  }

  get #now(): number {
    return this.#ports.runtime.clock.now();
  }
}

/** Whether all its runners are known. */
function isFilled({ runners, tried, running }: KnownKey): boolean {
  return runners.size + tried.size >= running;
}

function take({ waiting }: KnownKey, most: number): readonly TaskKey[] {
  const taken = [...waiting.values()].slice(0, Math.max(0, most));
  for (const { id } of taken) waiting.delete(id);
  return taken;
}

function nameOf(limit: KeyLimit): string {
  return `${limitText(limit)} ${limit.key}`;
}
