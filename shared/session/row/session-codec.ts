import type { SessionRecord } from '../session-record.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';

/** @throws CorruptItemError */
export function decodeSession(item: DynamoItem): SessionRecord {
  const row = new ItemReader(item);
  const facts = {
    id: row.string('id'),
    name: row.string('name'),
    node: row.string('node'),
    ...(row.has('codeVersion') ? { codeVersion: row.string('codeVersion') } : {}),
    ttlMs: row.numberOrNull('ttlMs'),
    lockDelayMs: row.count('lockDelayMs'),
    behaviour: row.oneOf('behaviour', ['release', 'delete']),
    createdAt: row.count('createdAt'),
    expiresAt: row.numberOrNull('expiresAt'),
    renewals: row.count('renewals'),
    nonce: row.string('nonce'),
    ...(row.has('remote') ? { remote: row.boolean('remote') } : {}),
    ...(row.has('consul') ? { consul: row.map('consul') } : {}),
    revoked: row.optional('revoked', (attribute) => row.strings(attribute)) ?? [],
  };
  row.ensureKey(['session', facts.id]);
  if (row.oneOf('status', ['live', 'invalid']) === 'live') return { ...facts, status: 'live' };
  return {
    ...facts,
    status: 'invalid',
    reason: row.oneOf('reason', ['ended', 'expired', 'destroyed']),
    invalidatedAt: row.count('invalidatedAt'),
    ...(row.has('notBefore') ? { notBefore: row.count('notBefore') } : {}),
  };
}
