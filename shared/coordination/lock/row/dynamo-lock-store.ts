import type { HeldLock, LockRecord, FreeLock } from '../lock-record.ts';
import type { ForceRequest, LockStore, HolderLockStore } from '../lock-store.ts';
import { decodeLock } from './lock-codec.ts';
import { mergedPage } from '../../../dynamo/engine/directory.ts';
import { splitKey, lockKey, sessionKey } from '../../../dynamo/engine/keys.ts';
import { Rows, outcomeOf } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { notingTimes } from '../../../dynamo/engine/statement.ts';
import { closedFrom } from '../../../session/session-record.ts';
import { commitLocks } from './lock-transaction-statements.ts';
import * as reads from './lock-statements.ts';
import * as statements from './lock-statements.ts';
import { readInBatches } from '../../../dynamo/engine/batches.ts';
import { decodeSession } from '../../../session/row/session-codec.ts';

export function createLockStore(sender: Sender, table: string): LockStore {
  const rows = new Rows(sender, decodeLock);
  return {
    ...createHolderLockStore(sender, table),

    async acquireAll(observed, request, stamp, limits) {
      const result = await sender.transact(
        statements.acquireLocks(table, observed, request, stamp),
        stamp.nonce,
        limits,
      );
      return result.kind === 'applied'
        ? { kind: 'applied' }
        : { kind: 'refused', earlierAttempt: result.earlierAttempt };
    },

    async forceRelease(observed, force, stamp) {
      const times = new Set([stamp.now]);
      const release = notingTimes(statements.forceReleaseLock(table, observed, force, stamp), times);
      const result = await sender.transact(release, stamp.nonce);
      if (result.kind === 'applied' && !result.late)
        return { kind: 'applied', notBefore: closedFrom(result.restampedAt ?? stamp.now, force) };
      const isDecided = result.kind === 'canceled' || (result.kind === 'refused' && result.earlierAttempt === 'none');
      if (isDecided) return { kind: 'refused', earlierAttempt: 'none' };
      const found = result.item && decodeLock(result.item);
      if (found === undefined) return { kind: 'refused', earlierAttempt: 'unknown' };
      if (!isEndedBy(found, observed, force, times)) {
        // The row would have our record, unless a later tenure was also ended by force.
        const isOverwritten = (found.lastForced?.leaseCounter ?? 0) > observed.leaseCounter;
        return { kind: 'refused', earlierAttempt: isOverwritten ? 'unknown' : 'none' };
      }
      return { kind: 'applied', notBefore: found.state === 'free' ? found.notBefore : 0 };
    },

    put: (key, observed, content, stamp) =>
      rows.write(statements.putValue(table, key, observed, content, stamp), stamp),

    async remove(observed, { tell, ...closing }, stamp) {
      const isHeld = observed.state === 'held';
      const result =
        tell && isHeld
          ? await sender.transact(statements.removeHeldEntry(table, observed, closing, stamp), stamp.nonce)
          : await sender.write(statements.removeEntry(table, observed, closing, stamp), stamp.nonce);
      if (result.kind === 'applied')
        return { kind: 'applied', notBefore: isHeld ? closedFrom(result.restampedAt ?? stamp.now, closing) : 0 };
      // Its guard was true, but the holder's session has ended, so no attempt of it was or will be applied.
      return { kind: 'refused', earlierAttempt: result.kind === 'canceled' ? 'none' : result.earlierAttempt };
    },

    async commit(writes, conditions, ended, stamp) {
      const statement = commitLocks(table, writes, conditions, ended, stamp);
      const result =
        statement.kind === 'update'
          ? await sender.write(statement, stamp.nonce)
          : await sender.transact(statement, stamp.nonce);
      if (result.kind === 'applied') return { kind: 'applied' };
      return { kind: 'refused', earlierAttempt: result.kind === 'canceled' ? 'none' : result.earlierAttempt };
    },

    async getMany(keys, { consistent = true, onDamaged } = {}) {
      const locks = await rows.getMany(table, reads.readLocks(table, keys, { consistent }), onDamaged);
      return new Map(locks.map((lock) => [lock.key, lock]));
    },

    async page(prefix, after) {
      const query = { verb: 'lock.page' as const, table, partitions: reads.partitionsOfLocks(prefix), of: prefix };
      const { items, next } = await mergedPage(sender, query, after);
      return { keys: items.map((item) => splitKey(String(item.pk))[1] ?? ''), next };
    },

    async isListed(key) {
      const { Items = [] } = await sender.read(reads.entryOfLock(table, key));
      return Items.some(({ directoryName }) => directoryName === key);
    },
  };
}

/**
 * An attempt with a lost response is recognised by the record that it wrote, even if the key was acquired since then. A tenure ends only
 * once, and the record's time distinguishes it from another call of the same operator.
 */
function isEndedBy(
  { lastForced }: LockRecord,
  observed: HeldLock,
  { by, reason }: ForceRequest,
  times: ReadonlySet<number>,
): boolean {
  return (
    lastForced !== undefined &&
    lastForced.session === observed.session &&
    lastForced.leaseCounter === observed.leaseCounter &&
    lastForced.by === by &&
    lastForced.reason === reason &&
    times.has(lastForced.at)
  );
}

/** The store operations of a key's holder, separate from the rest so that the bundles of pure lock clients stay small. */
export function createHolderLockStore(sender: Sender, table: string): HolderLockStore {
  const rows = new Rows(sender, decodeLock);
  return {
    async acquire(request, stamp, limits) {
      const result = await sender.write(statements.acquireLock(table, request, stamp), stamp.nonce, limits);
      return outcomeOf(result, (item) => decodeLock(item) as HeldLock, decodeLock);
    },

    takeOver: (observed, request, options, stamp, limits) =>
      rows.writeAs<HeldLock>(statements.takeOverLock(table, observed, request, options, stamp), stamp, limits),

    disown: (observed, late, stamp, limits) =>
      rows.writeAs<FreeLock>(statements.disownLock(table, observed, late, stamp), stamp, limits),

    barLate: (late, stamp, limits) =>
      rows.writeAs<FreeLock>(statements.voidLateAcquire(table, late, stamp), stamp, limits),

    update: (observed, content, stamp, limits) =>
      rows.writeAs<HeldLock>(statements.updateLock(table, observed, content, stamp), stamp, limits),

    async release(observed, options, stamp, limits) {
      const statement = statements.releaseLock(table, observed, options, stamp);
      const result = await sender.write(statement, stamp.nonce, limits);
      return result.kind === 'applied' ? { kind: 'applied' } : outcomeOf(result, decodeLock, decodeLock);
    },

    settle: (observed, disposition, sweepable, stamp, limits) =>
      rows.writeAs<FreeLock>(statements.settleLock(table, observed, disposition, sweepable, stamp), stamp, limits),

    get: (key) => rows.get(reads.readLock(table, key)),

    async getWithSession(key, session, options) {
      const keys = [lockKey(key), ...(session === undefined ? [] : [sessionKey(session)])];
      const items = await readInBatches(sender, table, reads.readRows(table, keys, options));
      const lock = items.find(({ sk }) => sk === keys[0]?.sk);
      const holder = items.find(({ sk }) => sk === keys[1]?.sk);
      return {
        lock: lock === undefined ? undefined : decodeLock(lock),
        session: holder === undefined ? undefined : decodeSession(holder),
      };
    },

    condition: (claim) => statements.heldCondition(table, claim),
  };
}
