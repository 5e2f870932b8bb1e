/**
 * The lock row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `lock#<key>`, `lock` | the first writer |
 * | v | N | schema version | the first writer |
 * | leaseCounter | N | the fencing token; starts at the clock, grows by one with each tenure, each forced release and each settled unanswered request, never restarts | acquire, take over, force, disown, bar |
 * | session, acquiredAt | S; N, epoch ms | the holder, and the start of its tenure; absent while free | acquire, take over; removed by release, settle, force, disown |
 * | value | S | the user's own | acquire, update, release, put; removed by remove, and by settle and force for behavior `delete` |
 * | consul | M | what a Consul gateway keeps with the value; opaque here | with a value, and removed by one without it; removed with the value |
 * | createdAt | N, epoch ms | clock of the entry's creation; absent: the entry was deleted and the row keeps the counter | acquire, put; removed with the value |
 * | modifyIndex | N | starts at the clock, grows by one with each write, never restarts | all |
 * | freedAt | N, epoch ms | end of the last tenure, by the clock of the process that ended it; never goes back | release, settle, force, take over, disown; bar, which has no tenure to end |
 * | notBefore | N, epoch ms | no acquire succeeds before; absent: open | settle, force, remove and release of another's; removed by acquire |
 * | forced | M: by, reason, at, session, leaseCounter | the last forced release | force |
 * | nonce | S | of the last write | all |
 * | directoryKey, directoryName | S | `lock#<shard of the key up to its first />`, the key: the listing; exists as long as the entry, unless it was acquired unlisted | acquire, put; removed with the value |
 * | ttl | N, epoch s | deletes rows with only a counter, weeks after the last use; held rows and rows with a value have none | release,
 * settle, remove; removed by acquire, put |
 *
 * Every acquire writes the listing's attributes, because an unchanged index entry costs nothing.
 */
import type { Stamp } from '../../../core/lease/write.ts';
import type { Content, ForcedRelease, HeldLock, LockClaim, LockRecord } from '../lock-record.ts';
import { endedAt, revocationOf } from '../lock-record.ts';
import type {
  AcquireRequest,
  Disposition,
  ForceRequest,
  PendingAcquire,
  Observed,
  Release,
  TransactionAction,
} from '../lock-store.ts';
import { lockKey } from '../../../dynamo/engine/keys.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import {
  checkStatement,
  restampedTransaction,
  batchGetStatement,
  directoryStatement,
  getStatement,
} from '../../../dynamo/engine/statement.ts';
import { actionOf, together, transactStatement } from '../../../dynamo/engine/transaction.ts';
import type { Closing } from '../../../session/session-record.ts';
import { closedFrom } from '../../../session/session-record.ts';
import { revokeFromSession } from '../../../session/row/session-statements.ts';
import {
  IS_ABSENT,
  IS_AS_OBSERVED,
  IS_FREE,
  IS_OPEN,
  IS_HELD_BY,
  IS_UNTOUCHED,
  IS_KNOWN,
  HAS_NO_VALUE,
  TOUCH,
  LIST,
  KEEP_ENTRY,
  LEAVE,
  FREE,
  CLOSE,
  NEVER_GIVEN,
  DROP_ENTRY,
  takeEffect,
  takeValues,
  contentEffect,
  listValues,
  updateLockRow,
  folderOf,
} from './lock-expressions.ts';
import { directoryPartition, directoryPartitions } from '../../../dynamo/engine/directory.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';

/**
 * Guard: the key has no holder, its lock-delay is over, and its last tenure ended
 * before this acquire was requested, or its end was observed; an absent row is free.
 * Effect: held by the session, counter + 1. Creates the row;
 * its counter then starts at the clock, above every token of a swept row.
 * Outcomes: refused = the row shows its holder, or the time at which it opens; or it is free, and the next attempt must name its counter.
 */
export function acquireLock(table: string, request: AcquireRequest, stamp: Stamp): Statement<'update'> {
  const { key, content, openBefore, observedCounter = NEVER_GIVEN } = request;
  return updateLockRow('lock.acquire', table, key, stamp, {
    content,
    guard: `${IS_FREE} AND ${IS_OPEN} AND ${IS_UNTOUCHED} AND ${IS_KNOWN}`,
    effect: takeEffect(request, { isFresh: false, isHeld: false }),
    values: { ...takeValues(request), ':openBefore': openBefore, ':observedCounter': observedCounter },
  });
}

