/** The part of the task store for clients that only add tasks: a separate module, so that their bundles stay small. */
import type { Stamp, Outcome } from '../../../core/lease/write.ts';
import type { AddingStore, Begun } from '../../queue/task-adder.ts';
import type { ListedQueues } from '../../task/listed-queues.ts';
import type { TakenTask } from '../../task/dedup.ts';
import type { NewTask, CanceledEffects, UserWrite } from '../../task/task-store.ts';
import type { TaskKey, EndedTask, TaskRecord } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import type { Contended } from '../../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../../core/wait/retry-contended.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { outcomeOf, Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { isBlind, together, tokenOf, actionOf } from '../../../dynamo/engine/transaction.ts';
import type { Seat } from './task-statements.ts';
import { enqueueTask, readTask } from './task-statements.ts';
import { deletePayload, putPayload } from '../payload-statements.ts';
import { StoreUnavailableError } from '../../../core/errors.ts';
import { isFinal } from '../../task/user-writes.ts';
import { barTask, isBarredBy } from './bar-statements.ts';
import type { Member } from '../../../dynamo/engine/group-commit.ts';
import { GroupCommit } from '../../../dynamo/engine/group-commit.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';
import type { LineState } from '../../task/line.ts';
import { Lines, decodeLine } from './lines.ts';
import { decodeTask } from './task-codec.ts';

/** A task that is created, or starts over. */
export type TaskCreator = TaskKey & Pick<NewTask, 'tenant' | 'line' | 'list'>;

/** The write of a new task, and the other actions of its transaction. */
export interface Planned {
  readonly own: Statement<'put' | 'update'>;
  readonly others?: readonly Action[];
}

/** Called again each time another writer was faster. */
export type Plan = (seat?: Seat) => Planned | Promise<Planned>;

/** How a task that joins a line is created, on its own and with writes of its caller. */
interface InLine {
  readonly join: (task: TaskCreator, plan: Plan, stamp: Stamp) => Promise<WriteResult>;
  readonly seating: Seating;
}

export interface TaskStoreOptions {
  readonly table: string;
  /** Partitions of the ready index per queue and priority, for new tasks; existing ones stay where they are. */
  readonly shards: number;
  /** Queues that list their finished tasks. Absent: none. */
  readonly listed?: ListedQueues | undefined;
  /** Called with tasks that were just created, at the time of their write. A task behind others of its line is left out. */
  readonly onCreated?: ((tasks: readonly NewTask[], now: number) => void) | undefined;
}

/**
 * @param decode returns what the caller needs of an existing task
 * @param lines absent: the caller accepts no task that joins one
 */
export function createAddingStore<Row extends TakenTask>(
  sender: Sender,
  { table, shards, onCreated }: TaskStoreOptions,
  decode: (item: DynamoItem) => Row,
  lines?: InLine,
): AddingStore<Row> {
  const planner = (task: NewTask, stamp: Stamp) => {
    const planned: { written?: DynamoItem | undefined; seat?: Seat | undefined } = {};
    const plan = (seat?: Seat) => {
      const own = enqueueTask(table, task, shards, stamp, seat);
      Object.assign(planned, { written: own.input.Item, seat });
      return { own };
    };
    const outcome = (result: WriteResult) => {
      if (result.kind === 'applied' && planned.seat?.isFirst !== false) onCreated?.([task], stamp.now);
      return outcomeOf(result, (item) => decode(item) as Begun<Row>, decode, planned.written);
    };
    return { plan, outcome };
  };
  return {
    async enqueue(task, stamp) {
      const { plan, outcome } = planner(task, stamp);
      return outcome(
        await (task.line === undefined || lines === undefined
          ? sender.write(plan().own, stamp.nonce)
          : lines.join(task, plan, stamp)),
      );
    },

    async enqueueWith(task, writes, stamp) {
      const { plan, outcome } = planner(task, stamp);
      const result = await enqueueWith(sender, { table, task, plan, seating: lines?.seating, writes }, stamp);
      return result.kind === 'canceled' ? result : outcome(result);
    },

    async putPayload(task, payload, nonce) {
      await sender.write(putPayload(table, task, payload, nonce), nonce);
    },

    async deletePayload(key, payload, limits) {
      await sender.write(deletePayload(table, key, payload), payload.nonce ?? '', limits);
    },

    get: ({ queue, id }) => new Rows(sender, decode).get(readTask(table, queue, id)),
  };
}

