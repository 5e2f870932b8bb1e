/** Tasks of this process that join one line share transactions. Tickets are given in the order of the calls. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { Member } from '../../../dynamo/engine/group-commit.ts';
import { GroupCommit } from '../../../dynamo/engine/group-commit.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';
import type { LineState } from '../../task/line.ts';
import type { Plan, TaskCreator } from './adding-store.ts';
import { lineOf } from './adding-store.ts';
import { Lines, decodeLine } from './lines.ts';

interface Joiner extends Member {
  readonly plan: Plan;
  readonly stamp: Stamp;
}

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