/**
 * Guard: still held by the observed session and counter; the caller has found that session expired and its lock-delay over.
 * Effect: as acquire; without the old entry if the session's behavior was `delete`.
 * Outcomes: refused = another contender took it over or settled it.
 */
export function takeOverLock(
  table: string,
  observed: HeldLock,
  request: AcquireRequest,
  options: { readonly isFresh: boolean },
  stamp: Stamp,
): Statement<'update'> {
  return updateLockRow('lock.takeOver', table, request.key, stamp, {
    observed,
    content: request.content,
    guard: IS_HELD_BY,
    effect: takeEffect(request, { ...options, isHeld: true }),
    values: takeValues(request),
  });
}

/**
 * Guard: every row is as it was observed, or still absent; the caller has judged them.
 * Effect: each as acquire or take over, in one transaction.
 * Outcomes: refused = one of them was written since: read again.
 */
export function acquireLocks(
  table: string,
  observed: readonly Observed[],
  request: Omit<AcquireRequest, 'key'>,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const actions = observed.map((one) => actionOf(acquireObserved(table, one, request, stamp)));
  return transactStatement('lock.acquireAll', actions, stamp.nonce);
}

/** Returns one key's part of a transaction for several keys. */
export function acquireObserved(
  table: string,
  { key, record, isFresh }: Observed,
  request: Omit<AcquireRequest, 'key' | 'openBefore'>,
  stamp: Stamp,
): Statement<'update'> {
  return updateLockRow('lock.acquireAll', table, key, stamp, {
    observed: record,
    content: request.content,
    guard: record === undefined ? IS_ABSENT : IS_AS_OBSERVED,
    effect: takeEffect(request, { isFresh, isHeld: record?.state === 'held' }),
    values: takeValues({ ...request, key }),
  });
}

/**
 * Guard: mine, and not written since my last write, so that a late copy of an earlier update cannot undo a later one.
 * Effect: the content replaced, if one is given; the counter stays.
 * Outcomes: refused = superseded, released by force, or deleted with its session; still mine = a value has been put.
 */
export function updateLock(
  table: string,
  observed: HeldLock,
  content: Content | undefined,
  stamp: Stamp,
): Statement<'update'> {
  const { store, clear } = contentEffect(content);
  return updateLockRow('lock.update', table, observed.key, stamp, {
    observed,
    content,
    guard: `${IS_HELD_BY} AND ${IS_AS_OBSERVED}`,
    effect: `SET ${TOUCH}${store}${clear === '' ? '' : ' REMOVE #consul'}`,
  });
}

/**
 * Guard: held by this tenure, and without a value if the row gets a TTL; `isExact`: also not written since it was observed.
 * Effect: free at once, or closed as `closing` says, if it is not the holder who releases; counter and value stay.
 * Outcomes: refused = superseded, or already released; still held by this tenure = a value was put, which must not be swept.
 */
export function releaseLock(
  table: string,
  observed: HeldLock,
  { content, sweepable, isExact = false, closing }: Release,
  stamp: Stamp,
): Statement<'update'> {
  const guard = sweepable ? `${IS_HELD_BY} AND ${HAS_NO_VALUE}` : IS_HELD_BY;
  const { store, clear } = contentEffect(content);
  return updateLockRow('lock.release', table, observed.key, stamp, {
    observed,
    content,
    goesFirst: true,
    omitsNewRow: true,
    guard: isExact ? `${guard} AND ${IS_AS_OBSERVED}` : guard,
    effect: sweepable
      ? `SET ${TOUCH}, ${FREE}, #ttl = :ttl REMOVE ${LEAVE}`
      : `SET ${TOUCH}${store}, ${FREE}${closing === undefined ? '' : CLOSE} REMOVE ${LEAVE}${clear}`,
    values: { ':notBefore': closing && closedFrom(stamp.now, closing) },
  });
}

/**
 * Guard: still held by the observed session and counter, whose session has expired; without a value if the row gets a TTL.
 * Effect: free, closed until `notBefore`; with the behavior `delete` the entry is gone and the row keeps the counter.
 * Outcomes: refused = another writer was first.
 */
