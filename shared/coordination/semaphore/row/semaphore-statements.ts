/**
 * The semaphore row.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `semaphore#<name>`, `semaphore`; of workers `permits#<queue>`, `permits`, of further parts `permits#<n>` | create |
 * | v | N | schema version | create |
 * | declared | N | the limit that its contenders agree on | create, replace |
 * | limit | N | the limit in effect: `declared`, unless an operator has set another | create, replace |
 * | free | N | limit, or of a part its share of it, less the permits held; below zero after the limit was lowered | all |
 * | holders | M: claim → token N, or L of token and moment | the holders; the key has session, time and size (`formatClaim`); a list: evicted, its capacity closed until the moment | all |
 * | waiting | L of S | the queue of fair contenders, first come first; absent while the queue is empty | queue, replace |
 * | left | M: session → moment N | blind requests that this session made at or before the moment are refused; emptied by each replace | release, forgo, replace |
 * | floor | N | the same for all sessions; only grows | create, replace |
 * | forced | M: by, reason, at, session, leaseCounter | the last eviction | evict |
 * | leaseCounter | N | the last token; from the clock, or see `permit-parts.ts`; grows with each admission, never restarts | create, admit, replace |
 * | revision | N | starts at the clock, grows by one with each write, never restarts | all |
 * | nonce | S | of the last write | all |
 * | directoryKey, directoryName | S | `semaphore`, its name: the listing; absent in further parts | create |
 * | ttl | N, epoch s | a year after the last write | all |
 *
 * The row stores `free` and not the sum in use, because a condition can compare attributes but not calculate.
 * Every acquire writes the row, and a write costs one unit per KB of the whole row: hence the compact holders.
 */
import type { Stamp } from '../../../core/lease/write.ts';
import type { PermitClaim, PermitRecord, SemaphoreRecord, Ticket } from '../semaphore.ts';
import { HOLDERS_LIMIT, MARKS_LIMIT, WAITING_LIMIT, foldedFloor, formatClaim, revocationOf } from '../semaphore.ts';
import type { EvictionRequest, NewSemaphore } from '../semaphore-store.ts';
import { encodeHolders, encodeTicket } from './semaphore-codec.ts';
import { capacityOf, parsePart, partName, tokenBase } from '../../../core/permit-parts.ts';
import { semaphoreKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import {
  createStatement,
  directoryStatement,
  getStatement,
  queryStatement,
  restampedTransaction,
  updateStatement,
} from '../../../dynamo/engine/statement.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';
import { closedFrom } from '../../../session/session-record.ts';
import { revokeFromSession } from '../../../session/row/session-statements.ts';

/**
 * Guard: the row is absent.
 * Effect: a semaphore with its first holder, or none. The counter starts at the clock, so a row that TTL deleted and that is created again
 * starts
 *   above every token that it ever issued.
 * Outcomes: refused = another contender was first; the row shows its limit.
 */
export function createSemaphore(
  table: string,
  { name, limit, inEffect = limit }: NewSemaphore,
  first: PermitClaim | undefined,
  { now, nonce }: Stamp,
): Statement<'put'> {
  const token = tokenBase(name) + now + 1;
  const holders = first === undefined ? [] : [{ ...first, token, closedUntil: undefined }];
  return createStatement('semaphore.create', table, {
    ...semaphoreKey(name),
    v: SCHEMA_VERSION,
    declared: limit,
    limit: inEffect,
    free: capacityOf({ name, limit: inEffect }) - (first?.permits ?? 0),
    holders: encodeHolders(holders),
    leaseCounter: token,
    nonce,
    revision: now,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.semaphore),
    left: {},
    floor: 0,
    ...((parsePart(name)?.part ?? 0) === 0 ? { directoryKey: 'semaphore', directoryName: name } : {}),
  });
}

/**
 * Guard: the limit equals the contender's limit, capacity is free, the queue is empty, this permit is not in the row,
 *   its session has not barred it, and the number of marks is below the maximum.
 * Effect: the row has the holder, with the next token.
 * Outcomes: refused = another limit, no free capacity, barred (enter by `replace`), or an earlier attempt of this write was applied and the
 * row written again since.
 */
