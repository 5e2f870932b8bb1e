import { hostModule } from './host.ts';

/**
 * The only source of identity.
 * Ids are made per invocation and per write, never at module load: a frozen and reused environment keeps its modules.
 */
export interface Ids {
  /** Unguessable, unique, without order: sessions and nonces. */
  unique(): string;
  /** Unique and ascending with time: for tasks without a given id. */
  ordered(): string;
}

const hostCrypto = hostModule('node:crypto');

export const systemIds: Ids = {
  // Node caches entropy for 128 ids; a process snapshot would hand the same ones to every clone.
  unique: () => hostCrypto?.randomUUID?.({ disableEntropyCache: true }) ?? crypto.randomUUID(),
  ordered: () => orderedUuid(),
};

/** The last id: its time, and its number within the millisecond. */
let latest = { at: 0, place: 0 };
const PLACES = 0x1000;

/** Version 7 of RFC 9562: the time, a counter that keeps the order within a millisecond, and random bits. */
function orderedUuid(): string {
  const now = Date.now();
  // If the clock was set back, continue from the latest time.
  if (now > latest.at) latest = { at: now, place: 0 };
  else latest = { at: latest.at + (latest.place + 1 < PLACES ? 0 : 1), place: (latest.place + 1) % PLACES };
  const time = latest.at.toString(16).padStart(12, '0');
  const place = latest.place.toString(16).padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${place}${systemIds.unique().slice(18)}`;
}