/** @param earlier whether a former round with this stamp had an attempt without a response */
export async function writeTogether(
  sender: Sender,
  { own, others = [] }: Planned,
  stamp: Stamp,
  earlier: 'none' | 'unknown',
): Promise<WriteResult | Contended> {
  const result =
    others.length === 0
      ? await sender.write(own, stamp.nonce)
      : await sender.transact(together(own, others, tokenOf(stamp, others)), stamp.nonce);
  if (result.kind === 'canceled') return contended(result, { isBlind: isBlind(result) });
  return earlier === 'none' ? result : { ...result, earlierAttempt: earlier };
}

export function lineOf(task: TaskKey): string {
  return `${describeTask(task)}: the line of its key`;
}

/** Its place in its line, and the line's change. @param seen the line's row as a refusal has shown it, instead of a read */
export type Seating = (
  task: TaskKey & { readonly line: string },
  stamp: Stamp,
  seen: DynamoItem | undefined,
) => Promise<{ readonly seats: readonly Seat[]; readonly actions: readonly Action[] }>;

interface EnqueueWith {
  readonly table: string;
  readonly task: TaskKey & Pick<NewTask, 'line'>;
  /** The write of the new task. */
  readonly plan: (seat?: Seat) => { readonly own: Statement<'put'> };
  /** Absent: the caller accepts no task that joins a line. */
  readonly seating?: Seating | undefined;
  readonly writes: readonly UserWrite[];
}

/** Creates a task in one transaction with writes of its caller. It shares no transaction with others, since two may write one row. */
export function enqueueWith(
  sender: Sender,
  { table, task, plan, seating, writes }: EnqueueWith,
  stamp: Stamp,
): Promise<WriteResult | CanceledEffects> {
  const { line } = task;
  let seen: DynamoItem | undefined;
  return retryContended(describeTask(task), sender.patience, async ({ earlierAttempt: before, isAfterPause }) => {
    if (isAfterPause) seen = undefined;
    const joining = line === undefined ? undefined : await seating?.({ ...task, line }, stamp, seen);
    const { own } = plan(joining?.seats[0]);
    const inLine = joining?.actions ?? [];
    const others = [...inLine, ...writes];
    const transaction = together(own, others, tokenOf(stamp, others));
    const isStaleAfterConflict = joining !== undefined;
    const result = await sender.transact(transaction, stamp.nonce, {}, { isStaleAfterConflict });
    const earlierAttempt = before === 'unknown' ? before : result.earlierAttempt;
    if (result.kind !== 'canceled') return { ...result, earlierAttempt };
    const reasons = writes.map((effect, nth) => ({
      code: 'None',
      ...result.reasons[1 + inLine.length + nth],
      effect,
    }));
    if (!reasons.some(isFinal)) {
      seen = inLine.length > 0 ? result.reasons[1]?.item : undefined;
      return contended(result, { isBlind: isBlind(result) });
    }
    const instead = earlierAttempt === 'unknown' ? await barred(sender, table, task, stamp.nonce) : undefined;
    if (instead !== undefined) return { kind: 'refused', item: instead, earlierAttempt };
    return { kind: 'canceled', reasons };
  });
}

