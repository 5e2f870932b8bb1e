/** Reads sessions by id, to judge whether holders are live. */
import type { SessionRecord } from '../session-record.ts';
import type { SessionStore } from '../session-store.ts';
import { readInBatches } from '../../dynamo/engine/batches.ts';
import { splitKey } from '../../dynamo/engine/keys.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { decodeSession } from './session-codec.ts';
import { readSessions } from './session-statements.ts';

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
