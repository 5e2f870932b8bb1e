/** Conditions, effects and values of the statements of a lock row; `lock-statements.ts` lists its attributes. */
import type { Stamp } from '../../../core/lease/write.ts';
import type { Content, LockRecord } from '../lock-record.ts';
import { endedAt } from '../lock-record.ts';
import type { AcquireRequest, LockWish } from '../lock-store.ts';
import { directoryPartition } from '../../../dynamo/engine/directory.ts';
import { lockKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement, UpdateParts, Values } from '../../../dynamo/engine/statement.ts';
import { updateStatement } from '../../../dynamo/engine/statement.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';

export const IS_ABSENT = 'attribute_not_exists(#pk)';
export const IS_AS_OBSERVED = '#nonce = :observedNonce';
export const IS_FREE = 'attribute_not_exists(#session)';
export const IS_OPEN = '(attribute_not_exists(#notBefore) OR #notBefore <= :openBefore)';
/** Guard of every operation of a holder, and of a contender that has found the holder's session expired, which is final. */
export const IS_HELD_BY = '#session = :session AND #leaseCounter = :counter';
/**
 * No tenure has ended since the acquire was requested:
 * by any clock within the bound, or because the row has not changed since it was observed.
 * A late copy of an acquire that was refused, or whose lock was released again, must not take the key without the session's knowledge.
 */
export const IS_UNTOUCHED =
  '(attribute_not_exists(#freedAt) OR #freedAt < :openBefore OR #leaseCounter = :observedCounter)';
/** Refuses rows of another schema version. */
export const IS_KNOWN = '(attribute_not_exists(#v) OR #v = :v)';
export const HAS_NO_VALUE = 'attribute_not_exists(#value)';

export const TOUCH = '#nonce = :nonce, #modifyIndex = if_not_exists(#modifyIndex, :now) + :one';
const NAME_VERSION = '#v = if_not_exists(#v, :v)';
export const LIST = `${NAME_VERSION}, #directoryKey = :directory, #directoryName = :name`;
const TAKE = '#session = :taker, #acquiredAt = :now, #leaseCounter = if_not_exists(#leaseCounter, :now) + :one';
export const KEEP_ENTRY = '#createdAt = if_not_exists(#createdAt, :now)';
const NEW_ENTRY = '#createdAt = :now';
export const LEAVE = '#session, #acquiredAt';
export const FREE = '#freedAt = :freedAt';
/** Behind other assignments. */
export const CLOSE = ', #notBefore = :notBefore';
/** Counters start at the clock. */
export const NEVER_GIVEN = -1;
export const DROP_ENTRY = '#value, #consul, #createdAt, #directoryKey, #directoryName';

/** Returns a key up to its first `/`, so that keys with the same beginning are listed together. */
export function folderOf(key: string): string {
  return key.replace(/\/.*$/s, '/');
}

/** `isFresh`: the entry of the previous tenure is removed. `isHeld`: this write ends that tenure. */
export function takeEffect(
  { content, isListed }: LockWish,
  { isFresh, isHeld }: { readonly isFresh: boolean; readonly isHeld: boolean },
): string {
  const entry = isFresh ? NEW_ENTRY : KEEP_ENTRY;
  const { store, clear } = contentEffect(content);
  const old = content === undefined && isFresh ? ', #value, #consul' : clear;
  const listed = isListed ? LIST : NAME_VERSION;
  return `SET ${TOUCH}, ${listed}, ${TAKE}, ${entry}${isHeld ? `, ${FREE}` : ''}${store} REMOVE #ttl, #notBefore${old}`;
}

export function takeValues({ key, session, isListed }: Pick<AcquireRequest, 'key' | 'session' | 'isListed'>): Values {
  return { ...(isListed ? listValues(key) : {}), ':taker': session };
}

/** The content's part of an effect: `store` to SET, and `clear` to REMOVE, because a content replaces all of the earlier one. */
export function contentEffect(content: Content | undefined): { readonly store: string; readonly clear: string } {
  if (content === undefined) return { store: '', clear: '' };
  return content.consul === undefined
    ? { store: ', #value = :value', clear: ', #consul' }
    : { store: ', #value = :value, #consul = :consul', clear: '' };
}

export function listValues(key: string): Values {
  return { ':directory': directoryPartition('lock', folderOf(key)), ':name': key };
}

interface LockChange extends Omit<UpdateParts, 'table' | 'key' | 'stamp'> {
  /** The row that the write is for. If it is held, the write ends this tenure, or is of its holder. */
  readonly observed?: LockRecord | undefined;
  readonly content?: Content | undefined;
}

/** An update of a lock's row. Its expressions may name values of the observed row, of the write, and of the new content. */
export function updateLockRow(
  verb: Verb,
  table: string,
  key: string,
  stamp: Stamp,
  { observed, content, ...parts }: LockChange,
): Statement<'update'> {
  const held = observed?.state === 'held' ? observed : undefined;
  const values = {
    ':session': held?.session,
    ':counter': observed?.leaseCounter,
    ':freedAt': held && endedAt(held, stamp.now),
    ':observedNonce': observed?.nonce,
    ':value': content?.value,
    ':consul': content?.consul,
    ':ttl': ttlEpochSeconds(stamp.now, RETENTION_DAYS.lease),
    ...parts.values,
  };
  return updateStatement(verb, { ...parts, table, key: lockKey(key), stamp, values });
}
