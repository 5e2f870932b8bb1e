/**
 * The session row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `session#<id>`, `session` | create |
 * | v | N | schema version | create |
 * | id, name, node | S | identity; display only | create |
 * | codeVersion | S | of the holder's code; absent unless its process gave one | create |
 * | ttlMs | N or NULL | lease duration; NULL never expires | create |
 * | lockDelayMs | N, ms | least time that its keys stay closed after an invalidation | create |
 * | behaviour | S | `release` or `delete` | create |
 * | status | S | `live`, then `invalid`, which is final | create, expire, invalidate |
 * | createdAt | N, epoch ms | | create |
 * | expiresAt | N, epoch ms, or NULL | holder's clock before sending, plus ttlMs | create, renew |
 * | renewals | N | accepted renewals; without a TTL, writes that shortened `revoked` | create, renew |
 * | nonce | S | nonce of the last write; a revoke leaves it unchanged | all but revoke |
 * | remote | BOOL | any caller that knows the id can renew; if absent, only the holder, from nonce to nonce | create |
 * | updatedAt | N, epoch ms | remote sessions only: clock of the last accepted renewal | renew |
 * | consul | M | what a Consul gateway keeps with a remote session; opaque here | create |
 * | revoked | L of S | revocations that the holder has not yet seen; absent if none | revoke; shortened by renew |
 * | reason, invalidatedAt | S; N, epoch ms | reason and time of its end | expire, invalidate |
 * | notBefore | N, epoch ms | when its keys open, 0 for at once; absent unless the operator who ended it chose that | invalidate |
 * | directoryKey, directoryName | S | `session#<shard of the id>`, name and id: of sessions that are listed | create, invalidate |
 * | ttl | N, epoch s | deletion by TTL, weeks after the last use | all |
 */
import { defined } from '../../core/defined.ts';
import type { Stamp } from '../../core/lease/write.ts';
import { MAX_TTL_MS } from '../../core/lease/timing.ts';
import { closedFrom } from '../session-record.ts';
import type { Invalidation, NewSession, RemoteRenewal, SessionExpiry, SessionRenewal } from '../session-store.ts';
import { sessionKey } from '../../dynamo/engine/keys.ts';
import { directoryPartition } from '../../dynamo/engine/directory.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement, TransactionCheck, UpdateParts } from '../../dynamo/engine/statement.ts';
import {
  batchGetStatement,
  checkStatement,
  createStatement,
  getStatement,
  updateStatement,
} from '../../dynamo/engine/statement.ts';
import type { Verb } from '../../dynamo/engine/verb.ts';

/** The tests of expiry. A damaged row (not a number) fails them all, so it is neither renewed nor taken over. */
const EXPIRED_BEFORE = '#expiresAt <= :expiredBefore';
const NOT_EXPIRED = '#expiresAt > :now';
const NOT_EXPIRED_BEFORE = '#expiresAt > :expiredBefore';
const NOT_RENEWED_LATER = '(attribute_not_exists(#updatedAt) OR #updatedAt < :now)';
const IS_LIVE = '#status = :live';
const AS_OFTEN_RENEWED = '#renewals = :renewals';

/**
 * Guard: the row is absent.
 * Effect: live until `now` + ttlMs, and listed if it asks for that.
 * Outcomes: refused = the id is taken.
 */
export function createSession(table: string, session: NewSession): Statement<'put'> {
  const { id, name, node, codeVersion, ttlMs, lockDelayMs, behaviour, now, nonce } = session;
  const { remote = false, consul, listed = true } = session;
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
    ...(listed ? { directoryKey: directoryPartition('session', id), directoryName: `${name}#${id}` } : {}),
    ...defined({ codeVersion, consul }),
    ...(remote ? { remote } : {}),
    // A session without a TTL lasts until it is destroyed, so its row must not be deleted earlier.
    ...(ttlMs === null ? {} : { ttl: ttlEpochSeconds(now + ttlMs, RETENTION_DAYS.session) }),
  });
}

/** Entries of `revoked` that one renewal removes, because an expression has 4 KB. The next renewal continues. */
const FORGET_LIMIT = 100;

/**
 * Guard: live, nonce of the previous renewal, and, with a TTL, unexpired by the holder's clock.
 * Effect: renewals + 1; with a TTL, expires at `now` + ttlMs; the first `knownRevocations` are removed.
 *   The holder knows these from the response to the previous renewal. Revocations are only appended, and only renewals
 *   remove them, so newer ones follow in the list.
 *   Without a TTL there is nothing to extend, so this is sent only after a revocation.
 * Outcomes: refused = lost: another process ended the session, or another incarnation renews it.
 */
export function renewSession(table: string, renewal: SessionRenewal): Statement<'update'> {
  const { id, ttlMs, lastNonce } = renewal;
  const follows = `${IS_LIVE} AND #nonce = :lastNonce`;
  const values = { ':lastNonce': lastNonce };
  if (ttlMs === null)
    return updateSession('session.renew', table, id, renewal, {
      goesFirst: true,
      guard: follows,
      effect: `SET #renewals = #renewals + :one, #nonce = :nonce${forget(renewal)}`,
      values,
    });
  const expiresAt = renewal.now + ttlMs;
  const ttl = ttlEpochSeconds(expiresAt, RETENTION_DAYS.session);
  return updateSession('session.renew', table, id, renewal, {
    goesFirst: true,
    guard: `${follows} AND ${NOT_EXPIRED}`,
    effect: `SET #expiresAt = :expiresAt, #renewals = #renewals + :one, #nonce = :nonce, #ttl = :ttl${forget(renewal)}`,
    values: { ...values, ':expiresAt': expiresAt, ':ttl': ttl },
  });
}

