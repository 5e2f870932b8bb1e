import type { LiveSession, InvalidSession, SessionRecord } from '../session-record.ts';
import type { SessionStore, HolderSessionStore } from '../session-store.ts';
import { directoryPartitions, mergedPage } from '../../dynamo/engine/directory.ts';
import { splitKey } from '../../dynamo/engine/keys.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { decodeSession } from './session-codec.ts';
import * as statements from './session-statements.ts';
import { readInBatches } from '../../dynamo/engine/batches.ts';
import { readSessions } from './session-statements.ts';

export function createSessionStore(sender: Sender, table: string): SessionStore {
  const rows = new Rows(sender, decodeSession);
  return {
    ...createHolderSessionStore(sender, table),
    ...createSessionReader(sender, table),

    renewRemote: (renewal) => rows.writeAs<LiveSession>(statements.renewRemoteSession(table, renewal), renewal),

    async page(prefix, after) {
      const query = { verb: 'session.page' as const, table, partitions: directoryPartitions('session'), of: prefix };
      const { items, next } = await mergedPage(sender, query, after);
      const ids = items.map(({ pk }) => splitKey(String(pk))[1] ?? '');
      const names = items.map(({ directoryName }) => String(directoryName).replace(/#[^#]*$/, ''));
      return { ids, names, next };
    },
  };
}

/**
 * The requests of a session's holder and of its contenders.
 * Separate from the rest of the store, so that small bundles stay small.
 */
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

/** Reads sessions by id, to judge whether holders are live. */
export function createSessionReader(sender: Sender, table: string): Pick<SessionStore, 'getMany'> {
  return {
    async getMany(ids, onDamaged) {
      const items = await readInBatches(sender, table, readSessions(table, ids));
      const sessions = new Map<string, SessionRecord>();
      for (const item of items) {
        const [, id = ''] = splitKey(String(item.pk));
        try {
          sessions.set(id, decodeSession(item));
        } catch (error) {
          if (onDamaged === undefined) throw error;
          onDamaged(id, error);
        }
      }
      return sessions;
    },
  };
}
