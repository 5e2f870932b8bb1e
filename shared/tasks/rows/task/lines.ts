/**
 * Plans how tasks join and leave lines in transactions: `tasks/task/line.ts` lists the guarantees of a line.
 *
 * Joining or leaving reads the line first and makes the write conditional on what it read. If the line changed, the whole transaction is
 * refused and the caller reads again. A transaction can name each row only once, so all its changes to one line are planned together.
 */
import type { Stamp } from '../../../core/lease/stamp.ts';
import { MIN_EPOCH_MS } from '../../../core/validate/moment.ts';
import type { LineState } from '../../task/line.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';
import { changeLine, readLine, tailOf } from './line-statements.ts';
import type { Seat } from './task-statements.ts';

/** One transaction's change to one line: one of its tasks ends, others join, or both. */
export interface LineMove {
  readonly queue: string;
  readonly key: string;
  /** The ticket of the task that ends. */
  readonly leaver?: number | undefined;
  /** The number of tasks that join. */
  readonly joiners: number;
}

/** A line as a refusal has shown it. Undefined: there is no row. */
export interface KnownLine {
  readonly line: LineState | undefined;
}

interface LineChange {
  /** The line's write, if it changes. */
  readonly actions: readonly Action[];
  /** The positions of the joining tasks, in their order. */
  readonly seats: readonly Seat[];
  /** Whether the turn of the task that ends has not come. */
  readonly isEarly: boolean;
}

export class Lines {
  readonly #sender: Sender;
  readonly #table: string;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
  }

  /** @param known instead of a read */
  async plan(move: LineMove, stamp: Stamp, known?: KnownLine): Promise<LineChange> {
    return this.planOn(known === undefined ? await this.get(move.queue, move.key) : known.line, move, stamp);
  }

  planOn(line: LineState | undefined, { queue, key, leaver, joiners }: LineMove, stamp: Stamp): LineChange {
    const tail = tailOf(line, stamp.now);
    // Otherwise the turn has not come, or has passed because the line was deleted or passed by hand.
    const pass = leaver !== undefined && line?.turn === leaver ? leaver : undefined;
    const turn = pass === undefined ? (line?.turn ?? tail + 1) : pass + 1;
    const tickets = Array.from({ length: joiners }, (_, at) => tail + 1 + at);
    const isUnchanged = pass === undefined && joiners === 0;
    return {
      actions: isUnchanged
        ? []
        : [actionOf(changeLine(this.#table, { queue, key }, line, { pass, joins: joiners }, stamp))],
      seats: tickets.map((ticket) => ({ key, ticket, isFirst: ticket === turn })),
      isEarly: leaver !== undefined && line !== undefined && leaver > line.turn,
    };
  }

  /** Strongly consistent. */
  async get(queue: string, key: string): Promise<LineState | undefined> {
    return decodeLine((await this.#sender.read(readLine(this.#table, queue, key))).Item);
  }
}

/** @param item undefined: no task has joined the line yet, or its row was deleted */
export function decodeLine(item: DynamoItem | undefined): LineState | undefined {
  if (item === undefined) return undefined;
  const row = new ItemReader(item);
  const line = { tail: row.count('tail'), turn: row.count('turn') };
  // Tickets begin at the time of the line's first task.
  if (line.turn < MIN_EPOCH_MS) throw row.corrupt('turn', `is ${line.turn}, below the ticket of any task`);
  return line;
}
