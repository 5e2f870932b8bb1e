import { InvariantError } from '../../../core/errors.ts';
import type { WaitGroupStore } from '../waitgroup-store.ts';
import { waitGroupMemberKey, splitKey } from '../../../dynamo/engine/keys.ts';
import { outcomeOf, Rows } from '../../../dynamo/engine/rows.ts';
import type { Member } from '../../../dynamo/engine/group-commit.ts';
import { GroupCommit } from '../../../dynamo/engine/group-commit.ts';
import type { Sender, TransactionResult } from '../../../dynamo/engine/send.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import * as statements from './waitgroup-statements.ts';
import type { GroupRecord, MemberRecord } from '../waitgroup.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';

interface Adding extends Member {
  readonly actions: readonly Action[];
  readonly alone: () => Promise<TransactionResult>;
}

export function createWaitGroupStore(sender: Sender, table: string): WaitGroupStore {
  const groups = new Rows(sender, decodeGroup);
  const members = new Rows(sender, decodeMember);
  const adds = new GroupCommit<Adding, undefined, TransactionResult>(sender);
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
      const actions = members.map((member) => statements.memberAction(table, group, member, stamp));
      const alone = () => sender.transact(statements.addMembers(table, group, members, stamp), stamp.nonce);
      const result = await adds.send(
        [group.name, String(group.generation)],
        { nonce: stamp.nonce, actions, alone },
        {
          what: `wait group ${group.name}`,
          isObserved: false,
          read: () => Promise.resolve(undefined),
          plan: (adding) =>
            Promise.resolve({
              verb: 'waitgroup.add',
              parts: adding.map((one) => one.actions),
              shared: () => [statements.isOpen(table, group)],
            }),
          onRefusal: () => 'refused',
          alone: (one) => one.alone(),
        },
      );
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

/** @throws CorruptItemError */
export function decodeGroup(item: DynamoItem): GroupRecord {
  const row = new ItemReader(item);
  return {
    name: splitKey(row.string('pk'))[1] ?? '',
    generation: row.count('generation'),
    state: row.oneOf('state', ['open', 'sealed', 'complete']),
    members: row.optional('members', (attribute) => row.count(attribute)),
    lost: row.optional('lost', (attribute) => row.count(attribute)),
    nonce: row.string('nonce'),
  };
}

/** @throws CorruptItemError */
export function decodeMember(item: DynamoItem): MemberRecord {
  const row = new ItemReader(item);
  const session = row.optional('session', (attribute) => row.session(attribute));
  return {
    id: splitKey(row.string('sk'))[1] ?? '',
    state: row.oneOf('state', ['pending', 'done', 'lost']),
    session: session === '' ? undefined : session,
    nonce: row.string('nonce'),
  };
}
