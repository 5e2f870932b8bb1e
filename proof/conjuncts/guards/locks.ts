/** Late writes to locks and sessions. */
import { lockKey, sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { decodeLock } from '../../../shared/coordination/lock/row/lock-codec.ts';
import * as locks from '../../../shared/coordination/lock/row/lock-statements.ts';
import { commitLocks } from '../../../shared/coordination/lock/row/lock-transaction-statements.ts';
import * as sessions from '../../../shared/session/row/session-statements.ts';
import type { HeldLock, LockRecord } from '../../../shared/coordination/lock/lock-record.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, beside, ofEach } from './rows.ts';

const LATER = NOW + 60_000;
const CONTENT = { value: 'v' } as never;

/** Statements that depend on a tenure. */
const OF_A_TENURE: Readonly<Record<string, (held: HeldLock, rows: Rows) => Statement>> = {
  'lock.takeOver': (held, rows) => locks.takeOverLock(TABLE, held, request('other'), { isFresh: false }, rows.stamp()),
  'lock.release': (held, rows) => released(held, rows),
  'lock.settle': (held, rows) => settled(held, rows, NOW),
  'lock.disown': (held, rows) => locks.disownLock(TABLE, held, { notBeforeAsked: NOW }, rows.stamp()),
  'lock.force': (held, rows) =>
    locks.forceReleaseLock(
      TABLE,
      held,
      { by: 'me', reason: 'stuck', lockDelayMs: 0, trustedUntil: 0, tell: false, isDeleting: false },
      rows.stamp(),
    ),
};

export const LOCK_CASES: Cases = {
  ...ofEach(Object.entries(OF_A_TENURE), ([verb, send]) => ({
    [`${verb}: #session = :session`](rows) {
      const held = acquired(rows);
      rows.write(released(held, rows));
      return send(held, rows);
    },
    [`${verb}: #leaseCounter = :counter`](rows) {
      const held = acquired(rows);
      rows.write(released(held, rows));
      acquired(rows);
      return send(held, rows);
    },
  })),
  ...ofEach(['lock.release', 'lock.settle', 'lock.disown'], (verb) => ({
    [`${verb}: attribute_not_exists(#value)`](rows) {
      const held = acquired(rows);
      rows.write(locks.putValue(TABLE, 'k', held, CONTENT, rows.stamp()));
      return OF_A_TENURE[verb]!(held, rows);
    },
  })),
  'lock.acquire: (attribute_not_exists(#notBefore) OR #notBefore <= :openBefore)'(rows) {
    rows.write(settled(acquired(rows), rows, LATER));
    return locks.acquireLock(TABLE, request('other'), rows.stamp());
  },
  'lock.acquire: (attribute_not_exists(#v) OR #v = :v)'(rows) {
    rows.write(released(acquired(rows), rows));
    rows.set(lockKey('k'), 'v', 99);
    return locks.acquireLock(TABLE, request('other'), rows.stamp());
  },
  'lock, SET #nonce = :nonce: attribute_not_exists(#pk)': (rows) => together(rows, ['free', 'k']),
  'lock.acquireAll: #nonce = :observedNonce': (rows) => together(rows, ['k', 'free'], changed(rows)),
  'lock, SET #nonce = :nonce: #nonce = :observedNonce': (rows) => together(rows, ['free', 'k'], changed(rows)),
  'lock, check: #nonce = :observedNonce': (rows) => committed(rows, 'free', [changed(rows)]),
};

export const SESSION_CASES: Cases = {
  'session.renew: #expiresAt > :now': (rows) => renewed(rows, nonceOf(rows, rows.session('s')), LATER),
  'session.expire: #renewals = :renewals'(rows) {
    rows.write(renewed(rows, nonceOf(rows, rows.session('s')), NOW));
    return expired(rows, LATER);
  },
  'session.expire: #expiresAt <= :expiredBefore'(rows) {
    rows.session('s');
    return expired(rows, NOW);
  },
  'session.renewRemote: #status = :live'(rows) {
    rows.write(created(rows, { remote: true }));
    rows.write(ended(rows, 's'));
    return renewedRemotely(rows, { now: NOW, expiredBefore: NOW });
  },
  'session.renewRemote: #remote = :remote'(rows) {
    rows.session('s');
    return renewedRemotely(rows, { now: NOW, expiredBefore: NOW });
  },
  'session.renewRemote: #expiresAt > :expiredBefore'(rows) {
    rows.write(created(rows, { remote: true }));
    return renewedRemotely(rows, { now: LATER, expiredBefore: LATER });
  },
  'session, SET #revoked = list_append(if_not_exists(#revoked: #status = :live'(rows) {
    rows.write(ended(rows, rows.session('s')));
    return beside(rows, sessions.revokeFromSession(TABLE, 's', ['lock/k']));
  },
  'session, SET #revoked = list_append(if_not_exists(#revoked: #renewals = :renewals'(rows) {
    rows.write(renewed(rows, nonceOf(rows, rows.session('s')), NOW));
    return beside(rows, sessions.revokeFromSession(TABLE, 's', ['lock/k'], 0));
  },
};

function request(session: string) {
  return { key: 'k', session, content: undefined, isListed: true, openBefore: NOW + 1 };
}

function seen(rows: Rows): LockRecord {
  return decodeLock(rows.read(lockKey('k')));
}

function acquired(rows: Rows): HeldLock {
  rows.write(locks.acquireLock(TABLE, request('s'), rows.stamp()));
  return seen(rows) as HeldLock;
}

function released(held: HeldLock, rows: Rows): Statement<'update'> {
  return locks.releaseLock(TABLE, held, { content: undefined, sweepable: true }, rows.stamp());
}

function settled(held: HeldLock, rows: Rows, notBefore: number): Statement<'update'> {
  return locks.settleLock(TABLE, held, { behaviour: 'release', notBefore }, true, rows.stamp());
}

/** A lock as it was seen before another value was put. */
function changed(rows: Rows): LockRecord {
  const before = acquired(rows);
  rows.write(locks.putValue(TABLE, 'k', before, CONTENT, rows.stamp()));
  return before;
}

/** Keys that were seen absent, `k` perhaps otherwise; it is not so any more. */
function together(rows: Rows, keys: readonly string[], k?: LockRecord): Statement {
  if (k === undefined) acquired(rows);
  const observed = keys.map((key) => ({ key, record: key === 'k' ? k : undefined, isFresh: true }));
  return locks.acquireLocks(
    TABLE,
    observed,
    { session: 's', content: undefined, isListed: true, openBefore: NOW },
    rows.stamp(),
  );
}

function committed(rows: Rows, key: string, unchanged: readonly LockRecord[]): Statement {
  const put = { kind: 'put', key, observed: undefined, content: CONTENT } as const;
  return commitLocks(TABLE, [put], { unchanged, absent: [], live: [] }, new Map(), rows.stamp());
}

function created(rows: Rows, more: { readonly remote?: boolean }): Statement<'put'> {
  return sessions.createSession(TABLE, {
    id: 's',
    name: 'worker',
    node: 'n',
    ttlMs: 9_000,
    lockDelayMs: 0,
    behaviour: 'release',
    ...rows.stamp(),
    ...more,
  });
}

function nonceOf(rows: Rows, id: string): string {
  return String(rows.read(sessionKey(id)).nonce);
}

function renewed(rows: Rows, lastNonce: string, now: number): Statement<'update'> {
  return sessions.renewSession(TABLE, { id: 's', lastNonce, ttlMs: 9_000, knownRevocations: 0, ...rows.stamp(now) });
}

function renewedRemotely(rows: Rows, at: { readonly now: number; readonly expiredBefore: number }) {
  return sessions.renewRemoteSession(TABLE, { id: 's', ...at, nonce: rows.stamp().nonce });
}

function expired(rows: Rows, expiredBefore: number): Statement<'update'> {
  return sessions.expireSession(TABLE, { observed: { id: 's', renewals: 0 }, expiredBefore, ...rows.stamp() });
}

function ended(rows: Rows, id: string): Statement<'update'> {
  return sessions.invalidateSession(TABLE, { id, reason: 'ended', ...rows.stamp() });
}