export function admitHolder(
  table: string,
  { name, limit }: NewSemaphore,
  claim: PermitClaim,
  stamp: Stamp,
): Statement<'update'> {
  return updateStatement('semaphore.admit', {
    table,
    key: semaphoreKey(name),
    guard: `${IS_KNOWN} AND ${IS_AGREED} AND ${HAS_ROOM} AND ${NOBODY_QUEUES} AND ${IS_NEW} AND ${IS_LATER} AND ${HAS_FEW_MARKS}`,
    effect:
      `SET #holders.#PERMIT = #leaseCounter + :one, #leaseCounter = #leaseCounter + :one, ` +
      `#free = #free - :permits, ${TOUCH}`,
    mapKeys: { '#PERMIT': formatClaim(claim), '#SESSION': claim.session },
    values: {
      ':since': claim.since,
      ':limit': limit,
      ':permits': claim.permits,
      ':holdersLimit': HOLDERS_LIMIT,
      ':marksLimit': MARKS_LIMIT,
      ':v': SCHEMA_VERSION,
      ...touchValues(stamp),
    },
  });
}

/**
 * Guard: the queue is not full, this ticket is not in it, its permit is not in the row, and its session has not barred it.
 * Effect: the ticket is last in the queue. From then on, only queued contenders are admitted.
 * Outcomes: refused = the queue is full, barred (queue by `replace`), or an earlier attempt of this write was applied.
 */
export function queueTicket(table: string, name: string, ticket: Ticket, stamp: Stamp): Statement<'update'> {
  return updateStatement('semaphore.queue', {
    table,
    key: semaphoreKey(name),
    guard: `${IS_KNOWN} AND (${NOBODY_QUEUES} OR ${HAS_PLACE}) AND ${IS_NEW} AND ${IS_LATER}`,
    effect: `SET #waiting = list_append(if_not_exists(#waiting, :none), :last), ${TOUCH}`,
    mapKeys: { '#PERMIT': formatClaim(ticket), '#SESSION': ticket.session },
    values: {
      ':since': ticket.since,
      ':ticket': encodeTicket(ticket),
      ':last': [encodeTicket(ticket)],
      ':none': [],
      ':waitingLimit': WAITING_LIMIT,
      ':v': SCHEMA_VERSION,
      ...touchValues(stamp),
    },
  });
}

/**
 * Guard: not written since it was observed. The nonce is not enough: a late attempt to join the queue puts an old one back.
 * Effect: limits, holders and queue as calculated from the observed row; all marks are folded into the floor.
 * Outcomes: refused = the semaphore was acquired, released or changed since: read again.
 */
export function replaceSemaphore(
  table: string,
  observed: SemaphoreRecord,
  next: SemaphoreRecord,
  stamp: Stamp,
): Statement<'update'> {
  const effect =
    `SET #declared = :declared, #limit = :limit, #free = :free, #holders = :holders, ` +
    `#leaseCounter = :leaseCounter, #left = :noMarks, #floor = :floor, ${TOUCH}`;
  const isQueued = next.waiting.length > 0;
  return updateStatement('semaphore.replace', {
    table,
    key: semaphoreKey(observed.name),
    guard: '#revision = :observedRevision',
    effect: isQueued ? `${effect}, #waiting = :waiting` : `${effect} REMOVE #waiting`,
    values: {
      ':observedRevision': observed.revision,
      ':declared': next.declared,
      ':limit': next.limit,
      ':free': next.free,
      ':leaseCounter': next.leaseCounter,
      ':holders': encodeHolders(next.holders),
      ':noMarks': {},
      ':floor': foldedFloor(next),
      ...(isQueued ? { ':waiting': next.waiting.map(encodeTicket) } : {}),
      ...touchValues(stamp),
    },
  });
}

/**
 * Guard: this permit is in the row, with this token, evicted or not; and the session's mark is not later than `left`.
 * Effect: the permit is gone, its capacity is free, and blind requests that its session made at or before `left` are refused.
 * Outcomes: refused = already released, or pruned because its session had expired, so nothing is left to release; or the session's
 *   mark is later: retry with that moment.
 * @param left the moment to store as the session's mark: the permit's own, or a later one of the same session
 */
export function releaseHolder(
  table: string,
  name: string,
  { permit, left }: { readonly permit: PermitRecord; readonly left: number },
  stamp: Stamp,
): Statement<'update'> {
  return updateStatement('semaphore.release', {
    goesFirst: true,
    table,
    key: semaphoreKey(name),
    guard: `(${IS_HELD} OR ${IS_EVICTED}) AND ${NOT_LOWERED}`,
    effect: `SET #free = #free + :permits, #left.#SESSION = :since, ${TOUCH} REMOVE #holders.#PERMIT`,
    mapKeys: { '#PERMIT': formatClaim(permit), '#SESSION': permit.session },
    values: { ':token': permit.token, ':permits': permit.permits, ':since': left, ...touchValues(stamp) },
  });
}

/**
 * Guard: the claim is not barred yet, and the number of marks is below the maximum.
 * Effect: blind requests of the claim that are still in flight will be refused. The row shows whether one was applied before.
 * Outcomes: refused = it is already barred, there are too many marks (`replace`), or the semaphore does not exist.
 */
