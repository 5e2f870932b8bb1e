/**
 * Plans how tasks join and leave lines in transactions: `tasks/task/line.ts` lists the guarantees of a line.
 *
 * Joining or leaving reads the line first and makes the write conditional on what it read. If the line changed, the whole transaction is
 * refused and the caller reads again. A transaction can name each row only once, so all its changes to one line are planned together.
 */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { TaskKey } from '../../task/task.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { ObservedLine } from './line-statements.ts';
import {
  advanceAndJoinLine,
  advanceLine,
  callTask,
  closeLine,
  joinLine,
  leavePlace,
  readLine,
  takePlace,
} from './line-statements.ts';
import type { Seat } from './task-statements.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';

type Member = TaskKey & { readonly tenant?: string | undefined };

/** One transaction's change to one line: one of its tasks ends, others join, or both. */
export interface LineMove {
  readonly queue: string;
  readonly key: string;
  readonly leaver?: (TaskKey & { readonly ticket: number }) | undefined;
  /** In their order. */
  readonly joiners: readonly Member[];
}

/** The writes of a move. */
interface LineChange {
  readonly actions: readonly LineAction[];
  /** The positions of the joining tasks, in their order. */
  readonly seats: readonly Seat[];
}

interface LineAction {
  readonly action: Action;
  /** If this action was refused: the ticket whose row or task is missing. */
  readonly suspect?: number | undefined;
}

/** A ticket and the task that waits with it. */
interface TakenPlace {
  readonly ticket: number;
  readonly id: string;
  readonly tenant: string | undefined;
}

interface LineView extends ObservedLine {
  /** The first of the waiting tasks. */
  readonly places: readonly TakenPlace[];
}

const MEMBERS_READ = 100;

export class Lines {
  readonly #sender: Sender;
  readonly #table: string;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
  }

  /** @param gone tickets whose row or task is missing: they are skipped */
  async plan(move: LineMove, gone: ReadonlySet<number>, stamp: Stamp): Promise<LineChange> {
    const { queue, key, leaver, joiners } = move;
    const line = await this.#look(queue, key, leaver === undefined ? 0 : 1 + gone.size);
    const next = line.places.find(({ ticket }) => !gone.has(ticket));
    const isTurnOver = leaver !== undefined && line.head === leaver.id;
    const isOccupied = isTurnOver ? next !== undefined : line.head !== undefined;
    // A recreated line gives out tickets above all earlier ones, like a lease counter.
    const tail = line.tail ?? stamp.now;
    const seats = joiners.map((_, at) => ({ line: key, ticket: tail + 1 + at, isHeld: isOccupied || at > 0 }));
    const places = joiners.flatMap((joiner, at) => {
      const seat = seats[at];
      return seat?.isHeld === true ? [actionOf(takePlace(this.#table, joiner, key, seat.ticket))] : [];
    });
    const turn = isTurnOver
      ? this.#passOn(move, leaver, line, { tail, next, gone }, stamp)
      : this.#stayOrJoin(move, line, { tail, gone });
    return { actions: [...turn, ...places.map((action) => ({ action }))], seats };
  }

  /** Plans to pass the turn of a head that cannot end. Undefined: it is not its turn any more. */
  async planPass(
    { queue, key, head }: { readonly queue: string; readonly key: string; readonly head: string },
    gone: ReadonlySet<number>,
    stamp: Stamp,
  ): Promise<{ readonly actions: readonly LineAction[]; readonly next: string | undefined } | undefined> {
    const line = await this.#look(queue, key, 1 + gone.size);
    const { tail } = line;
    if (line.head !== head || tail === undefined) return undefined;
    const next = line.places.find(({ ticket }) => !gone.has(ticket));
    const move = { queue, key, joiners: [] };
    return { actions: this.#passOn(move, { queue, id: head }, line, { tail, next, gone }, stamp), next: next?.id };
  }

  /** Plans moves that do not end the head. The leaving task is held, or its line no longer exists. */
  #stayOrJoin(
    { queue, key, leaver, joiners }: LineMove,
    line: LineView,
    { tail, gone }: { readonly tail: number; readonly gone: ReadonlySet<number> },
  ): LineAction[] {
    const [first] = joiners;
    const join =
      first === undefined ? [] : [{ action: actionOf(joinLine(this.#table, first, key, line, tail + joiners.length)) }];
    if (leaver === undefined || line.head === undefined || gone.has(leaver.ticket)) return join;
    const leave = actionOf(leavePlace(this.#table, queue, key, leaver.ticket));
    return [{ action: leave, suspect: leaver.ticket }, ...join];
  }

  /** Calls the first waiting task, or else the first that joins; missing tasks before it lose their positions. */
  #passOn(
    { queue, key, joiners }: LineMove,
    leaver: TaskKey,
    { places }: LineView,
    seen: { readonly tail: number; readonly next: TakenPlace | undefined; readonly gone: ReadonlySet<number> },
    stamp: Stamp,
  ): LineAction[] {
    const table = this.#table;
    const { tail, next, gone } = seen;
    const leave = ({ ticket }: TakenPlace): LineAction => ({ action: actionOf(leavePlace(table, queue, key, ticket)) });
    const abandoned = places.filter(({ ticket }) => gone.has(ticket)).map(leave);
    const nextHead = next?.id ?? joiners[0]?.id;
    if (nextHead === undefined) return [{ action: actionOf(closeLine(table, leaver, key, tail, stamp)) }, ...abandoned];
    const last = tail + joiners.length;
    const advance =
      last === tail
        ? advanceLine(table, leaver, key, nextHead)
        : advanceAndJoinLine(table, leaver, key, nextHead, { tail, last });
    if (next === undefined) return [{ action: actionOf(advance) }, ...abandoned];
    const call = actionOf(callTask(table, { queue, id: next.id, tenant: next.tenant }, next.ticket, stamp));
    return [{ action: actionOf(advance) }, leave(next), { action: call, suspect: next.ticket }, ...abandoned];
  }

  /** Ids of the first hundred tasks of a line that have not ended, in order. */
  async members(queue: string, key: string): Promise<readonly string[]> {
    const { head, places } = await this.#look(queue, key, MEMBERS_READ);
    return [...(head === undefined ? [] : [head]), ...places.map(({ id }) => id)];
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
