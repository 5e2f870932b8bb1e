/**
 * What one worker knows of the running tasks of full keys. A worker walks past the tasks of a full key, but a full key may be full of tasks
 * whose workers have crashed. So it looks for the running ones among them, until it knows as many as the key's row counts.
 * It begins with as many tasks as the key's limit, because the running ones are usually the first. The longer the key stands still, the
 * deeper it looks: a task that a crashed worker ran at depth `n` is found after n / 25 heartbeats at most, also by workers that exit soon.
 * It only checks the sessions of running tasks that it knows. When a task starts, the key's row changes, and the worker forgets what it
 * knew of the key.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { KeyLimit } from '../task/key-limit.ts';
import type { GroupEntry } from '../task/task-store.ts';
import type { RunningTask, TaskKey } from '../task/task.ts';
import type { Look } from '../task/group-walk.ts';
import { FULL_KEY, HELD_RECHECK_MS, PAGE_MAX_AGE_MS, SCAN_ENTRIES } from './tuning.ts';

/** A full key, as its row shows it. */
export interface SeenKey {
  readonly running: number;
  /** Start of its latest task. */
  readonly enteredAt: number;
}

interface Runner {
  readonly task: TaskKey & Pick<RunningTask, 'session'>;
  readonly knownAtMonotonicMs: number;
  /** Whether its row was read twice, some time apart: the first read may have been too old. */
  readonly isConfirmed: boolean;
}

interface KeyView {
  seen: SeenKey;
  /** When its row was read, or the walk met one of its tasks. */
  metAtMonotonicMs: number;
  /** When its row was first seen in this state. */
  stillSinceMonotonicMs: number;
  readonly runners: Map<string, Runner>;
  /** By partition and group. */
  readonly looks: Map<string, OneLook>;
}

