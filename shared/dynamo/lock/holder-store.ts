/** What the holder of a key asks of its row: apart from the rest of the store, so that the bundles of those who only lock stay small. */
import type { Outcome, WriteLimits } from '../../lease/outcome.ts';
import type { FreeLock, HeldLock, LockRecord } from '../../lock/record.ts';
import type { HolderLockStore } from '../../lock/store.ts';
import { readInBatches } from '../engine/batches.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { lockKey, sessionKey } from '../engine/keys.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import type { Statement } from '../engine/statement.ts';
import { decodeSession } from '../session/codec.ts';
import { decodeLock } from './codec.ts';
import * as statements from './statements.ts';

export function createHolderLockStore(sender: Sender, table: string): HolderLockStore {
  return {
    acquire: (request, stamp, limits) =>
      update(statements.acquireLock(table, request, stamp), stamp.nonce, limits, decodeHeld),

    takeOver: (observed, request, options, stamp, limits) =>
      update(statements.takeOverLock(table, observed, request, options, stamp), stamp.nonce, limits, decodeHeld),

    disown: (observed, late, stamp, limits) =>
      update(statements.disownLock(table, observed, late, stamp), stamp.nonce, limits, decodeFree),

    barLate: (late, stamp, limits) =>
      update(statements.barLateAcquire(table, late, stamp), stamp.nonce, limits, decodeFree),

    update: (observed, content, stamp, limits) =>
      update(statements.updateLock(table, observed, content, stamp), stamp.nonce, limits, decodeHeld),

    async release(observed, options, stamp, limits) {
      const statement = statements.releaseLock(table, observed, options, stamp);
      const result = await sender.write(statement, stamp.nonce, limits);
      return result.kind === 'applied' ? { kind: 'applied' } : outcomeOf(result, decodeFree, decodeLock);
    },

    settle: (observed, disposition, sweepable, stamp, limits) =>
      update(statements.settleLock(table, observed, disposition, sweepable, stamp), stamp.nonce, limits, decodeFree),

    async get(key) {
      const { Item } = await sender.read(statements.readLock(table, key));
      return Item === undefined ? undefined : decodeLock(Item);
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
