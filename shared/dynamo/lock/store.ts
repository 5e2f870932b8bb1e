import type { Outcome, WriteLimits } from '../../lease/outcome.ts';
import type { FreeLock, HeldLock, LockRecord } from '../../lock/record.ts';
import type { LockStore } from '../../lock/store.ts';
import { readInBatches } from '../engine/batches.ts';
import { decodeLock } from './codec.ts';
import { decodeSession } from '../session/codec.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { lockKey, sessionKey, splitKey } from '../engine/keys.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import { commitLocks } from './transaction-statements.ts';
import * as statements from './statements.ts';

export function createLockStore(sender: Sender, table: string): LockStore {
  return {
    acquire: (request, stamp, limits) =>
      update(statements.acquireLock(table, request, stamp), stamp.nonce, limits, decodeHeld),

    takeOver: (observed, request, options, stamp, limits) =>
      update(statements.takeOverLock(table, observed, request, options, stamp), stamp.nonce, limits, decodeHeld),

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

    disown: (observed, late, stamp, limits) =>
      update(statements.disownLock(table, observed, late, stamp), stamp.nonce, limits, decodeFree),

    barLate: (late, stamp, limits) =>
      update(statements.barLateAcquire(table, late, stamp), stamp.nonce, limits, decodeFree),

    update: (observed, content, stamp, limits) =>
      update(statements.updateLock(table, observed, content, stamp), stamp.nonce, limits, decodeHeld),

    release: (observed, options, stamp, limits) =>
      update(statements.releaseLock(table, observed, options, stamp), stamp.nonce, limits, decodeFree),

    settle: (observed, disposition, sweepable, stamp, limits) =>
      update(statements.settleLock(table, observed, disposition, sweepable, stamp), stamp.nonce, limits, decodeFree),

    async forceRelease(observed, force, stamp) {
      const result = await sender.transact(statements.forceReleaseLock(table, observed, force, stamp), stamp.nonce);
      return result.kind === 'applied' ? 'applied' : 'refused';
    },

    put: (key, observed, content, stamp) =>
      update(statements.putValue(table, key, observed, content, stamp), stamp.nonce, undefined, decodeLock),

    async remove(observed, { tell }, stamp) {
      const result =
        tell && observed.state === 'held'
          ? await sender.transact(statements.removeHeldEntry(table, observed, stamp), stamp.nonce)
          : await sender.write(statements.removeEntry(table, observed, stamp), stamp.nonce);
      if (result.kind === 'applied') return { kind: 'applied' };
      // Its guard was true, but its holder's session has ended: no attempt of it was, or will be, applied.
      return { kind: 'refused', earlierAttempt: result.kind === 'canceled' ? 'none' : result.earlierAttempt };
    },

    async commit(writes, conditions, ended, stamp) {
      const result = await sender.transact(commitLocks(table, writes, conditions, ended, stamp), stamp.nonce);
      return result.kind === 'applied' ? 'applied' : 'refused';
    },

    async get(key) {
      const { Item } = await sender.read(statements.readLock(table, key));
      return Item === undefined ? undefined : decodeLock(Item);
    },

    async getMany(keys, { consistent = true, onDamaged } = {}) {
      const items = await readInBatches(sender, table, statements.readLocks(table, keys, { consistent }));
      const locks = new Map<string, LockRecord>();
      for (const item of items) {
        try {
          const lock = decodeLock(item);
          locks.set(lock.key, lock);
        } catch (error) {
          if (onDamaged === undefined) throw error;
          onDamaged(error);
        }
      }
      return locks;
    },

    async getWithSession(key, session, options) {
      const keys = [lockKey(key), ...(session === undefined ? [] : [sessionKey(session)])];
      const items = await readInBatches(sender, table, statements.readRows(table, keys, options));
      const lock = items.find(({ sk }) => sk === keys[0]?.sk);
      const holder = items.find(({ sk }) => sk === keys[1]?.sk);
      return {
        lock: lock === undefined ? undefined : decodeLock(lock),
        session: holder === undefined ? undefined : decodeSession(holder),
      };
    },

    async page(prefix, after) {
      const { Items = [], LastEvaluatedKey } = await sender.read(statements.pageOfLocks(table, prefix, after));
      return { keys: Items.map((item) => splitKey(String(item.pk))[1] ?? ''), next: LastEvaluatedKey };
    },

    condition: (claim) => statements.heldCondition(table, claim),
  };

  async function update<Row extends LockRecord>(
    statement: Statement<'update'>,
    nonce: string,
    limits: WriteLimits | undefined,
    decode: (item: DynamoItem) => Row,
  ): Promise<Outcome<Row, LockRecord>> {
    return outcomeOf(await sender.write(statement, nonce, limits), decode, decodeLock);
  }
}

/** For the row that a write of ours has just left behind. */
function decodeHeld(item: DynamoItem): HeldLock {
  return decodeLock(item) as HeldLock;
}

function decodeFree(item: DynamoItem): FreeLock {
  return decodeLock(item) as FreeLock;
}
