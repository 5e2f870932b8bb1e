/**
 * Writes of one session's tasks that change one shared row: ends of children of a batch, claims and ends of tasks of a key.
 * One check of the session's trust, before each attempt, holds for all of a group.
 */
import type { WriteLimits, Stamp } from '../../../core/lease/write.ts';
import type { Member } from '../../../dynamo/engine/group-commit.ts';
import { GroupCommit } from '../../../dynamo/engine/group-commit.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';

interface SharedWrite<Alone> {
  /** Identify the group: the shared row, and the session. */
  readonly names: readonly string[];
  readonly own: Statement<'update'>;
  readonly stamp: Stamp;
  readonly limits: WriteLimits;
  /** The shared row's write for `count` tasks. Its nonce is of `stamp`, the first one's: no two groups write the same. */
  readonly merge: (count: number, stamp: Stamp) => Statement<'update'>;
  /** Sends it on its own. Also sent if the shared row refuses the group: not all of them have room, or the last child is among them. */
  readonly alone: () => Promise<Alone>;
}

interface Writer<Alone> extends Member {
  readonly write: SharedWrite<Alone>;
}

export class SharedWrites<Alone> {
  readonly #groups: GroupCommit<Writer<Alone>, undefined, Alone>;

  constructor(sender: Sender) {
    this.#groups = new GroupCommit(sender);
  }

  send(write: SharedWrite<Alone>): Promise<WriteResult | Alone> {
    const { names, stamp, limits } = write;
    return this.#groups.send(
      names,
      { nonce: stamp.nonce, limits, write },
      {
        what: names.join(' '),
        isObserved: false,
        read: () => Promise.resolve(undefined),
        plan: (writers) => {
          const [{ write: first }] = writers as [Writer<Alone>];
          return Promise.resolve({
            verb: first.own.verb,
            parts: writers.map((one) => [actionOf(one.write.own)]),
            shared: (count: number) => [actionOf(first.merge(count, first.stamp))],
          });
        },
        onRefusal: () => 'alone',
        alone: (one) => one.write.alone(),
      },
    );
  }
}
