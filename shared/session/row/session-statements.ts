/**
 * The session row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `session#<id>`, `session` | create |
 * | v | N | schema version | create |
 * | id, name, node | S | identity; for people | create |
 * | ttlMs | N or NULL | lease duration; NULL never expires | create |
 * | lockDelayMs | N, ms | how long its keys stay closed after an invalidation | create |
 * | behaviour | S | `release` or `delete` | create |
 * | status | S | `live`, then `invalid` and never live again | create, expire, invalidate |
 * | createdAt | N, epoch ms | | create |
 * | expiresAt | N, epoch ms, or NULL | holder's clock before sending + ttlMs | create, renew |
 * | renewals | N | accepted renewals; without a TTL: how often `revoked` was shortened | create, renew |
 * | nonce | S | of the last write | all |
 * | remote | BOOL | renewed by its id, by every caller that knows it; absent: by its holder, from nonce to nonce | create |
 * | updatedAt | N, epoch ms | of a remote session: clock of the last accepted renewal | renew |
 * | checks | L of S | checks of its node that it is bound to; absent: none | create |
 * | revoked | L of S | what was taken away from it one by one, and its holder does not know yet; absent: nothing | revoke; shortened by renew |
 * | reason, invalidatedAt | S; N, epoch ms | why and when it ended | expire, invalidate |
 * | directoryKey, directoryName | S | `session`, name and id: the listing, of the living and of those that expired | create, invalidate |
 * | ttl | N, epoch s | sweeping, weeks beyond any use | all |
 */
import type { Stamp } from '../../core/lease/stamp.ts';
import { MAX_TTL_MS } from '../../core/lease/timing.ts';
import type { InvalidationReason } from '../session-record.ts';
import type { Invalidation, NewSession, RemoteRenewal, SessionExpiry, SessionRenewal } from '../session-store.ts';
import { sessionKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement, TransactionCheck } from '../../dynamo/engine/statement.ts';
import {
  batchGetStatement,
  checkStatement,
  createStatement,
  directoryStatement,
  getStatement,
  updateStatement,
} from '../../dynamo/engine/statement.ts';

/** The one spelling of expiry: a damaged row (no number) is neither expired nor unexpired, so it is neither renewed nor taken over. */
const EXPIRED_BEFORE = '#expiresAt <= :expiredBefore';
const NOT_EXPIRED = '#expiresAt > :now';
const NOT_EXPIRED_BEFORE = '#expiresAt > :expiredBefore';
const NOT_RENEWED_LATER = '(attribute_not_exists(#updatedAt) OR #updatedAt < :now)';
const IS_LIVE = '#status = :live';

/**
 * Guard: the row is absent.
 * Effect: live until `now` + ttlMs.
 * Outcomes: refused = the id is taken.
 */
export function createSession(table: string, session: NewSession): Statement<'put'> {
  const { id, name, node, ttlMs, lockDelayMs, behaviour, checks = [], remote = false, now, nonce } = session;
  return createStatement('session.create', table, {
    ...sessionKey(id),
    v: SCHEMA_VERSION,
    id,
    name,
    node,
    ttlMs,
    lockDelayMs,
    behaviour,
    status: 'live',
    createdAt: now,
    expiresAt: ttlMs === null ? null : now + ttlMs,
    renewals: 0,
    nonce,
    directoryKey: 'session',
    directoryName: `${name}#${id}`,
    ...(checks.length === 0 ? {} : { checks }),
    ...(remote ? { remote } : {}),
    // Without a TTL of its own it lasts until it is destroyed, so nothing may sweep it before.
    ...(ttlMs === null ? {} : { ttl: ttlEpochSeconds(now + ttlMs, RETENTION_DAYS.session) }),
  });
}

/** What one renewal removes of `revoked`: an expression has 4 KB, and the next renewal goes on. */
const FORGET_LIMIT = 100;

/**
 * Guard: live, last written by the renewal that this one follows, and with a TTL unexpired by its holder's clock.
 * Effect: with a TTL, expires at `now` + ttlMs; renewals + 1; the first `told` revocations go. These are what the renewal before it
 *   answered with: revocations are only ever appended, and only a renewal removes any, so whatever came since stands behind them.
 *   Without a TTL there is nothing to extend: it is sent only when something was taken away from the session.
 * Outcomes: refused = ended by another process, or another incarnation renews it: lost.
 */
export function renewSession(table: string, renewal: SessionRenewal): Statement<'update'> {
  const { ttlMs } = renewal;
  const follows = `${IS_LIVE} AND #nonce = :lastNonce`;
  const base = { table, key: sessionKey(renewal.id) };
  const values = { ':live': 'live', ':lastNonce': renewal.lastNonce, ':one': 1, ':nonce': renewal.nonce };
  if (ttlMs === null)
    return updateStatement('session.renew', {
      ...base,
      guard: follows,
      effect: `SET #renewals = #renewals + :one, #nonce = :nonce${forget(renewal)}`,
      values,
    });
  const expiresAt = renewal.now + ttlMs;
  const ttl = ttlEpochSeconds(expiresAt, RETENTION_DAYS.session);
  return updateStatement('session.renew', {
    ...base,
    guard: `${follows} AND ${NOT_EXPIRED}`,
    effect: `SET #expiresAt = :expiresAt, #renewals = #renewals + :one, #nonce = :nonce, #ttl = :ttl${forget(renewal)}`,
    values: { ...values, ':now': renewal.now, ':expiresAt': expiresAt, ':ttl': ttl },
  });
}