export function forgoClaim(table: string, name: string, claim: PermitClaim, stamp: Stamp): Statement<'update'> {
  return updateStatement('semaphore.forgo', {
    table,
    key: semaphoreKey(name),
    guard: `${IS_KNOWN} AND ${IS_LATER} AND ${HAS_FEW_MARKS}`,
    effect: `SET #left.#SESSION = :since, ${TOUCH}`,
    mapKeys: { '#SESSION': claim.session },
    values: { ':v': SCHEMA_VERSION, ':since': claim.since, ':marksLimit': MARKS_LIMIT, ...touchValues(stamp) },
  });
}

/**
 * Guard: this permit is in the row, with this token; its session is live, and was not renewed since.
 * Effect: as `evictHolder`, and the session's next renewal reports the eviction, in one transaction.
 * Outcomes: refused = the permit is gone, or its session was renewed or has ended: read again.
 */
export function evictLiveHolder(
  table: string,
  name: string,
  permit: PermitRecord,
  eviction: EvictionRequest,
  stamp: Stamp,
): Statement<'transactWrite'> {
  const tell = actionOf(
    revokeFromSession(table, permit.session, [revocationOf(name, permit.token)], eviction.renewals),
  );
  const statement = together(evictHolder(table, name, permit, eviction, stamp), [tell], stamp.nonce);
  return restampedTransaction(statement, (now) => evictLiveHolder(table, name, permit, eviction, { ...stamp, now }));
}

/**
 * Guard: this permit is in the row, with this token.
 * Effect: evicted and recorded. Its capacity stays closed for the lock-delay, counted from the applied attempt, and as long as its holder
 *   may trust it.
 * Outcomes: refused = it is gone, or already evicted.
 */
export function evictHolder(
  table: string,
  name: string,
  permit: PermitRecord,
  eviction: EvictionRequest,
  stamp: Stamp,
): Statement<'update'> {
  const { by, reason } = eviction;
  const { session, token } = permit;
  const statement = updateStatement('semaphore.evict', {
    table,
    key: semaphoreKey(name),
    guard: IS_HELD,
    effect: `SET #holders.#PERMIT = :closed, #forced = :forced, ${TOUCH}`,
    mapKeys: { '#PERMIT': formatClaim(permit) },
    values: {
      ':token': token,
      ':closed': [token, closedFrom(stamp.now, eviction)],
      ':forced': { by, reason, at: stamp.now, session, leaseCounter: token },
      ...touchValues(stamp),
    },
  });
  return { ...statement, restamped: (now) => evictHolder(table, name, permit, eviction, { ...stamp, now }) };
}

export const readSemaphore = (table: string, name: string): Statement<'get'> =>
  getStatement('semaphore.get', table, semaphoreKey(name));

/** Reads all parts of a queue's permits: at most 100 rows of about a KB. */
export const partsOfPermits = (table: string, queue: string, consistent: boolean): Statement<'query'> =>
  queryStatement(
    'semaphore.parts',
    table,
    '#pk = :pk',
    { ':pk': semaphoreKey(partName(queue, 0)).pk },
    { ConsistentRead: consistent },
  );

/** Lists semaphores by name. Eventually consistent. */
export const pageOfSemaphores = (table: string, prefix: string, after: unknown): Statement<'query'> =>
  directoryStatement('semaphore.page', table, 'semaphore', prefix, { after });

/** Refuses rows of another schema version. */
const IS_KNOWN = '#v = :v';
const IS_AGREED = '#declared = :limit';
const HAS_ROOM = '#free >= :permits AND size(#holders) < :holdersLimit';
const NOBODY_QUEUES = 'attribute_not_exists(#waiting)';
const IS_NEW = 'attribute_not_exists(#holders.#PERMIT)';
const HAS_PLACE = '(size(#waiting) < :waitingLimit AND NOT contains(#waiting, :ticket))';
const IS_LATER = '#floor < :since AND (attribute_not_exists(#left.#SESSION) OR #left.#SESSION < :since)';
const HAS_FEW_MARKS = 'size(#left) < :marksLimit';
const NOT_LOWERED = '(attribute_not_exists(#left.#SESSION) OR #left.#SESSION <= :since)';
const IS_HELD = '#holders.#PERMIT = :token';
const IS_EVICTED = '#holders.#PERMIT[0] = :token';
const TOUCH = '#nonce = :nonce, #revision = #revision + :one, #ttl = :ttl';

function touchValues({ now, nonce }: Stamp) {
  return { ':nonce': nonce, ':one': 1, ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.semaphore) };
}
