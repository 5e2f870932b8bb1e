import { v7 as timeOrderedUuid } from 'uuid';
import { hostModule } from './host.ts';

/**
 * The only source of identity.
 * Ids are made per invocation and per write, never at module load: a frozen and reused environment keeps its modules.
 */
export interface Ids {
  /** Unguessable, unique, without order: sessions and nonces. */
  unique(): string;
  /** Unique and ascending with time: tasks that were given no id. */
  ordered(): string;
}

const hostCrypto = hostModule('node:crypto');

export const systemIds: Ids = {
  // Node caches entropy for 128 ids; a process snapshot would hand the same ones to every clone.
  unique: () => hostCrypto?.randomUUID?.({ disableEntropyCache: true }) ?? crypto.randomUUID(),
  ordered: () => timeOrderedUuid(),
};
