import type { LiveSession } from '../session-record.ts';
import type { SessionStore } from '../session-store.ts';
import { directoryPartitions, mergedPage } from '../../dynamo/engine/directory.ts';
import { splitKey } from '../../dynamo/engine/keys.ts';
import { Rows } from '../../dynamo/engine/rows.ts';
import type { Sender } from '../../dynamo/engine/send.ts';
import { decodeSession } from './session-codec.ts';
import { createHolderSessionStore } from './dynamo-holder-session-store.ts';
import { createSessionReader } from './session-reader.ts';
import * as statements from './session-statements.ts';

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
