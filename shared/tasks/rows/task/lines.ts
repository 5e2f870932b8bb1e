/**
 * Plans how tasks join and leave lines in transactions: `tasks/task/line.ts` lists the guarantees of a line.
 *
 * Joining or leaving reads the line first and makes the write conditional on what it read. If the line changed, the whole transaction is
 * refused and the caller reads again. A transaction can name each row only once, so all its changes to one line are planned together.
 */
import type { Stamp } from '../../../core/lease/write.ts';
import { MIN_EPOCH_MS } from '../../../core/validate/moment.ts';
import type { LineState } from '../../task/line.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { lineKey } from '../../../dynamo/engine/keys.ts';
import { changeLine, readLine, tailOf } from './line-statements.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';
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

export interface LineChange {
  /** The line's write, if it changes. */
  readonly actions: readonly Action[];
  /** The positions of the joining tasks, in their order. */
  readonly seats: readonly Seat[];
  /** Whether the turn of the task that ends has not come. */
  readonly isEarly: boolean;
  /** The line afterwards: at least that turn and tail. */
  readonly after: LineState | undefined;
}

/** Lines that one process remembers. */
const REMEMBERED = 1_000;

export class Lines {
  readonly #sender: Sender;
  readonly #table: string;
  /** Lines as this process has left them. Others may have gone on since: a turn and a tail only grow. */
  readonly #left = new Map<string, LineState>();

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
  }

  /** @param known instead of a read */
  async plan(move: LineMove, stamp: Stamp, known?: KnownLine): Promise<LineChange> {
    return this.planOn(known === undefined ? await this.#lineFor(move) : known.line, move, stamp);
  }

  /** A task that leaves others behind names nothing but its turn, so what this process has left of the line suffices. */
  #lineFor({ queue, key, leaver, joiners }: LineMove): LineState | Promise<LineState | undefined> {
    const left = this.#left.get(lineKey(queue, key).pk);
    const suffices = left !== undefined && joiners === 0 && left.turn === leaver && left.tail > leaver;
    return suffices ? left : this.get(queue, key);
  }

  /** Notes that a change was applied, or undefined: that it was refused. */
  note({ queue, key }: LineMove, change: LineChange | undefined): void {
    const name = lineKey(queue, key).pk;
    this.#left.delete(name);
    if (change?.after !== undefined) this.#left.set(name, change.after);
    const [oldest] = this.#left.keys();
    if (oldest !== undefined && this.#left.size > REMEMBERED) this.#left.delete(oldest);
  }

  /** The turn to which this process has seen the line come when it last changed it. */
  turnLeft(queue: string, key: string): number {
    return this.#left.get(lineKey(queue, key).pk)?.turn ?? 0;
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
      after: isUnchanged ? line : { tail: tail + joiners, turn },
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
