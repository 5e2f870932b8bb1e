/** The part of the task store for clients that only add tasks: a separate module, so that their bundles stay small. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { AddingStore, Begun } from '../../queue/task-adder.ts';
import type { ListedQueues } from '../../task/listed-queues.ts';
import type { TakenTask } from '../../task/dedup.ts';
import type { NewTask } from '../../task/task-store.ts';
import type { TaskKey } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import type { Contended } from '../../../core/wait/retry-contended.ts';
import { contended } from '../../../core/wait/retry-contended.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { isBlind, together, tokenOf } from '../../../dynamo/engine/transaction.ts';
import type { Seating } from './enqueue-with.ts';
import { enqueueWith } from './enqueue-with.ts';
import type { Seat } from './task-statements.ts';
import { enqueueTask, readTask } from './task-statements.ts';
import { deletePayload, putPayload } from '../payload-statements.ts';

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
