/** Several locks' rows in one transaction: each as its own statement has it, together with what must be true of others. */
import type { Stamp } from '../../lease/stamp.ts';
import type { KeyConditions, KeyWrite } from '../../lock/store.ts';
import { lockKey } from '../keys.ts';
import type { Statement, TransactionCheck } from '../statement.ts';
import { checkStatement, transactStatement } from '../statement.ts';
import { acquireObserved, putValue, releaseLock, removeEntry } from './lock.ts';
import { liveCondition } from './session.ts';

/**
 * Guard: every row is as it was observed, and every session that is to hold something is live.
 * Effect: each key as its own write says; all or none.
 * Outcomes: refused = something was written since: look again.
 */
export function commitLocks(
  table: string,
  writes: readonly KeyWrite[],
  { unchanged, absent, live }: KeyConditions,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const checks: TransactionCheck[] = [
    ...unchanged.map(({ key, nonce }) =>
      checkStatement(table, lockKey(key), '#nonce = :observedNonce', { ':observedNonce': nonce }),
    ),
    ...absent.map((key) => checkStatement(table, lockKey(key), 'attribute_not_exists(#pk)', {})),
    ...live.map((id) => liveCondition(table, id)),
  ];
  const updates = writes.map((write) => updateOf(table, write, stamp));
  return transactStatement('lock.commit', updates, stamp.nonce, checks);
}

function updateOf(table: string, write: KeyWrite, stamp: Stamp): Statement<'update'> {
  switch (write.kind) {
    case 'put':
      return putValue(table, write.key, write.observed, write.content, stamp);
    case 'take':
      return acquireObserved(table, write.observed, write, stamp);
    case 'leave':
      return releaseLock(table, write.observed, { content: write.content, sweepable: false, isExact: true }, stamp);
    case 'remove':
      return removeEntry(table, write.observed, stamp);
  }
}
