/** Creates tasks: the task's row, its payload's row and its position in the line of its key, in one write or one transaction. */
import type { Outcome } from '../../../core/lease/outcome.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { EndedTask, TaskRecord } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import { retryContended } from '../../../core/wait/retry-contended.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import { decodeTask } from './task-codec.ts';
import type { TaskCreator, Plan } from './adding-store.ts';
import { writeTogether } from './adding-store.ts';
import { LineJoins } from './line-joins.ts';
import type { Seat } from './task-statements.ts';
import { readTask } from './task-statements.ts';

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
