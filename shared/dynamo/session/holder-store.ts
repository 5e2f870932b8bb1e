/**
 * What the holder of a session, and those who contend with it, ask of its row.
 * It is apart from the rest of the store, so that small bundles stay small.
 */
import type { InvalidSession, LiveSession } from '../../session/record.ts';
import type { HolderSessionStore } from '../../session/store.ts';
import { decodeCheck } from '../check/codec.ts';
import { readChecks } from '../check/statements.ts';
import { readInBatches } from '../engine/batches.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { Rows } from '../engine/rows.ts';
import type { Sender } from '../engine/send.ts';
import { decodeSession } from './codec.ts';
import * as statements from './statements.ts';

export function createHolderSessionStore(sender: Sender, table: string): HolderSessionStore {
  const rows = new Rows(sender, decodeSession);
  return {
    create: (session, limits) => rows.writeAs(decodeLive, statements.createSession(table, session), session, limits),

    renew({ ttlMs, ...renewal }, limits) {
      const statement =
        ttlMs === null
          ? statements.renewEndlessSession(table, renewal)
          : statements.renewSession(table, { ...renewal, ttlMs });
      return rows.writeAs(decodeLive, statement, renewal, limits);
    },

    expire: (expiry, limits) => rows.writeAs(decodeInvalid, statements.expireSession(table, expiry), expiry, limits),

    invalidate: (invalidation, limits) =>
      rows.writeAs(decodeInvalid, statements.invalidateSession(table, invalidation), invalidation, limits),

    get: (id) => rows.get(statements.readSession(table, id)),

    async getChecks(node, ids) {
      const keys = ids.map((id) => ({ node, id }));
      const items = await readInBatches(sender, table, readChecks(table, keys));
      return new Map(items.map(decodeCheck).map((check) => [check.id, check]));
    },
  };
}

/** For the row that a write of ours has just left behind. */
export function decodeLive(item: DynamoItem): LiveSession {
  return decodeSession(item) as LiveSession;
}

function decodeInvalid(item: DynamoItem): InvalidSession {
  return decodeSession(item) as InvalidSession;
}
