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
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { MemberLease } from '../waitgroup-store.ts';
import type { GroupKey } from '../waitgroup.ts';
import { waitGroupKey, waitGroupMemberKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import {
  checkStatement,
  createStatement,
  getStatement,
  namesIn,
  queryStatement,
  updateStatement,
} from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { transactStatement } from '../../../dynamo/engine/transaction.ts';

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
  updateStatement('waitgroup.seal', {
    table,
    key: waitGroupKey(group.name),
    guard: IS_IN_STATE,
    effect: `SET #state = :next, ${TOUCH}`,
    values: { ...stateValues(group, { expected: 'open', next: 'sealed' }), ...groupTouchValues(stamp) },
  });

/**
 * Guard: sealed, in this generation; the caller has seen every member finished, which is final.
 * Effect: complete, with the counts.
 * Outcomes: refused = another waiter was faster.
 */
export const completeGroup = (
  table: string,
  group: GroupKey,
  counts: { readonly members: number; readonly lost: number },
  stamp: Stamp,
): Statement<'update'> =>
  updateStatement('waitgroup.complete', {
    table,
    key: waitGroupKey(group.name),
    guard: IS_IN_STATE,
    effect: `SET #state = :next, #members = :members, #lost = :lost, ${TOUCH}`,
    values: {
      ...stateValues(group, { expected: 'sealed', next: 'complete' }),
      ':members': counts.members,
      ':lost': counts.lost,
      ...groupTouchValues(stamp),
    },
  });

/**
 * Guard: complete, in this generation.
 * Effect: open, in the next one.
 * Outcomes: refused = not complete yet, or already begun.
 */
export const beginGeneration = (table: string, group: GroupKey, stamp: Stamp): Statement<'update'> =>
  updateStatement('waitgroup.begin', {
    table,
    key: waitGroupKey(group.name),
    guard: IS_IN_STATE,
    effect: `SET #state = :next, #generation = #generation + :one, ${TOUCH} REMOVE #members, #lost`,
    values: { ...stateValues(group, { expected: 'complete', next: 'open' }), ...groupTouchValues(stamp), ':one': 1 },
  });

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
      ...groupTouchValues(stamp),
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
  { nonce }: Stamp,
): Statement<'update'> =>
  updateStatement('waitgroup.lease', {
    table,
    key: waitGroupMemberKey(group, id),
    guard: `${IS_PENDING} AND ${observed === undefined ? IS_UNLEASED : IS_AS_OBSERVED}`,
    effect: 'SET #session = :session, #nonce = :nonce',
    values: {
      ':pending': 'pending',
      ':session': session,
      ':nonce': nonce,
      ...(observed === undefined ? { ':none': NO_SESSION } : { ':observedNonce': observed.nonce }),
    },
  });

/**
 * Guard: pending.
 * Effect: done.
 * Outcomes: refused = already done, lost, or not a member.
 */
export const finishMember = (table: string, group: GroupKey, id: string, stamp: Stamp): Statement<'update'> =>
  updateStatement('waitgroup.done', {
    table,
    key: waitGroupMemberKey(group, id),
    guard: IS_PENDING,
    effect: `SET #state = :ended, ${TOUCH}`,
    values: { ':pending': 'pending', ':ended': 'done', ...groupTouchValues(stamp) },
  });

/**
 * Guard: pending, and leased to the session that the caller has found expired.
 * Effect: lost.
 * Outcomes: refused = done at the last moment, or leased to another session.
 */
export const loseMember = (
  table: string,
  group: GroupKey,
  member: { readonly id: string; readonly session: string },
  stamp: Stamp,
): Statement<'update'> =>
  updateStatement('waitgroup.lose', {
    table,
    key: waitGroupMemberKey(group, member.id),
    guard: `${IS_PENDING} AND #session = :session`,
    effect: `SET #state = :ended, ${TOUCH}`,
    values: { ':pending': 'pending', ':session': member.session, ':ended': 'lost', ...groupTouchValues(stamp) },
  });

/** Members of one generation, in the order of their keys. */
export function pageOfMembers(
  table: string,
  group: GroupKey,
  page: { readonly after: string | undefined; readonly limit: number },
): Statement<'query'> {
  const { after, limit } = page;
  return queryStatement(
    'waitgroup.members',
    table,
    '#pk = :group',
    { ':group': waitGroupMemberKey(group, '').pk },
    {
      ConsistentRead: true,
      Limit: limit,
      after: after === undefined ? undefined : { ...waitGroupMemberKey(group, after) },
    },
  );
}

function stateValues(group: GroupKey, { expected, next }: { readonly expected: string; readonly next: string }) {
  return { ':generation': group.generation, ':expected': expected, ':next': next };
}

function groupTouchValues({ now, nonce }: Stamp) {
  return { ':nonce': nonce, ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.waitGroup) };
}
