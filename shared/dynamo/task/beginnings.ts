/** How a task's life begins: its row, what it needs beside it, and its place in the line of its key, in one write or one transaction. */
import type { Outcome, WriteLimits } from '../../lease/outcome.ts';
import type { Stamp } from '../../lease/stamp.ts';
import type { TaskKey, TaskRecord } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import { contended, retryContended } from '../../wait/retry-contended.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender, WriteResult } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import type { Action } from '../engine/transaction.ts';
import { together, tokenOf } from '../engine/transaction.ts';
import { decodeTask } from './codec.ts';
import { Lines } from './lines.ts';
import type { Seat } from './statements.ts';
import { readTask } from './statements.ts';

/** A task that is created, or starts over. */
type Beginner = TaskKey & { readonly tenant?: string | undefined; readonly line?: string | undefined };

/** Each time another writer succeeded: a line that moves on so often while it is looked at is a queue of its own. */
export const LINE_CONTENTION = { rounds: 50 };

export class Beginnings {
  readonly #sender: Sender;
  readonly #table: string;
  readonly #lines: Lines;

  constructor(sender: Sender, table: string) {
    this.#sender = sender;
    this.#table = table;
    this.#lines = new Lines(sender, table);
  }

  /** Writes a task that begins, together with what it needs beside it, and into the line of its key if it has one. */
  async begin(
    task: Beginner,
    write: (seat?: Seat) => Statement<'put' | 'update'>,
    beside: readonly Action[],
    stamp: Stamp,
    limits: WriteLimits | undefined,
  ): Promise<WriteResult> {
    const { line: key } = task;
    return retryContended(lineOf(task), LINE_CONTENTION, async () => {
      const line =
        key === undefined
          ? undefined
          : await this.#lines.plan({ queue: task.queue, key, joiners: [task] }, NOBODY, stamp);
      const actions = [...(line?.actions ?? []).map(({ action }) => action), ...beside];
      if (actions.length === 0) return this.#sender.write(write(), stamp.nonce, limits);
      const statement = together(write(line?.seats[0]), actions, tokenOf(stamp, actions));
      const result = await this.#sender.transact(statement, stamp.nonce, limits);
      return result.kind === 'canceled' ? contended(result) : result;
    });
  }

  /** Gives a task that is there other work, or makes it ready again; in a line, it joins at the end. */
  async beginAnew(
    task: Beginner,
    write: (seat?: Seat) => Statement<'update'>,
    beside: readonly Action[],
    stamp: Stamp,
    limits: WriteLimits | undefined,
  ): Promise<Outcome<TaskRecord>> {
    const result = await this.begin(task, write, beside, stamp, limits);
    // A transaction answers without the row.
    const isUnseen = result.kind === 'applied' && result.item === undefined;
    const written = isUnseen ? await this.#sender.read(readTask(this.#table, task.queue, task.id)) : undefined;
    return outcomeOf(result, decodeTask, decodeTask, written?.Item);
  }
}

const NOBODY: ReadonlySet<number> = new Set();

export function lineOf(task: TaskKey): string {
  return `${describeTask(task)}: the line of its key`;
}
