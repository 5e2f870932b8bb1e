/**
 * The rows of a wait group: one for the group, one per member and generation.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `waitgroup#<name>`, `waitgroup` | create |
 * | v | N | schema version | create |
 * | generation | N | starts at the clock, grows by one with each begin, never restarts | create, begin |
 * | state | S | `open`, `sealed`, `complete` | create, seal, complete, begin |
 * | members, lost | N | their numbers; absent until complete | complete; removed by begin |
 * | nonce | S | of the last write | all |
 * | ttl | N, epoch s | a year after the last write | all |
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `waitgroup#<name>#<generation>`, `member#<id>` | add |
 * | v | N | schema version | add |
 * | state | S | `pending`, then `done` or `lost`, and never pending again | add, finish, lose |
 * | session | S | who works on it; empty: not leased | add, lease |
 * | nonce | S | of the last write | all |
 * | ttl | N, epoch s | a year after the last write: as long as its group, which counts it when all members have finished | add, finish,
 * lose |
 */
import type { Stamp } from '../../../core/lease/write.ts';
import type { MemberLease } from '../waitgroup-store.ts';
import type { GroupKey } from '../waitgroup.ts';
import { waitGroupKey, waitGroupMemberKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement, UpdateParts } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import {
  checkStatement,
  createStatement,
  getStatement,
  namesIn,
  queryStatement,
  updateStatement,
} from '../../../dynamo/engine/statement.ts';
import { transactStatement } from '../../../dynamo/engine/transaction.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';

/** Guard of one generation: late requests of an old generation must not change the next. */
const IS_IN_STATE = '#generation = :generation AND #state = :expected';
const TOUCH = '#nonce = :nonce, #ttl = :ttl';
const IS_PENDING = '#state = :pending';
const IS_UNLEASED = '#session = :none';
const IS_AS_OBSERVED = '#nonce = :observedNonce';
/** The `session` of a member without a lease. */
const NO_SESSION = '';

/**
 * Guard: the row is absent.
 * Effect: open. Its generation starts at the clock, above any that TTL deleted, because rows of old members may still exist.
 * Outcomes: refused = the group exists.
 */
export function createGroup(table: string, name: string, { now, nonce }: Stamp): Statement<'put'> {
  return createStatement('waitgroup.create', table, {
    ...waitGroupKey(name),
    v: SCHEMA_VERSION,
    generation: now,
    state: 'open',
    nonce,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.waitGroup),
  });
}

/**
 * Guard: open, in this generation.
 * Effect: sealed; an add in flight is refused.
 * Outcomes: refused = already sealed, or this generation is over.
 */
export const sealGroup = (table: string, group: GroupKey, stamp: Stamp): Statement<'update'> =>
  updateGroup('waitgroup.seal', table, group, stamp, {
    effect: `SET #state = :next, ${TOUCH}`,
    values: { ':expected': 'open', ':next': 'sealed' },
  });

/**
 * Guard: sealed, in this generation; the caller has seen every member finished, which is final.
 * Effect: complete, with the counts.
 * Outcomes: refused = another waiter was faster.
 */
export const completeGroup = (
  table: string,
  group: GroupKey,
  { members, lost }: { readonly members: number; readonly lost: number },
  stamp: Stamp,
): Statement<'update'> =>
  updateGroup('waitgroup.complete', table, group, stamp, {
    effect: `SET #state = :next, #members = :members, #lost = :lost, ${TOUCH}`,
    values: { ':expected': 'sealed', ':next': 'complete', ':members': members, ':lost': lost },
  });

/**
 * Guard: complete, in this generation.
 * Effect: open, in the next one.
 * Outcomes: refused = not complete yet, or already begun.
 */
export const beginGeneration = (table: string, group: GroupKey, stamp: Stamp): Statement<'update'> =>
  updateGroup('waitgroup.begin', table, group, stamp, {
    effect: `SET #state = :next, #generation = #generation + :one, ${TOUCH} REMOVE #members, #lost`,
    values: { ':expected': 'complete', ':next': 'open' },
  });

/** Guard: in the expected state, in this generation. */
function updateGroup(
  verb: Verb,
  table: string,
  { name, generation }: GroupKey,
  stamp: Stamp,
  { effect, values }: Pick<UpdateParts, 'effect' | 'values'>,
): Statement<'update'> {
  const known = { ':generation': generation, ...ttlValue(stamp), ...values };
  return updateStatement(verb, { table, key: waitGroupKey(name), guard: IS_IN_STATE, effect, stamp, values: known });
}

export const readGroup = (table: string, name: string): Statement<'get'> =>
  getStatement('waitgroup.get', table, waitGroupKey(name));

/**
 * Guard: the group is open, in this generation.
 * Effect: new members are pending; existing members stay as they are. One transaction.
 * Outcomes: refused = sealed, or this generation is over.
 */