/**
 * Guard: live, remote, not expired before the bound that its enders wait for,
 * and not renewed later already: the attempts of one renewal may
 *   come from several gateways, and late, and none may take back time that was promised.
 * Effect: expires at `now` + its own ttlMs; renewals + 1.
 * Outcomes: refused = it has ended or expired; or it has no TTL, or was renewed later, and all is well.
 */
export function renewRemoteSession(table: string, renewal: RemoteRenewal): Statement<'update'> {
  return updateStatement('session.renewRemote', {
    table,
    key: sessionKey(renewal.id),
    guard: `${IS_LIVE} AND #remote = :remote AND ${NOT_EXPIRED_BEFORE} AND ${NOT_RENEWED_LATER}`,
    effect:
      'SET #expiresAt = #ttlMs + :now, #renewals = #renewals + :one, #updatedAt = :now, #nonce = :nonce, #ttl = :ttl',
    values: {
      ':live': 'live',
      ':remote': true,
      ':expiredBefore': renewal.expiredBefore,
      ':now': renewal.now,
      ':one': 1,
      ':nonce': renewal.nonce,
      // Its TTL is in the row alone, so the sweep keeps clear of the longest.
      ':ttl': ttlEpochSeconds(renewal.now + MAX_TTL_MS, RETENTION_DAYS.session),
    },
  });
}

/** For a transaction that rests on the session. Guard: live. */
export function liveCondition(table: string, id: string): TransactionCheck {
  return checkStatement(table, sessionKey(id), IS_LIVE, { ':live': 'live' });
}

/**
 * Guard: live, with the renewals that the contender observed, and past its expiry and the clock bound.
 * Effect: invalid, as of the attempt that is applied: its lock-delay counts from there.
 * Outcomes: refused = renewed meanwhile, or ended by another contender.
 */
export function expireSession(table: string, expiry: SessionExpiry): Statement<'update'> {
  const statement = updateStatement('session.expire', {
    table,
    key: sessionKey(expiry.observed.id),
    guard: `${IS_LIVE} AND #renewals = :renewals AND ${EXPIRED_BEFORE}`,
    effect: INVALIDATE,
    values: {
      ...invalidateValues('expired', expiry),
      ':renewals': expiry.observed.renewals,
      ':expiredBefore': expiry.expiredBefore,
    },
  });
  return { ...statement, restamped: (now) => expireSession(table, { ...expiry, now }) };
}

/**
 * Guard: live. No nonce, because every ending must win over a renewal in flight.
 * Effect: invalid, as of the attempt that is applied; and listed no more:
 * only those that have not been ended are looked for afterwards.
 * Outcomes: refused = it had ended already.
 */
export function invalidateSession(table: string, invalidation: Invalidation): Statement<'update'> {
  const statement = updateStatement('session.invalidate', {
    table,
    key: sessionKey(invalidation.id),
    guard: IS_LIVE,
    effect: `${INVALIDATE} REMOVE #directoryKey, #directoryName`,
    values: invalidateValues(invalidation.reason, invalidation),
  });
  return { ...statement, restamped: (now) => invalidateSession(table, { ...invalidation, now }) };
}

/**
 * Guard: live.
 * Effect: its holder's next renewal answers with what was taken away. The nonce stays, for the renewal builds on it.
 * Outcomes: refused = it has ended, and its holder knows or will know.
 */
export function revokeFromSession(table: string, id: string, ...revocations: readonly string[]): Statement<'update'> {
  return updateStatement('session.revoke', {
    table,
    key: sessionKey(id),
    guard: IS_LIVE,
    effect: 'SET #revoked = list_append(if_not_exists(#revoked, :none), :revocation)',
    values: { ':live': 'live', ':none': [], ':revocation': revocations },
  });
}

/** Sessions by name: the living, and for some weeks those that expired. Eventually consistent. */
export const pageOfSessions = (table: string, prefix: string, after: unknown): Statement<'query'> =>
  directoryStatement('session.page', table, 'session', prefix, after);

export const readSession = (table: string, id: string): Statement<'get'> =>
  getStatement('session.get', table, sessionKey(id));

export const readSessions = (table: string, ids: readonly string[]): Statement<'batchGet'> =>
  batchGetStatement('session.getMany', table, ids.map(sessionKey), { consistent: true });

function forget({ told }: Pick<SessionRenewal, 'told'>): string {
  if (told === 0) return '';
  const places = Array.from({ length: Math.min(told, FORGET_LIMIT) }, (_, place) => `#revoked[${place}]`);
  return ` REMOVE ${places.join(', ')}`;
}

const INVALIDATE = 'SET #status = :invalid, #reason = :reason, #invalidatedAt = :now, #nonce = :nonce, #ttl = :ttl';

function invalidateValues(reason: InvalidationReason, { now, nonce }: Stamp) {
  return {
    ':live': 'live',
    ':invalid': 'invalid',
    ':reason': reason,
    ':now': now,
    ':nonce': nonce,
    ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.session),
  };
}
