/**
 * The lines of keys as the transactions that tasks join and leave them by need them: see `task/line.ts` for what a line guarantees.
 *
 * Whoever joins or leaves looks first, and writes under the guard that the line still is as it was seen; when it is not, the transaction
 * is refused as a whole and he looks again.
 */
import type { TaskKey } from '../task/task.ts';
import type { LinePlace } from '../task/line.ts';
import type { DynamoItem } from './driver.ts';
import { ItemReader } from './item-reader.ts';
import type { Sender } from './send.ts';
import type { ObservedLine } from './statements/task-line.ts';
import { advanceLine, callTask, closeLine, joinLine, leavePlace, readLine, takePlace } from './statements/task-line.ts';
import type { Seat } from './statements/task.ts';
import type { Action } from './transaction.ts';
import { actionOf } from './transaction.ts';

/** A ticket and the task that waits with it. */
interface TakenPlace {
  readonly ticket: number;
  readonly id: string;
  readonly tenant: string | undefined;
}

interface LineView extends ObservedLine {
  /** The first of those who wait. */
  readonly places: readonly TakenPlace[];
}

/** What a task's end means for its line. */
export interface Departure {
  readonly actions: readonly Action[];
  /** The place whose task, or which itself, is gone if the action at that index was refused. */
  readonly suspect: (action: number) => number | undefined;
}

const NOBODY: Departure = { actions: [], suspect: () => undefined };

export class Lines {
  readonly #sender: Sender;
  readonly #table: string;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
  }

  /** Where a task that joins now would sit, and what gives it that seat. */
  async joining(
    task: TaskKey & { readonly tenant?: string | undefined },
    key: string,
    { now }: { readonly now: number },
  ): Promise<{ readonly seat: Seat; readonly actions: readonly Action[] }> {
    const line = await this.#look(task.queue, key, 0);
    // A line that was swept and comes back gives tickets above all that it ever gave, as lease counters do.
    const ticket = (line.tail ?? now) + 1;
    const isHeld = line.head !== undefined;
    const join = actionOf(joinLine(this.#table, task, key, line, ticket));
    const place = isHeld ? [actionOf(takePlace(this.#table, task, key, ticket))] : [];
    return { seat: { line: key, ticket, isHeld }, actions: [join, ...place] };
  }

  /**
   * What has to happen to the line in the transaction that ends a task of it.
   * @param gone tickets whose place, or task, was found to be missing: nobody waits for them
   */
  async leaving(
    task: TaskKey,
    { key, ticket }: LinePlace,
    gone: ReadonlySet<number>,
    stamp: { readonly now: number; readonly nonce: string },
  ): Promise<Departure> {
    const line = await this.#look(task.queue, key, 1 + gone.size);
    if (line.head === task.id) return this.#handOver(task, key, line, gone, stamp);
    // Held, or of a line that is not there any more.
    if (line.head === undefined || gone.has(ticket)) return NOBODY;
    return { actions: [actionOf(leavePlace(this.#table, task.queue, key, ticket))], suspect: () => ticket };
  }

  /** The first of those who wait is called; those before it that are gone lose their places. */
  #handOver(
    task: TaskKey,
    key: string,
    { tail = 0, places }: LineView,
    gone: ReadonlySet<number>,
    stamp: { readonly now: number; readonly nonce: string },
  ): Departure {
    const table = this.#table;
    const { queue } = task;
    const next = places.find(({ ticket }) => !gone.has(ticket));
    const leave = ({ ticket }: TakenPlace): Action => actionOf(leavePlace(table, queue, key, ticket));
    const abandoned = places.filter(({ ticket }) => gone.has(ticket)).map(leave);
    if (next === undefined)
      return { ...NOBODY, actions: [actionOf(closeLine(table, task, key, tail, stamp)), ...abandoned] };
    const call = actionOf(callTask(table, { queue, id: next.id, tenant: next.tenant }, next.ticket, stamp));
    const actions = [actionOf(advanceLine(table, task, key, next.id)), leave(next), call, ...abandoned];
    return { actions, suspect: (action) => (actions[action] === call ? next.ticket : undefined) };
  }

  async #look(queue: string, key: string, places: number): Promise<LineView> {
    const { Items = [] } = await this.#sender.read(readLine(this.#table, queue, key, 1 + places));
    const [first, ...others] = Items;
    if (first?.sk !== 'line') return { head: undefined, tail: undefined, places: [] };
    const row = new ItemReader(first);
    const head = row.optional('head', (attribute) => row.string(attribute));
    return { head, tail: row.count('tail'), places: others.map(decodePlace) };
  }
}

function decodePlace(item: DynamoItem): TakenPlace {
  const row = new ItemReader(item);
  const [, ticket = ''] = row.string('sk').split('#');
  const tenant = row.optional('tenant', (attribute) => row.string(attribute));
  return { ticket: Number(ticket), id: row.string('id'), tenant };
}
