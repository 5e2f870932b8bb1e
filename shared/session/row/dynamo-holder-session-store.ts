/**
 * The requests of a session's holder and of its contenders.
 * Separate from the rest of the store, so that small bundles stay small.
 */
import type { InvalidSession, LiveSession } from '../session-record.ts';
import type { HolderSessionStore } from '../session-store.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { decodeSession } from './session-codec.ts';
import * as statements from './session-statements.ts';

export function createHolderSessionStore(sender: Sender, table: string): HolderSessionStore {
  const rows = new Rows(sender, decodeSession);
  return {
    create: (session, limits) => rows.writeAs<LiveSession>(statements.createSession(table, session), session, limits),

    renew: (renewal, limits) => rows.writeAs<LiveSession>(statements.renewSession(table, renewal), renewal, limits),

    expire: (expiry) => rows.writeAs<InvalidSession>(statements.expireSession(table, expiry), expiry),

    invalidate: (invalidation) =>
      rows.writeAs<InvalidSession>(statements.invalidateSession(table, invalidation), invalidation),

    get: (id) => rows.get(statements.readSession(table, id)),
  };
}
