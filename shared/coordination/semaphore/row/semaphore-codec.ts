import type { Eviction, HolderRecord, SemaphoreRecord, Ticket } from '../semaphore.ts';
import { formatClaim, parseClaim, permitsHeld } from '../semaphore.ts';
import { capacityOf } from '../../../core/permit-parts.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { semaphoreName } from '../../../dynamo/engine/keys.ts';

/** By claim: the token, or the token and moment of an evicted holder, so that the value no longer equals its token. */
export function encodeHolders(holders: readonly HolderRecord[]): Record<string, number | number[]> {
  return Object.fromEntries(
    holders.map((holder) => {
      const { token, closedUntil } = holder;
      return [formatClaim(holder), closedUntil === undefined ? token : [token, closedUntil]];
    }),
  );
}

/** A claim, then `@` and when the ticket lapses, in base 36. */
export function encodeTicket(ticket: Ticket): string {
  return `${formatClaim(ticket)}@${ticket.until.toString(36)}`;
}

/** @throws CorruptItemError */
export function decodeSemaphore(item: DynamoItem): SemaphoreRecord {
  const row = new ItemReader(item);
  const semaphore = {
    name: semaphoreName({ pk: row.string('pk'), sk: row.string('sk') }),
    limit: row.count('limit'),
    declared: row.count('declared'),
    free: row.number('free'),
    leaseCounter: row.count('leaseCounter'),
    revision: row.count('revision'),
    nonce: row.string('nonce'),
    holders: Object.entries(row.map('holders')).map(([key, token]) => decodeHolder(row, key, token)),
    waiting: (row.optional('waiting', (attribute) => row.strings(attribute)) ?? []).map((text) =>
      decodeTicket(row, text),
    ),
    left: decodeMarks(row),
    floor: row.count('floor'),
    lastEviction: row.optional('forced', (attribute) => decodeEviction(row, attribute)),
  };
  const free = capacityOf(semaphore) - permitsHeld(semaphore.holders);
  if (semaphore.free !== free)
    throw row.corrupt('free', `should be ${free}, by its limit and holders, and is ${semaphore.free}`);
  return semaphore;
}

function decodeMarks(row: ItemReader): Record<string, number> {
  const marks = row.map('left');
  const bad = Object.entries(marks).find(([, moment]) => typeof moment !== 'number');
  if (bad !== undefined) throw row.corrupt('left', `should map sessions to moments and has ${JSON.stringify(bad)}`);
  return marks as Record<string, number>;
}

function decodeHolder(row: ItemReader, key: string, value: unknown): HolderRecord {
  const claim = parseClaim(key);
  const [token, closedUntil] = (Array.isArray(value) ? value : [value]) as unknown[];
  const isClosed = typeof closedUntil === 'number';
  if (claim === undefined || typeof token !== 'number' || (Array.isArray(value) && !isClosed))
    throw row.corrupt('holders', `should map <session>/<since> to tokens and has ${JSON.stringify(key.slice(0, 80))}`);
  return { ...claim, token, closedUntil: isClosed ? closedUntil : undefined };
}

function decodeTicket(row: ItemReader, text: string): Ticket {
  const at = text.lastIndexOf('@');
  const claim = parseClaim(text.slice(0, at));
  const until = Number.parseInt(text.slice(at + 1), 36);
  if (claim === undefined || Number.isNaN(until))
    throw row.corrupt('waiting', `should list <session>/<since>@<until> and has ${JSON.stringify(text.slice(0, 80))}`);
  return { ...claim, until };
}

function decodeEviction(row: ItemReader, attribute: string): Eviction {
  const { by, reason, at, session, leaseCounter } = row.map(attribute);
  const isWhole =
    typeof by === 'string' && typeof reason === 'string' && typeof at === 'number' && typeof session === 'string';
  if (!isWhole || typeof leaseCounter !== 'number')
    throw row.corrupt(attribute, 'should say who was evicted, by whom, when and why');
  return { by, reason, at, session, token: leaseCounter };
}
