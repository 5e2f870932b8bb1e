/** The two writes that settle a key if a session does not know whether it holds it. */
import { beforeEach, describe, expect, test } from 'vitest';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createLockStore } from '../../shared/coordination/lock/row/dynamo-lock-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { FreeLock, HeldLock } from '../../shared/coordination/lock/lock-record.ts';
import type { LockStore } from '../../shared/coordination/lock/lock-store.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { PATIENT } from '../support/patient.ts';

describeInEveryWorld('settling an unanswered request', (open) => {
  const T = 1_772_366_400_000;
  let locks: LockStore;
  let key: string;
  let writes = 0;

  beforeEach(() => {
    const { driver, table } = open();
    locks = createLockStore(new Sender({ driver, runtime: systemRuntime, policy: PATIENT }), table);
    key = `key-${systemRuntime.ids.unique()}`;
  });

  const stamp = (now: number): { now: number; nonce: string } => ({ now, nonce: `write-${++writes}` });
  const request = (now: number, observedCounter?: number) => ({
    key,
    session: 'mine',
    content: undefined,
    isListed: true,
    openBefore: now - 1_000,
    observedCounter,
  });

  async function acquire(now: number, observedCounter?: number): Promise<HeldLock> {
    const outcome = await locks.acquire(request(now, observedCounter), stamp(now));
    if (outcome.kind !== 'applied') throw new Error(`refused by ${JSON.stringify(outcome.current)}`);
    return outcome.row;
  }

  describe('a held row that names the session', () => {
    test('frees it, and takes the counter on', async () => {
      const orphan = await acquire(T);

      const outcome = await locks.disown(orphan, { notBeforeAsked: T }, stamp(T + 500));

      expect(outcome).toMatchObject({ kind: 'applied', row: { state: 'free', leaseCounter: orphan.leaseCounter + 1 } });
      expect(await locks.get(key)).toMatchObject({ freedAt: T + 500, notBefore: 0 });
    });

    test('ends no later tenure of the same session', async () => {
      const orphan = await acquire(T);
      const later = await locks.takeOver(orphan, request(T + 10), { isFresh: false }, stamp(T + 10));

      const outcome = await locks.disown(orphan, { notBeforeAsked: T }, stamp(T + 500));

      expect(later).toMatchObject({ kind: 'applied' });
      expect(outcome).toMatchObject({ kind: 'refused', current: { leaseCounter: orphan.leaseCounter + 1 } });
      expect(await locks.get(key)).toMatchObject({ state: 'held', session: 'mine' });
    });

    test('keeps the value, and does not make a row sweepable that got a value in the meantime', async () => {
      const orphan = await acquire(T);
      await locks.put(key, orphan, { value: 'v', consul: { any: 1 } }, stamp(T + 1));

      expect(await locks.disown(orphan, { notBeforeAsked: T }, stamp(T + 2))).toMatchObject({ kind: 'refused' });
      const seen = (await locks.get(key)) as HeldLock;
      expect(await locks.disown(seen, { notBeforeAsked: T }, stamp(T + 3))).toMatchObject({
        kind: 'applied',
        row: { entry: { value: 'v', consul: { any: 1 } } },
      });
    });
  });

  describe('a free row', () => {
    test('refuses a late acquire that had seen it free', async () => {
      const held = await acquire(T);
      await locks.release(held, { content: undefined, sweepable: true }, stamp(T + 10));
      const observed = (await locks.get(key)) as FreeLock;
      const late = request(T + 20, observed.leaseCounter);

      await locks.barLate({ key, observed, notBeforeAsked: T + 20 }, stamp(T + 30));

      expect(await locks.acquire(late, stamp(T + 20))).toMatchObject({ kind: 'refused' });
    });

    test('refuses a late acquire of a key without a row, and creates no entry', async () => {
      const late = request(T);

      await locks.barLate({ key, observed: undefined, notBeforeAsked: T }, stamp(T));

      expect(await locks.acquire(late, stamp(T))).toMatchObject({ kind: 'refused', current: { entry: undefined } });
      const row = (await locks.get(key)) as FreeLock;
      expect((await acquire(T + 10, row.leaseCounter)).leaseCounter).toBe(row.leaseCounter + 1);
    });

    test('counts from the time of the acquire, even if this clock has gone back since', async () => {
      const late = request(T);

      await locks.barLate({ key, observed: undefined, notBeforeAsked: T }, stamp(T - 60_000));

      expect(await locks.acquire(late, stamp(T))).toMatchObject({ kind: 'refused' });
    });

    test('is refused when the acquire was faster', async () => {
      await acquire(T);

      expect(await locks.barLate({ key, observed: undefined, notBeforeAsked: T }, stamp(T))).toMatchObject({
        kind: 'refused',
        current: { state: 'held', session: 'mine' },
      });
    });
  });
});
