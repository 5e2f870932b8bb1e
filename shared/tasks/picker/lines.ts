/**
 * One worker's knowledge of the lines of its tasks: the turn, and the tasks behind it.
 * After a read, a line is not read again for a quarter of the time for which it has not changed. If a task of a line ends here, the next
 * one is read by its id, without a poll.
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Visit } from '../task/group-walk.ts';
import type { LinePlace } from '../task/line.ts';
import type { GroupEntry } from '../task/task-store.ts';
import type { CancelledTask, ReadyTask, TaskKey } from '../task/task.ts';
import { FRESH_MS, LONGEST_BACKOFF_MS, PAGE_ENTRIES, backoffMs } from './tuning.ts';
import type { Next, WaitPorts } from './waits.ts';

interface Member {
  readonly task: TaskKey | ReadyTask;
  readonly readAt?: number;
}

interface KnownLine {
  /** The highest turn that was read. It never goes back, however old the read is. */
  turn: number;
  /** The first ticket at the last visit. */
  first: number;
  readonly changedAt: number;
  readAt: number;
  /** By ticket, as of the last visits, and those that were read since: then with the row as it was at that time. */
  readonly members: Map<number, Member>;
}

export class Lines {
  readonly #queue: string;
  readonly #ports: WaitPorts;
  readonly #lines = new Map<string, KnownLine>();

  constructor(queue: string, ports: WaitPorts) {
    this.#queue = queue;
    this.#ports = ports;
  }

  hasTurn(place: LinePlace | undefined): boolean {
    return place === undefined || place.ticket <= (this.#lines.get(place.key)?.turn ?? 0);
  }

  /** Whether a task is worth reading: its turn has come, or may have come since its line was read. */
  mayHaveTurn(place: LinePlace | undefined): boolean {
    return place === undefined || this.hasTurn(place) || this.#isDue(place.key);
  }

  /** Plans a visit to one line: its first task, if it may have its turn. */
  visit(group: readonly GroupEntry[]): Visit {
    const place = group[0]?.hint.line;
    if (place === undefined) return { left: Infinity };
    const known = this.#lines.get(place.key);
    const isChanged = known?.first !== place.ticket;
    const { turn = 0, changedAt = 0, readAt = 0 } = known ?? {};
    const before = [...(known?.members ?? [])].filter(([ticket]) => ticket >= turn && ticket < place.ticket);
    const members = new Map(before.slice(0, PAGE_ENTRIES));
    for (const { hint } of group) {
      const { ticket } = hint.line ?? place;
      members.set(ticket, known?.members.get(ticket) ?? { task: { queue: hint.queue, id: hint.id } });
    }
    const times = isChanged ? { changedAt: this.#now, readAt: 0 } : { changedAt, readAt };
    this.#lines.set(place.key, { turn, first: place.ticket, ...times, members });
    return { left: this.mayHaveTurn(place) ? 1 : 0 };
  }

  /** Reads the turns of lines whose turn is not known to have come, unless they were read a moment ago. */
  async read(places: readonly LinePlace[]): Promise<void> {
    const unknown = places.filter((place) => !this.hasTurn(place) && this.#isDue(place.key));
    await this.#read([...new Set(unknown.map(({ key }) => key))], {});
  }

  async #read(
    keys: readonly string[],
    query: { readonly isConsistent?: true; readonly atLeast?: number },
  ): Promise<void> {
    if (keys.length === 0) return;
    const { tasks, onDamaged } = this.#ports;
    const turns = await tasks.getTurns(this.#queue, keys, { ...query, onDamaged });
    for (const key of keys) this.#know(key, turns.get(key) ?? 0);
  }

  /** Notes a task whose turn has not come, for when the one before it has ended here. */
  wait(task: ReadyTask): void {
    const place = task.links?.line;
    if (place !== undefined && !this.hasTurn(place))
      this.#lines.get(place.key)?.members.set(place.ticket, { task, readAt: this.#now });
  }

  /**
   * A task of the line has ended here, which has passed the turn, unless it was passed before, or the task has got other work.
   * @returns the task whose turn it is, if its row is known, and tasks to read
   */
  async ended(place: LinePlace): Promise<Next> {
    const next = { ...place, ticket: place.ticket + 1 };
    const isFast = this.#now < (this.#lines.get(place.key)?.changedAt ?? 0) + FRESH_MS;
    // Also if the next one is not known: it may be met within a moment.
    if (!this.hasTurn(next)) await this.#read([place.key], { isConsistent: true, atLeast: next.ticket });
    const { task, readAt = 0 } = this.#lines.get(place.key)?.members.get(next.ticket) ?? {};
    // The row of the one behind it is read while it runs.
    const unread = isFast ? this.behind(next) : [];
    const isFresh = task !== undefined && 'state' in task && this.hasTurn(next) && this.#now < readAt + FRESH_MS;
    return isFresh ? { fresh: task, unread } : { unread: [...this.behind(place), ...unread] };
  }

  /** Passes the turns of cancelled tasks that have come. Best effort. @returns the tasks behind them, as far as they are known */
  async pass(cancelled: readonly CancelledTask[]): Promise<readonly TaskKey[]> {
    const { tasks, runtime } = this.#ports;
    const behind: TaskKey[] = [];
    for (const task of cancelled) {
      const place = task.links?.line;
      if (place === undefined || !this.hasTurn(place)) continue;
      try {
        if ((await tasks.passTurn(task, stampOf(runtime))).kind !== 'applied') continue;
      } catch (error) {
        if (error instanceof StoreUnavailableError) continue;
        throw error;
      }
      this.#know(place.key, place.ticket + 1);
      behind.push(...this.behind(place));
    }
    return behind;
  }

  /** The task behind a ticket, if it is known. */
  behind({ key, ticket }: LinePlace): readonly TaskKey[] {
    const next = this.#lines.get(key)?.members.get(ticket + 1)?.task;
    return next === undefined ? [] : [{ queue: next.queue, id: next.id }];
  }

  forget(): void {
    const before = this.#now - 2 * LONGEST_BACKOFF_MS;
    for (const [key, { readAt, changedAt }] of this.#lines)
      if (Math.max(readAt, changedAt) < before) this.#lines.delete(key);
  }

  #isDue(key: string): boolean {
    const { readAt = 0, changedAt = 0 } = this.#lines.get(key) ?? {};
    return readAt + backoffMs(readAt - changedAt) <= this.#now;
  }

  #know(key: string, turn: number): void {
    const known = this.#lines.get(key) ?? {
      turn: 0,
      first: 0,
      changedAt: this.#now,
      members: new Map<number, Member>(),
    };
    const changedAt = turn > known.turn ? this.#now : known.changedAt;
    this.#lines.set(key, { ...known, changedAt, turn: Math.max(turn, known.turn), readAt: this.#now });
  }

  get #now(): number {
    return this.#ports.runtime.clock.now();
  }
}
