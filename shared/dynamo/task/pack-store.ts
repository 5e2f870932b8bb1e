import type { PackStore } from '../../bulk/store.ts';
import type { ReadyTask } from '../../task/task.ts';
import { decodeTask } from './codec.ts';
import type { Change, LinkedRows } from './linked-rows.ts';
import { partedEffects } from './effects.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import { committedOutcome } from './outcomes.ts';
import type { Sender } from '../engine/send.ts';
import * as statements from './pack-statements.ts';
import { actionOf, together } from '../engine/transaction.ts';

export function createPackStore(
  sender: Sender,
  companions: LinkedRows,
  { table, shards }: { readonly table: string; readonly shards: number },
): PackStore {
  return {
    async enqueue(pack, stamp, limits) {
      const statement = statements.enqueuePack(table, pack, shards, stamp);
      const result = await sender.write(statement, stamp.nonce, limits);
      return outcomeOf(result, (item) => decodeTask(item) as ReadyTask, decodeTask, statement.input.Item);
    },

    async record(claim, entry, stamp, limits) {
      const result = await sender.write(statements.recordItems(table, claim, entry, stamp), stamp.nonce, limits);
      return outcomeOf(result, decodeTask, decodeTask);
    },

    async finish(claim, entry, stamp, limits) {
      const result = await sender.write(statements.finishPack(table, claim, entry, stamp), stamp.nonce, limits);
      return outcomeOf(result, decodeTask, decodeTask);
    },

    async commit(claim, index, entry, effects, stamp, limits) {
      const { writes, children } = partedEffects(effects);
      const own = statements.commitItem(table, claim, index, entry, stamp);
      const statement: Change['statement'] = (others, token, rows) =>
        together(own, [...others, ...writes, ...rows], token);
      const change: Change = { task: claim, from: 'running', to: 'running', children, statement };
      return committedOutcome(await companions.change(change, stamp, limits));
    },

    async move(claim, item, entry, stamp, limits) {
      const own = statements.leavePack(table, claim, item, entry, stamp);
      const created = statements.createMovedItem(table, claim, item, shards, stamp);
      return committedOutcome(
        await sender.transact(together(own, [actionOf(created)], stamp.nonce), stamp.nonce, limits),
      );
    },

    async cancelItem(observed, index, stamp, limits) {
      const statement = statements.cancelItem(table, observed, index);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeTask, decodeTask);
    },

    async cancelRunningItem(observed, index, stamp, limits) {
      const statement = statements.cancelRunningItem(table, observed, index, stamp);
      const { kind } = await sender.transact(statement, stamp.nonce, limits);
      return { kind: kind === 'applied' ? 'applied' : 'refused' };
    },
  };
}