/**
 * Guard: live, remote, not past its expiry and the clock bound, and not yet renewed at `now` or later. Attempts of one
 *   renewal can come late and through several gateways, and must not shorten the time that a later renewal promised.
 * Effect: expires at `now` + the row's ttlMs; renewals + 1.
 * Outcomes: refused = ended or expired. Harmless if the session has no TTL or was renewed later.
 */
export function renewRemoteSession(table: string, renewal: RemoteRenewal): Statement<'update'> {
  return updateSession('session.renewRemote', table, renewal.id, renewal, {
    goesFirst: true,
    guard: `${IS_LIVE} AND #remote = :remote AND ${NOT_EXPIRED_BEFORE} AND ${NOT_RENEWED_LATER}`,
    effect:
      'SET #expiresAt = #ttlMs + :now, #renewals = #renewals + :one, #updatedAt = :now, #nonce = :nonce, #ttl = :ttl',
    values: {
      ':remote': true,
      ':expiredBefore': renewal.expiredBefore,
      // Only the row contains the session's TTL, so assume the longest one.
      ':ttl': ttlEpochSeconds(renewal.now + MAX_TTL_MS, RETENTION_DAYS.session),
    },
  });
}

/** Condition for a transaction that requires the session. Guard: live. */
export function liveCondition(table: string, id: string): TransactionCheck {
  return checkStatement(table, sessionKey(id), IS_LIVE, { ':live': 'live' });
}

/**
 * Guard: live, with the observed number of renewals, and past its expiry and the clock bound.
 * Effect: invalid as of the applied attempt. The lock-delay counts from then.
 * Outcomes: refused = renewed since, or ended by another process.
 */
export function expireSession(table: string, expiry: SessionExpiry): Statement<'update'> {
  const { observed, expiredBefore } = expiry;
  const statement = updateSession('session.expire', table, observed.id, expiry, {
    guard: `${IS_LIVE} AND ${AS_OFTEN_RENEWED} AND ${EXPIRED_BEFORE}`,
    effect: INVALIDATE,
    values: { ':reason': 'expired', ':renewals': observed.renewals, ':expiredBefore': expiredBefore },
  });
  return { ...statement, restamped: (now) => expireSession(table, { ...expiry, now }) };
}

/**
 * Guard: live. No nonce, because an end must win over a renewal in flight.
 * Effect: invalid as of the applied attempt, and no longer listed; its keys open when the operator chose, if one did.
 * Outcomes: refused = already ended.
 */
export function invalidateSession(table: string, invalidation: Invalidation): Statement<'update'> {
  const { id, now, reason, lockDelayMs } = invalidation;
  const notBefore = lockDelayMs === undefined ? undefined : closedFrom(now, { lockDelayMs, trustedUntil: 0 });
  const open = notBefore === undefined ? '' : ', #notBefore = :notBefore';
  const statement = updateSession('session.invalidate', table, id, invalidation, {
    goesFirst: true,
    guard: IS_LIVE,
    effect: `${INVALIDATE}${open} REMOVE #directoryKey, #directoryName`,
    values: { ':reason': reason, ':notBefore': notBefore },
  });
  return { ...statement, restamped: (now) => invalidateSession(table, { ...invalidation, now }) };
}

/**
 * Guard: live, and not renewed since, if its renewals are given: a later one would let its holder trust the right for longer.
 * Effect: the holder's next renewal returns the revocations. The nonce stays, because that renewal compares it.
 * Outcomes: refused = already ended: the holder knows or will learn of it; or renewed since.
 * @param renewals as observed, for a right that is closed to others until the session would expire
 */
export function revokeFromSession(
  table: string,
  id: string,
  revocations: readonly string[],
  renewals?: number,
): Statement<'update'> {
  return updateSession('session.revoke', table, id, undefined, {
    guard: renewals === undefined ? IS_LIVE : `${IS_LIVE} AND ${AS_OFTEN_RENEWED}`,
    effect: 'SET #revoked = list_append(if_not_exists(#revoked, :none), :revocation)',
    values: { ':none': [], ':revocation': revocations, ':renewals': renewals },
  });
}

function updateSession(
  verb: Verb,
  table: string,
  id: string,
  stamp: Stamp | undefined,
  parts: Pick<UpdateParts, 'guard' | 'effect' | 'values' | 'goesFirst'>,
): Statement<'update'> {
  const ttl = stamp && ttlEpochSeconds(stamp.now, RETENTION_DAYS.session);
  const values = { ':live': 'live', ':invalid': 'invalid', ':ttl': ttl, ...parts.values };
  return updateStatement(verb, { ...parts, table, key: sessionKey(id), stamp, values });
}

export const readSession = (table: string, id: string): Statement<'get'> =>
  getStatement('session.get', table, sessionKey(id));

export const readSessions = (table: string, ids: readonly string[]): Statement<'batchGet'> =>
  batchGetStatement('session.getMany', table, ids.map(sessionKey), { consistent: true });

function forget({ knownRevocations }: Pick<SessionRenewal, 'knownRevocations'>): string {
  if (knownRevocations === 0) return '';
  const places = Array.from({ length: Math.min(knownRevocations, FORGET_LIMIT) }, (_, place) => `#revoked[${place}]`);
  return ` REMOVE ${places.join(', ')}`;
}

const INVALIDATE = 'SET #status = :invalid, #reason = :reason, #invalidatedAt = :now, #nonce = :nonce, #ttl = :ttl';