export function addMembers(
  table: string,
  group: GroupKey,
  members: readonly { readonly id: string; readonly session: string | undefined }[],
  stamp: Stamp,
): Statement<'transactWrite'> {
  const actions = members.map((member) => memberAction(table, group, member, stamp));
  return transactStatement('waitgroup.add', [isOpen(table, group), ...actions], stamp.nonce);
}

/** The condition of adding members. */
export function isOpen(table: string, group: GroupKey): Action {
  const openValues = { ':generation': group.generation, ':expected': 'open' };
  return checkStatement(table, waitGroupKey(group.name), IS_IN_STATE, openValues);
}

export function memberAction(
  table: string,
  group: GroupKey,
  member: { readonly id: string; readonly session: string | undefined },
  stamp: Stamp,
): Action {
  return { Update: addMember(table, group, member, stamp) };
}

/**
 * Unguarded, because the transaction's first action is the guard, and `if_not_exists` does not change an existing member.
 * That includes a member without a lease, which is why the row stores the missing lease too.
 */
function addMember(
  table: string,
  group: GroupKey,
  { id, session }: { readonly id: string; readonly session: string | undefined },
  stamp: Stamp,
) {
  const effect =
    'SET #v = if_not_exists(#v, :v), #state = if_not_exists(#state, :pending), #session = if_not_exists(#session, :session), ' +
    '#nonce = if_not_exists(#nonce, :nonce), #ttl = if_not_exists(#ttl, :ttl)';
  return {
    TableName: table,
    Key: { ...waitGroupMemberKey(group, id) },
    UpdateExpression: effect,
    ExpressionAttributeNames: namesIn(effect),
    ExpressionAttributeValues: {
      ':v': SCHEMA_VERSION,
      ':pending': 'pending',
      ':session': session ?? NO_SESSION,
      ':nonce': stamp.nonce,
      ...ttlValue(stamp),
    },
  };
}

/**
 * Guard: pending, and without a lease, or not written since it was observed:
 * a delayed attempt of an earlier lease must not undo a later one.
 * Effect: leased to this session, no longer to another.
 * Outcomes: refused = done, lost, or not a member; still pending = another session has leased it: retry with that row.
 */
export const leaseMember = (
  table: string,
  group: GroupKey,
  { id, session, observed }: MemberLease,
  stamp: Stamp,
): Statement<'update'> =>
  updateMember('waitgroup.lease', table, group, id, stamp, {
    guard: `${IS_PENDING} AND ${observed === undefined ? IS_UNLEASED : IS_AS_OBSERVED}`,
    effect: 'SET #session = :session, #nonce = :nonce',
    values: { ':session': session, ':none': NO_SESSION, ':observedNonce': observed?.nonce },
  });

/**
 * Guard: pending.
 * Effect: done.
 * Outcomes: refused = already done, lost, or not a member.
 */
export const finishMember = (table: string, group: GroupKey, id: string, stamp: Stamp): Statement<'update'> =>
  updateMember('waitgroup.done', table, group, id, stamp, {
    guard: IS_PENDING,
    effect: `SET #state = :ended, ${TOUCH}`,
    values: { ':ended': 'done' },
  });

/**
 * Guard: pending, and leased to the session that the caller has found expired.
 * Effect: lost.
 * Outcomes: refused = done at the last moment, or leased to another session.
 */
export const loseMember = (
  table: string,
  group: GroupKey,
  { id, session }: { readonly id: string; readonly session: string },
  stamp: Stamp,
): Statement<'update'> =>
  updateMember('waitgroup.lose', table, group, id, stamp, {
    guard: `${IS_PENDING} AND #session = :session`,
    effect: `SET #state = :ended, ${TOUCH}`,
    values: { ':session': session, ':ended': 'lost' },
  });

function updateMember(
  verb: Verb,
  table: string,
  group: GroupKey,
  id: string,
  stamp: Stamp,
  parts: Pick<UpdateParts, 'guard' | 'effect' | 'values'>,
): Statement<'update'> {
  const values = { ':pending': 'pending', ...ttlValue(stamp), ...parts.values };
  return updateStatement(verb, { ...parts, table, key: waitGroupMemberKey(group, id), stamp, values });
}

/** Members of one generation, in the order of their keys. */
export function pageOfMembers(
  table: string,
  group: GroupKey,
  page: { readonly after: string | undefined; readonly limit: number },
): Statement<'query'> {
  const after = page.after === undefined ? undefined : { ...waitGroupMemberKey(group, page.after) };
  const values = { ':group': waitGroupMemberKey(group, '').pk };
  const options = { ConsistentRead: true, Limit: page.limit, after };
  return queryStatement('waitgroup.members', table, '#pk = :group', values, options);
}

function ttlValue({ now }: Stamp) {
  return { ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.waitGroup) };
}
