/** Creates tasks: the task's row, its payload's row and its position in the line of its key, in one write or one transaction. */
import type { Outcome } from '../../../core/lease/outcome.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { EndedTask, TaskRecord } from '../../task/task.ts';
import { retryContended } from '../../../core/wait/retry-contended.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import { decodeTask } from './task-codec.ts';
import type { TaskCreator, Plan } from './adding-store.ts';
import { lineOf, writeTogether } from './adding-store.ts';
import { Lines } from './lines.ts';
import type { Seat } from './task-statements.ts';
import { readTask } from './task-statements.ts';

export class TaskCreation {
  readonly #sender: Sender;
  readonly #table: string;
  readonly #lines: Lines;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
    this.#lines = new Lines(sender, table);
  }

  /** Writes a new task with its payload. An ordered task also joins the line of its key. */
  async begin(task: TaskCreator, plan: Plan, stamp: Stamp): Promise<WriteResult> {
    const { line: key } = task;
    return retryContended(lineOf(task), this.#sender.patience, async ({ earlierAttempt }) => {
      const line =
        key === undefined ? undefined : await this.#lines.plan({ queue: task.queue, key, joiners: 1 }, stamp);
      const { own, beside } = await plan(line?.seats[0]);
      const actions = [...(line?.actions ?? []), ...beside];
      return writeTogether(this.#sender, { own, beside: actions }, stamp, earlierAttempt, {
        isStaleAfterConflict: line !== undefined,
      });
    });
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