export class KeyRunners {
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #isWorthReading: (key: TaskKey) => boolean;
  readonly #keys = new Map<string, KeyView>();
  #checkedAtMonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, heartbeatMs: number, isWorthReading: (key: TaskKey) => boolean) {
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
    this.#isWorthReading = isWorthReading;
  }

  /** Notes that the key was seen full. */
  see(key: string, seen: SeenKey): void {
    const known = this.#keys.get(key);
    const metAtMonotonicMs = this.#clock.monotonic();
    if (known === undefined) {
      const stillSinceMonotonicMs = metAtMonotonicMs;
      this.#keys.set(key, { seen, metAtMonotonicMs, stillSinceMonotonicMs, runners: new Map(), looks: new Map() });
      return;
    }
    const isSame = known.seen.enteredAt === seen.enteredAt && known.seen.running === seen.running;
    known.seen = seen;
    known.metAtMonotonicMs = metAtMonotonicMs;
    if (isSame) return;
    known.stillSinceMonotonicMs = metAtMonotonicMs;
    known.runners.clear();
    for (const look of known.looks.values()) look.startOver();
  }

  /** Notes rows of running tasks of a key, whose sessions live. */
  know(key: string, { queue, id, session }: RunningTask): void {
    const view = this.#keys.get(key);
    const now = this.#clock.monotonic();
    const known = view?.runners.get(id);
    const isSame = known?.task.session === session;
    const knownAtMonotonicMs = isSame ? known.knownAtMonotonicMs : now;
    const isConfirmed = isSame && knownAtMonotonicMs + HELD_RECHECK_MS <= now;
    view?.runners.set(id, { task: { queue, id, session }, knownAtMonotonicMs, isConfirmed });
  }

  /** Notes that a task of the key does not run, or that its session has ended. */
  forgetOne(key: string, { id }: TaskKey): void {
    const view = this.#keys.get(key);
    // Tasks that were passed because all running ones were known may run.
    if (view?.runners.delete(id) === true) for (const look of view.looks.values()) look.startOver();
  }

  /** Whether all running tasks of a key that was seen full are known. Then its other tasks are not worth reading. */
  areKnown(key: string, tried: number): boolean {
    const view = this.#keys.get(key);
    return view !== undefined && view.runners.size + tried >= view.seen.running;
  }

  /** Whether to check the running tasks even if there is always something else to try: workers walk past them. */
  get isCheckDue(): boolean {
    return this.#checkedAtMonotonicMs + this.#heartbeatMs <= this.#clock.monotonic();
  }

  /** Returns the running tasks to check, and notes that they are checked. */
  check(): readonly Runner[] {
    this.#checkedAtMonotonicMs = this.#clock.monotonic();
    return this.due;
  }

  /** Running tasks of full keys to check now. */
  get due(): readonly Runner[] {
    return [...this.#keys.values()].flatMap(({ runners }) =>
      [...runners.values()].filter(({ task }) => this.#isWorthReading(task)),
    );
  }

  /**
   * Returns what to read of a full key's tasks now.
   * @param tried number of the key's tasks that this worker tries or runs itself
   */
  look(partition: string, { end }: Pick<GroupEntry, 'end'>, { key, limit }: KeyLimit, tried: number): Look {
    const view = this.#keys.get(key);
    if (view === undefined) return lookAtNothing();
    // Its row is not read again for hours if a rate keeps it full.
    view.metAtMonotonicMs = this.#clock.monotonic();
    const name = `${partition} ${end}`;
    const one = view.looks.get(name) ?? new OneLook((task) => view.runners.has(task.id), this.#isWorthReading);
    view.looks.set(name, one);
    // The clock of the worker that started its latest task may be ahead of this one.
    const stillMs = this.#clock.monotonic() - view.stillSinceMonotonicMs;
    const idleMs = Math.max(stillMs, this.#clock.now() - view.seen.enteredAt);
    // A session that has claimed a task since the last heartbeat has not expired.
    const isFresh = view.seen.running <= 1 && idleMs < this.#heartbeatMs;
    if (this.areKnown(key, tried) || isFresh) return lookAtNothing();
    one.beginIfDue({ now: this.#clock.monotonic(), idleMs, heartbeatMs: this.#heartbeatMs, limit });
    return one;
  }

  /** Whether the key was seen full, and its tasks were met not long ago. */
  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** @returns the keys that were forgotten */
  forget(): readonly string[] {
    const before = this.#clock.monotonic() - PAGE_MAX_AGE_MS - 2 * FULL_KEY.most;
    const old = [...this.#keys].flatMap(([key, { metAtMonotonicMs }]) => (metAtMonotonicMs < before ? [key] : []));
    for (const key of old) this.#keys.delete(key);
    return old;
  }
}

interface Idleness {
  readonly now: number;
  /** How long the key has stood still. */
  readonly idleMs: number;
  readonly heartbeatMs: number;
  readonly limit: number;
}

/** The looks at one group in one partition. */
class OneLook implements Look {
  left = 0;
  from: string | undefined;
  readonly #isKnown: (key: TaskKey) => boolean;
  readonly #isWorthReading: (key: TaskKey) => boolean;
  /** Whether it has passed an unknown task without reading it. */
  #hasMissed = false;
  /** Entries passed since the group's first one. */
  #passed = 0;
  #beganAtMonotonicMs = Number.NEGATIVE_INFINITY;
  /** How long the key had stood still when the look came to the end of the group. Undefined: it has not. */
  #completeMs: number | undefined;
  #idleMs = 0;

  constructor(isKnown: (key: TaskKey) => boolean, isWorthReading: (key: TaskKey) => boolean) {
    this.#isKnown = isKnown;
    this.#isWorthReading = isWorthReading;
  }

  beginIfDue({ now, idleMs, heartbeatMs, limit }: Idleness): void {
    this.#idleMs = idleMs;
    if (this.left > 0) return;
    if (this.#completeMs !== undefined && idleMs < 2 * this.#completeMs) return;
    const more = limit + SCAN_ENTRIES * Math.floor(idleMs / heartbeatMs) - this.#passed;
    if (more <= 0 || (this.#passed === 0 && now < this.#beganAtMonotonicMs + heartbeatMs)) return;
    this.#beganAtMonotonicMs = now;
    this.#completeMs = undefined;
    this.left = more;
  }

  pass({ hint, place }: GroupEntry): boolean {
    if (this.from !== undefined && place <= this.from) return false;
    this.left--;
    this.#passed++;
    this.from = place;
    const isWorthReading = this.#isWorthReading(hint);
    this.#hasMissed ||= !isWorthReading && !this.#isKnown(hint);
    return isWorthReading;
  }

  end(): void {
    // A task that it missed may be the running one.
    this.#completeMs = this.#hasMissed ? undefined : this.#idleMs;
    this.#begin();
  }

  startOver(): void {
    this.#begin();
    this.#completeMs = undefined;
  }

  /** The next look begins with the first task again, and a heartbeat after the last one did. */
  #begin(): void {
    this.left = 0;
    this.from = undefined;
    this.#hasMissed = false;
    this.#passed = 0;
  }
}

/** All is skipped. */
export function lookAtNothing(): Look {
  return { left: 0, from: undefined, pass: () => false, end: () => undefined };
}
