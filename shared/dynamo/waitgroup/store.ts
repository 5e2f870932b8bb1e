import { InvariantError } from '../../errors.ts';
import type { Outcome, WriteLimits } from '../../lease/outcome.ts';
import type { Stamp } from '../../lease/stamp.ts';
import type { WaitGroupStore } from '../../waitgroup/store.ts';
import { decodeGroup, decodeMember } from './codec.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { waitGroupMemberKey } from '../engine/keys.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import * as statements from './statements.ts';

export function createWaitGroupStore(sender: Sender, table: string): WaitGroupStore {
  return {
    async create(name, stamp) {
      const statement = statements.createGroup(table, name, stamp);
      return outcomeOf(await sender.write(statement, stamp.nonce), decodeGroup, decodeGroup, statement.input.Item);
    },
    seal: (group, stamp) => update(statements.sealGroup(table, group, stamp), stamp, decodeGroup),
    complete: (group, counts, stamp) =>
      update(statements.completeGroup(table, group, counts, stamp), stamp, decodeGroup),
    begin: (group, stamp) => update(statements.beginGeneration(table, group, stamp), stamp, decodeGroup),

    async get(name) {
      const { Item } = await sender.read(statements.readGroup(table, name));
      return Item === undefined ? undefined : decodeGroup(Item);
    },

    ensureStorable(group, ids) {
      for (const id of ids) waitGroupMemberKey(group, id);
    },

    async addMembers(group, members, stamp, limits) {
      const statement = statements.addMembers(table, group, members, stamp);
      const result = await sender.transact(statement, stamp.nonce, limits);
      if (result.kind === 'applied') return { kind: 'applied' };
      // The members have no conditions of their own, so nothing else can have refused it.
      if (result.kind === 'canceled')
        throw new InvariantError('an add to a wait group was refused by one of its members');
      return outcomeOf(result, decodeGroup, decodeGroup);
    },

    leaseMember: (group, lease, stamp, limits) =>
      update(statements.leaseMember(table, group, lease, stamp), stamp, decodeMember, limits),
    finishMember: (group, id, stamp, limits) =>
      update(statements.finishMember(table, group, id, stamp), stamp, decodeMember, limits),
    loseMember: (group, member, stamp) =>
      update(statements.loseMember(table, group, member, stamp), stamp, decodeMember),

    async members(group, page) {
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfMembers(table, group, page));
      return { members: Items.map(decodeMember), isLast: LastEvaluatedKey === undefined };
    },
  };

  async function update<Row>(
    statement: Statement<'update'>,
    { nonce }: Stamp,
    decode: (item: DynamoItem) => Row,
    limits?: WriteLimits,
  ): Promise<Outcome<Row>> {
    return outcomeOf(await sender.write(statement, nonce, limits), decode, decode);
  }
}