/** Raises the bar. Returns the existing task, which may come from an earlier attempt. */
async function barred(sender: Sender, table: string, task: TaskKey, nonce: string): Promise<DynamoItem | undefined> {
  let seen: DynamoItem | undefined;
  try {
    return await retryContended(describeTask(task), sender.patience, async () => {
      const result = await sender.write(barTask(table, task, nonce, seen), nonce);
      if ((result.kind === 'applied' && !result.late) || isBarredBy(result.item, nonce)) return undefined;
      if (result.item !== undefined && result.item.barred === undefined) return result.item;
      seen = result.item;
      return contended(result);
    });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const found =
      'a write of its caller was refused, but the store did not confirm that no copy of it can be applied later';
    throw new StoreUnavailableError(`${describeTask(task)}: ${found}`, { applied: 'unknown', cause: error });
  }
}

interface Joiner extends Member {
  readonly plan: Plan;
  readonly stamp: Stamp;
}

/** Tasks of this process that join one line share transactions. Tickets are given in the order of the calls. */
export class LineJoins {
  readonly #lines: Lines;
  readonly #groups: GroupCommit<Joiner, LineState | undefined>;

  constructor(sender: Sender, table: string) {
    this.#lines = new Lines(sender, table);
    this.#groups = new GroupCommit(sender);
  }

  join(task: TaskCreator & { readonly line: string }, plan: Plan, stamp: Stamp): Promise<WriteResult> {
    const { queue, line: key, list } = task;
    const joiner = { nonce: stamp.nonce, list, plan, stamp };
    return this.#groups.send([queue, key], joiner, {
      what: lineOf(task),
      isObserved: true,
      read: () => this.#lines.get(queue, key),
      plan: async (joiners, line) => {
        const [{ stamp: first }] = joiners as [Joiner];
        const { seats } = this.#lines.planOn(line, { queue, key, joiners: joiners.length }, first);
        const parts: Action[][] = [];
        let verb: Verb = 'task.enqueue';
        for (const [at, one] of joiners.entries()) {
          const { own, others = [] } = await one.plan(seats[at]);
          if (at === 0) ({ verb } = own);
          parts.push([actionOf(own), ...others]);
        }
        return {
          verb,
          parts,
          shared: (count) => this.#lines.planOn(line, { queue, key, joiners: count }, first).actions,
        };
      },
      after: (line, count) => line && { row: { ...line, tail: line.tail + count } },
      onRefusal: (item) => ({ again: decodeLine(item) }),
    });
  }
}

/** Creates tasks: the task's row, its payload's row and its position in the line of its key, in one write or one transaction. */
export class TaskCreation {
  readonly #sender: Sender;
  readonly #table: string;
  readonly #joins: LineJoins;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
    this.#joins = new LineJoins(sender, table);
  }

  /** Writes a new task with its payload. An ordered task also joins the line of its key. */
  begin(task: TaskCreator, plan: Plan, stamp: Stamp): Promise<WriteResult> {
    const { line } = task;
    if (line !== undefined) return this.#joins.join({ ...task, line }, plan, stamp);
    return retryContended(describeTask(task), this.#sender.patience, async ({ earlierAttempt }) =>
      writeTogether(this.#sender, await plan(), stamp, earlierAttempt),
    );
  }

  /** Gives an existing task other work, or makes it ready again. An ordered task joins the end of its line. */
  async beginAnew(task: TaskCreator, plan: Plan, stamp: Stamp): Promise<Outcome<TaskRecord>> {
    const result = await this.begin(task, plan, stamp);
    // A transaction returns no row.
    const isUnseen = result.kind === 'applied' && result.item === undefined;
    const written = isUnseen ? await this.#sender.read(readTask(this.#table, task.queue, task.id)) : undefined;
    return outcomeOf(result, decodeTask, decodeTask, written?.Item);
  }
}

/** The place of a task that was cancelled before its turn: it keeps it when it is made ready again. */
export function keptSeat(observed: EndedTask): Seat | undefined {
  const line = observed.state === 'cancelled' && observed.isInLine ? observed.links?.line : undefined;
  return line && { ...line, isFirst: false };
}
