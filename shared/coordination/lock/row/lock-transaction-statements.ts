/** Writes the rows of several locks in one transaction, each with its own statement, plus conditions on other rows. */
import type { Stamp } from '../../../core/lease/write.ts';
import type { LockRecord } from '../lock-record.ts';
import { revocationOf } from '../lock-record.ts';
import type { EndedTenures, KeyConditions, KeyWrite } from '../lock-store.ts';
import { lockKey } from '../../../dynamo/engine/keys.ts';
import type { Statement, TransactionCheck } from '../../../dynamo/engine/statement.ts';
import { checkStatement } from '../../../dynamo/engine/statement.ts';
import { actionOf, transactStatement } from '../../../dynamo/engine/transaction.ts';
import { IS_ABSENT, IS_AS_OBSERVED } from './lock-expressions.ts';
import { acquireObserved, putValue, releaseLock, removeEntry } from './lock-statements.ts';
import type { Closing } from '../../../session/session-record.ts';
import { liveCondition, revokeFromSession } from '../../../session/row/session-statements.ts';

/**
 * Guard: every row is as it was observed, and every session that gains or loses a lock is live.
 * Effect: each key's own write, and notice to a session that loses a tenure at its next heartbeat, in one transaction. The key stays
 *   closed for as long as that session's holder may trust it. One write without conditions is sent
 *   alone, at half the price.
 * Outcomes: refused = a row was written since it was observed: read again.
 */
export function commitLocks(
  table: string,
  writes: readonly KeyWrite[],
  { unchanged, absent, live }: KeyConditions,
  ended: EndedTenures,
  stamp: Stamp,
): Statement<'transactWrite'> | Statement<'update'> {
  const checks: TransactionCheck[] = [
    ...unchanged.map(({ key, nonce }) =>
      checkStatement(table, lockKey(key), IS_AS_OBSERVED, { ':observedNonce': nonce }),
    ),
    ...absent.map((key) => checkStatement(table, lockKey(key), IS_ABSENT, {})),
    // A transaction can have only one action per row, and notifying a session has the same guard.
    ...live.filter((id) => !ended.has(id)).map((id) => liveCondition(table, id)),
  ];
  const updates = writes.map((write) => updateOf(table, write, ended, stamp));
  const [alone] = updates;
  if (alone !== undefined && updates.length === 1 && checks.length === 0 && ended.size === 0) return alone;
  const tell = [...ended].map(([id, { tenures, closing }]) =>
    revokeFromSession(table, id, tenures.map(revocationOf), closing.renewals),
  );
  return transactStatement('lock.commit', [...[...updates, ...tell].map(actionOf), ...checks], stamp.nonce);
}

function updateOf(table: string, write: KeyWrite, ended: EndedTenures, stamp: Stamp): Statement<'update'> {
  const closingOf = (lock: LockRecord): Closing | undefined =>
    lock.state === 'held' ? ended.get(lock.session)?.closing : undefined;
  switch (write.kind) {
    case 'put':
      return putValue(table, write.key, write.observed, write.content, stamp);
    case 'take':
      return acquireObserved(table, write.observed, { ...write, isListed: true }, stamp);
    case 'leave':
      return releaseLock(
        table,
        write.observed,
        { content: write.content, sweepable: false, isExact: true, closing: closingOf(write.observed) },
        stamp,
      );
    case 'remove':
      return removeEntry(table, write.observed, closingOf(write.observed), stamp);
  }
}
