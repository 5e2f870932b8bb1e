/** The store operations of a key's holder, separate from the rest so that the bundles of pure lock clients stay small. */
import type { FreeLock, HeldLock } from '../lock-record.ts';
import type { HolderLockStore } from '../lock-store.ts';
import { readInBatches } from '../../../dynamo/engine/batches.ts';
import { lockKey, sessionKey } from '../../../dynamo/engine/keys.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { decodeSession } from '../../../session/row/session-codec.ts';
import { decodeLock } from './lock-codec.ts';
import * as reads from './lock-reads.ts';
import * as statements from './lock-statements.ts';

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
