import type { GroupRecord, MemberRecord } from '../waitgroup.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';

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
  const session = row.optional('session', (attribute) => row.string(attribute));
  return {
    id: splitKey(row.string('sk'))[1] ?? '',
    state: row.oneOf('state', ['pending', 'done', 'lost']),
    session: session === '' ? undefined : session,
    nonce: row.string('nonce'),
  };
}