export function settleLock(
  table: string,
  observed: HeldLock,
  { behaviour, notBefore }: Disposition,
  sweepable: boolean,
  stamp: Stamp,
): Statement<'update'> {
  const isSwept = sweepable || behaviour === 'delete';
  const drop = behaviour === 'delete' ? `, ${DROP_ENTRY}` : '';
  return updateLockRow('lock.settle', table, observed.key, stamp, {
    observed,
    guard: sweepable && behaviour === 'release' ? `${IS_HELD_BY} AND ${HAS_NO_VALUE}` : IS_HELD_BY,
    effect: `SET ${TOUCH}, ${FREE}, #notBefore = :notBefore${isSwept ? ', #ttl = :ttl' : ''} REMOVE ${LEAVE}${drop}`,
    values: { ':notBefore': notBefore },
  });
}

/**
 * Settles an acquire, or a release, whose response was lost.
 * Guard: still held by the session that may hold it unknowingly,
 * under the observed counter, which no later tenure has; without a
 *   value if the row gets a TTL.
 * Effect: free at once, counter + 1: neither the lost request nor a late copy of this one can affect later tenures.
 * Outcomes: refused = it was released, or acquired again: read again.
 */
export function disownLock(
  table: string,
  observed: HeldLock,
  { notBeforeAsked }: { readonly notBeforeAsked: number },
  stamp: Stamp,
): Statement<'update'> {
  const sweepable = observed.entry?.value === undefined;
  return updateLockRow('lock.disown', table, observed.key, stamp, {
    observed,
    guard: sweepable ? `${IS_HELD_BY} AND ${HAS_NO_VALUE}` : IS_HELD_BY,
    effect: `SET ${TOUCH}, #leaseCounter = #leaseCounter + :one, ${FREE}${sweepable ? ', #ttl = :ttl' : ''} REMOVE ${LEAVE}`,
    values: { ':freedAt': Math.max(endedAt(observed, stamp.now), notBeforeAsked) },
  });
}

/**
 * Settles an acquire whose response was lost, and which may still be in flight.
 * Guard: not written since it was observed free, or still absent.
 * Effect: counter + 1, and freed now: the lost request finds neither the
 * counter that it saw nor an earlier end. An absent row is
 *   created without an entry, like a deleted key's.
 * Outcomes: refused = it was written in the meantime, perhaps by that request: read again.
 */
export function voidLateAcquire(
  table: string,
  { key, observed, notBeforeAsked }: PendingAcquire,
  stamp: Stamp,
): Statement<'update'> {
  const free = `${TOUCH}, #leaseCounter = if_not_exists(#leaseCounter, :now) + :one, ${FREE}`;
  return updateLockRow('lock.bar', table, key, stamp, {
    observed,
    guard: observed === undefined ? IS_ABSENT : IS_AS_OBSERVED,
    effect: observed === undefined ? `SET #v = :v, ${free}, #ttl = :ttl` : `SET ${free}`,
    values: { ':freedAt': Math.max(stamp.now, observed?.freedAt ?? 0, notBeforeAsked) },
  });
}

/**
 * Guard: held by the session and counter that the operator saw; the session is live and was not renewed since, if it gets a notice.
 * Effect: free, counter + 1, closed for the lock-delay from the applied attempt, and as long as its holder may trust it, with operator and
 *   reason recorded; without its entry, if its session has the behavior `delete`; with `tell` the session learns of it at its next heartbeat.
 * Outcomes: refused = the key changed hands, was released, or its session was renewed or has just ended.
 */
export function forceReleaseLock(
  table: string,
  observed: HeldLock,
  force: ForceRequest,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const { key, session, leaseCounter } = observed;
  const forced: ForcedRelease = { by: force.by, reason: force.reason, at: stamp.now, session, leaseCounter };
  const [sweep, drop] = force.isDeleting ? [', #ttl = :ttl', `, ${DROP_ENTRY}`] : ['', ''];
  const release = updateLockRow('lock.force', table, key, stamp, {
    observed,
    guard: IS_HELD_BY,
    effect: `SET ${TOUCH}, ${FREE}, #leaseCounter = #leaseCounter + :one${CLOSE}, #forced = :forced${sweep} REMOVE ${LEAVE}${drop}`,
    values: { ':notBefore': closedFrom(stamp.now, force), ':forced': forced },
  });
  const tell = actionOf(revokeFromSession(table, session, [revocationOf(observed)], force.renewals));
  const statement = together(release, force.tell ? [tell] : [], stamp.nonce);
  return restampedTransaction(statement, (now) => forceReleaseLock(table, observed, force, { ...stamp, now }));
}

