import { InvariantError } from '../../../core/errors.ts';
import type { WaitGroupStore } from '../waitgroup-store.ts';
import { decodeGroup, decodeMember } from './waitgroup-codec.ts';
import { waitGroupMemberKey } from '../../../dynamo/engine/keys.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import * as statements from './waitgroup-statements.ts';

export function createWaitGroupStore(sender: Sender, table: string): WaitGroupStore {
  const groups = new Rows(sender, decodeGroup);
  const members = new Rows(sender, decodeMember);
  return {
    create: (name, stamp) => groups.write(statements.createGroup(table, name, stamp), stamp),
    seal: (group, stamp) => groups.write(statements.sealGroup(table, group, stamp), stamp),
    complete: (group, counts, stamp) => groups.write(statements.completeGroup(table, group, counts, stamp), stamp),
    begin: (group, stamp) => groups.write(statements.beginGeneration(table, group, stamp), stamp),

    get: (name) => groups.get(statements.readGroup(table, name)),

    ensureStorable(group, ids) {
      for (const id of ids) waitGroupMemberKey(group, id);
    },

    async addMembers(group, members, stamp) {
      const statement = statements.addMembers(table, group, members, stamp);
      const result = await sender.transact(statement, stamp.nonce);
      if (result.kind === 'applied') return { kind: 'applied' };
      // The member writes are unconditional, so only the group's check can have refused.
      if (result.kind === 'canceled')
        throw new InvariantError('an add to a wait group was refused by one of its members');
      return outcomeOf(result, decodeGroup, decodeGroup);
    },

    leaseMember: (group, lease, stamp, limits) =>
      members.write(statements.leaseMember(table, group, lease, stamp), stamp, limits),
    finishMember: (group, id, stamp) => members.write(statements.finishMember(table, group, id, stamp), stamp),
    loseMember: (group, member, stamp) => members.write(statements.loseMember(table, group, member, stamp), stamp),

    async members(group, page) {
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfMembers(table, group, page));
      return { members: Items.map(decodeMember), isLast: LastEvaluatedKey === undefined };
    },
  };
}
