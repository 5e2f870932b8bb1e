import type { PackStore } from '../../bulk/pack-store.ts';
import type { ReadyTask } from '../../task/task.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { decodeTask } from './task-codec.ts';
import type { DependentRows } from './dependent-rows.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import { committedOutcome } from './task-outcomes.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import * as statements from './pack-statements.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';

export function createPackStore(
  sender: Sender,
  linked: DependentRows,
  { table, shards, onCreated }: TaskStoreOptions,
): PackStore {
  const rows = new Rows(sender, decodeTask);
  return {
    async enqueue(pack, stamp) {
      const outcome = await rows.writeAs<ReadyTask>(statements.enqueuePack(table, pack, shards, stamp), stamp);
      if (outcome.kind === 'applied') onCreated?.([pack], stamp.now);
      return outcome;
    },

    record: (claim, entry, stamp, limits) =>
      rows.write(statements.recordItems(table, claim, entry, stamp), stamp, limits),

    finish: (claim, entry, stamp, limits) =>
      rows.write(statements.finishPack(table, claim, entry, stamp), stamp, limits),

    commit(claim, index, entry, effects, stamp, limits) {
      const own = statements.commitItem(table, claim, index, entry, stamp);
      return linked.commit({ task: claim, to: 'running', own, effects }, stamp, limits);
    },

    async move(claim, item, entry, stamp, limits) {
      const own = statements.leavePack(table, claim, item, entry, stamp);
      const created = statements.createMovedItem(table, claim, item, shards, stamp);
      const transaction = together(own, [actionOf(created)], stamp.nonce);
      return committedOutcome(await sender.transact(transaction, stamp.nonce, limits), []);
    },

    cancelItem: (observed, index, stamp) => rows.write(statements.cancelItem(table, observed, index), stamp),

    async cancelRunningItem(observed, index, stamp) {
      const statement = statements.cancelRunningItem(table, observed, index, stamp);
      const { kind } = await sender.transact(statement, stamp.nonce);
      return { kind: kind === 'applied' ? 'applied' : 'refused' };
    },
  };
}