/**
 * Guard: not written since it was observed, or still absent; the caller has judged it. Without this guard, a late
 *   copy of an earlier put could undo a later one.
 * Effect: the content replaced, the entry created if there was none; holder and counter stay. TTL never deletes a value.
 * Outcomes: refused = it was written in the meantime: read again.
 */
export function putValue(
  table: string,
  key: string,
  observed: LockRecord | undefined,
  content: Content,
  stamp: Stamp,
): Statement<'update'> {
  const { store, clear } = contentEffect(content);
  return updateLockRow('lock.put', table, key, stamp, {
    observed,
    content,
    guard: observed === undefined ? IS_ABSENT : IS_AS_OBSERVED,
    effect: `SET ${TOUCH}, ${LIST}, ${KEEP_ENTRY}${store} REMOVE #ttl${clear}`,
    values: listValues(key),
  });
}

/**
 * Guard: not written since it was observed; the caller has seen that it has no holder, or intends to delete it while it is held.
 * Effect: the entry is gone, and the tenure with it; the row keeps the counter, and of a tenure until when it is closed.
 * Outcomes: refused = it was written in the meantime: read again.
 */
export function removeEntry(
  table: string,
  observed: LockRecord,
  closing: Closing | undefined,
  stamp: Stamp,
): Statement<'update'> {
  const isHeld = observed.state === 'held';
  const isClosing = isHeld && closing !== undefined;
  return updateLockRow('lock.remove', table, observed.key, stamp, {
    observed,
    guard: IS_AS_OBSERVED,
    effect: isHeld
      ? `SET ${TOUCH}, ${FREE}, #ttl = :ttl${isClosing ? CLOSE : ''} REMOVE ${LEAVE}, ${DROP_ENTRY}`
      : `SET ${TOUCH}, #ttl = :ttl REMOVE ${DROP_ENTRY}`,
    values: { ':notBefore': closing && closedFrom(stamp.now, closing) },
  });
}

/**
 * Guard: as `removeEntry`, and the holder's session is live and was not renewed since.
 * Effect: as `removeEntry`, as of the applied attempt; the holder learns of it at its next heartbeat.
 * Outcomes: refused = written in the meantime, or its session was renewed or has just ended.
 */
export function removeHeldEntry(
  table: string,
  observed: HeldLock,
  closing: Closing,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const { session } = observed;
  const tell = actionOf(revokeFromSession(table, session, [revocationOf(observed)], closing.renewals));
  const statement = together(removeEntry(table, observed, closing, stamp), [tell], stamp.nonce);
  return restampedTransaction(statement, (now) => removeHeldEntry(table, observed, closing, { ...stamp, now }));
}

/** For the user's own transaction. Guard: mine. Effect: none; the rest of the transaction is applied only if the guard is true. */
export function heldCondition(table: string, claim: LockClaim): TransactionAction {
  const values = { ':session': claim.session, ':counter': claim.leaseCounter };
  return checkStatement(table, lockKey(claim.key), IS_HELD_BY, values);
}

/** Returns the partitions that list the keys with a prefix. */
export function partitionsOfLocks(prefix: string): readonly string[] {
  return prefix.includes('/') ? [directoryPartition('lock', folderOf(prefix))] : directoryPartitions('lock');
}

/** Reads a key's entry in the listing, which is the first of all keys that begin with it. Eventually consistent. */
export const entryOfLock = (table: string, key: string): Statement<'query'> =>
  directoryStatement('lock.page', table, directoryPartition('lock', folderOf(key)), key, {
    after: undefined,
    limit: 1,
  });

export const readLock = (table: string, key: string): Statement<'get'> => getStatement('lock.get', table, lockKey(key));

export const readLocks = (
  table: string,
  keys: readonly string[],
  options: { readonly consistent: boolean },
): Statement<'batchGet'> => batchGetStatement('lock.getMany', table, keys.map(lockKey), options);

/** Reads a lock and its holder's session in one request. */
export const readRows = (
  table: string,
  keys: readonly RowKey[],
  options: { readonly consistent: boolean },
): Statement<'batchGet'> => batchGetStatement('lock.getWithSession', table, keys, options);
