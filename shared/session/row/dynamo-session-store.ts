import type { LiveSession } from '../session-record.ts';
import type { SessionStore } from '../session-store.ts';
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
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfSessions(table, prefix, after));
      const ids = Items.map(({ pk }) => splitKey(String(pk))[1] ?? '');
      const names = Items.map(({ directoryName }) => String(directoryName).replace(/#[^#]*$/, ''));
      return { ids, names, next: LastEvaluatedKey };
    },
  };
}
