/**
 * What the holder of a session, and those who contend with it, ask of its row.
 * It is apart from the rest of the store, so that small bundles stay small.
 */
import type { Outcome, WriteLimits } from '../../lease/outcome.ts';
import type { InvalidSession, LiveSession, SessionRecord } from '../../session/record.ts';
import type { HolderSessionStore } from '../../session/store.ts';
import { decodeCheck } from '../check/codec.ts';
import { readChecks } from '../check/statements.ts';
import { readInBatches } from '../engine/batches.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import { decodeSession } from './codec.ts';
import * as statements from './statements.ts';

export function createHolderSessionStore(sender: Sender, table: string): HolderSessionStore {
  return {
    async create(session, limits) {
      const statement = statements.createSession(table, session);
      const result = await sender.write(statement, session.nonce, limits);
      return outcomeOf(result, decodeLive, decodeSession, statement.input.Item);
    },

    renew({ ttlMs, ...renewal }, limits) {
      const statement =
        ttlMs === null
          ? statements.renewEndlessSession(table, renewal)
          : statements.renewSession(table, { ...renewal, ttlMs });
      return update(statement, renewal.nonce, decodeLive, limits);
    },

    expire: (expiry, limits) => update(statements.expireSession(table, expiry), expiry.nonce, decodeInvalid, limits),

    invalidate: (invalidation, limits) =>
      update(statements.invalidateSession(table, invalidation), invalidation.nonce, decodeInvalid, limits),

    async get(id) {
      const { Item } = await sender.read(statements.readSession(table, id));
      return Item === undefined ? undefined : decodeSession(Item);
    },

    async getChecks(node, ids) {
      const keys = ids.map((id) => ({ node, id }));
      const items = await readInBatches(sender, table, readChecks(table, keys));
      return new Map(items.map(decodeCheck).map((check) => [check.id, check]));
    },
  };

  async function update<Row extends SessionRecord>(
    statement: ReturnType<typeof statements.renewSession>,
    nonce: string,
    decode: (item: DynamoItem) => Row,
    limits: WriteLimits | undefined,
  ): Promise<Outcome<Row, SessionRecord>> {
    return outcomeOf(await sender.write(statement, nonce, limits), decode, decodeSession);
  }
}

/** For the row that a write of ours has just left behind. */
function decodeLive(item: DynamoItem): LiveSession {
  return decodeSession(item) as LiveSession;
}

function decodeInvalid(item: DynamoItem): InvalidSession {
  return decodeSession(item) as InvalidSession;
}
