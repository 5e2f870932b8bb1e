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
import { lineKey } from '../../../dynamo/engine/keys.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Action, Statement } from '../../../dynamo/engine/statement.ts';
import { actionOf, batchGetStatement, getStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import type { Seat } from './task-statements.ts';
import type { CancelledTask } from '../../task/task.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { EndStamp } from './ended-entries.ts';
import { leaveFor } from './ended-entries.ts';
import { updateTask } from './task-statements.ts';

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

/**
 * The line row: the turn of a key's tasks that run in strict order.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `line#<queue>#<key>`, `line` | join |
 * | v | N | schema version | join |
 * | tail | N | the last ticket given out; starts at the clock, only grows, and never restarts | join |
 * | turn | N | the ticket of the task whose turn it is; one more than `tail` if the line is empty; only grows | join, pass |
 * | ttl | N, epoch s | long after the last task left | pass; removed by join |
 *
 * Only transactions that add a task to the line, or end the task whose turn it is, write this row.
 * The tasks stand in the index of groups in the order of their tickets: see `place.ts`.
 */

/** One transaction's change to a line: the turn of a task is over, others join, or both. */
interface LineStep {
  /** The ticket of the task whose turn is over. */
  readonly pass?: number | undefined;
  /** The ticket whose turn it is then. Default: the next one. */
  readonly to?: number;
  /** The number of tasks that join. */
  readonly joins: number;
}

/**
 * Guard: to join, no task has joined since the line was observed. To pass, it is the turn of this ticket.
 *   If nobody waits behind it, no task has joined since then, because the row may then expire.
 * Effect: the next tickets are given out; it is the turn of the next ticket.
 * Outcomes: refused = another task was faster, or the turn is over: read it again.
 */
export function changeLine(
  table: string,
  { queue, key }: { readonly queue: string; readonly key: string },
  seen: LineState | undefined,
  { pass, to, joins }: LineStep,
  { now }: Pick<Stamp, 'now'>,
): Statement<'update'> {
  const tail = tailOf(seen, now);
  const turn = to ?? (pass ?? tail) + 1;
  const isLast = pass !== undefined && turn > tail && joins === 0;
  const isFresh = seen === undefined ? 'attribute_not_exists(#tail)' : '#tail = :tail';
  const guard = [...(pass === undefined ? [] : ['#turn = :ticket']), ...(joins > 0 || isLast ? [isFresh] : [])];
  const effect = [
    ...(seen === undefined ? ['#v = :v'] : []),
    ...(pass === undefined && seen !== undefined ? [] : ['#turn = :turn']),
    ...(joins > 0 ? ['#tail = :last'] : []),
    ...(isLast ? ['#ttl = :ttl'] : []),
  ];
  return updateStatement(pass === undefined ? 'line.join' : joins > 0 ? 'line.passAndJoin' : 'line.pass', {
    table,
    key: lineKey(queue, key),
    guard: guard.join(' AND '),
    effect: `SET ${effect.join(', ')}${joins > 0 ? ' REMOVE #ttl' : ''}`,
    values: {
      ':tail': tail,
      ':ticket': pass,
      ':turn': turn,
      ':last': tail + joins,
      ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task),
    },
  });
}

/** A recreated line gives out tickets above all earlier ones, like a lease counter. */
export function tailOf(seen: LineState | undefined, now: number): number {
  return seen?.tail ?? now;
}

/**
 * Guard: not written since it was observed; the caller has seen that it was cancelled before its turn, and that its turn has come.
 * Effect: it no longer stands in its line, and may be deleted. The same transaction passes the turn.
 * Outcomes: refused = another worker was faster, or the task was made ready again.
 */
export function leaveLine(table: string, observed: CancelledTask, stamp: EndStamp): Statement<'update'> {
  const leave = leaveFor(stamp);
  return updateTask('task.leaveLine', table, observed, stamp, {
    guard: '#nonce = :observedNonce',
    effect: `SET #ttl = :ttl, #nonce = :nonce${leave.set} ${leave.remove}`,
    omitsNewRow: true,
    values: leave.values,
  });
}

export const readLine = (table: string, queue: string, key: string): Statement<'get'> =>
  getStatement('line.get', table, lineKey(queue, key));

/** A turn only grows, so a turn that was read has come, also if the read was eventually consistent. */
export function readLines(
  table: string,
  queue: string,
  keys: readonly string[],
  consistent: boolean,
): Statement<'batchGet'> {
  const rows = keys.map((key) => lineKey(queue, key));
  return batchGetStatement('line.getMany', table, rows, { consistent });
}
