/** Late writes to wait groups and rate limits. */
import { rateLimitKey, waitGroupMemberKey } from '../../../shared/dynamo/engine/keys.ts';
import { takeTokens, takeTokensFromFull } from '../../../shared/coordination/ratelimit/row/ratelimit-statements.ts';
import { decodeMember } from '../../../shared/coordination/waitgroup/row/waitgroup-codec.ts';
import * as groups from '../../../shared/coordination/waitgroup/row/waitgroup-statements.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE } from './rows.ts';

const GROUP = { name: 'group', generation: NOW };
const NEXT = { name: 'group', generation: NOW + 1 };
const BUCKET = { name: 'limit', key: 'k' };

export const GROUP_CASES: Cases = {
  'waitgroup.create: attribute_not_exists(#pk)'(rows) {
    opened(rows);
    return groups.createGroup(TABLE, 'group', rows.stamp());
  },
  'waitgroup.seal: #state = :expected'(rows) {
    sealed(rows);
    return groups.sealGroup(TABLE, GROUP, rows.stamp());
  },
  'waitgroup.seal: #generation = :generation'(rows) {
    begun(rows);
    return groups.sealGroup(TABLE, GROUP, rows.stamp());
  },
  'waitgroup.complete: #state = :expected'(rows) {
    completed(rows);
    return groups.completeGroup(TABLE, GROUP, NONE, rows.stamp());
  },
  'waitgroup.complete: #generation = :generation'(rows) {
    begun(rows);
    rows.write(groups.sealGroup(TABLE, NEXT, rows.stamp()));
    return groups.completeGroup(TABLE, GROUP, NONE, rows.stamp());
  },
  'waitgroup.begin: #state = :expected'(rows) {
    sealed(rows);
    return groups.beginGeneration(TABLE, GROUP, rows.stamp());
  },
  'waitgroup.begin: #generation = :generation'(rows) {
    begun(rows);
    rows.write(groups.sealGroup(TABLE, NEXT, rows.stamp()));
    rows.write(groups.completeGroup(TABLE, NEXT, NONE, rows.stamp()));
    return groups.beginGeneration(TABLE, GROUP, rows.stamp());
  },
  'waitgroup.add: #state = :expected'(rows) {
    sealed(rows);
    return added(rows, GROUP);
  },
  'waitgroup.add: #generation = :generation'(rows) {
    begun(rows);
    return added(rows, GROUP);
  },
  'waitgroup.done: #state = :pending'(rows) {
    finished(rows);
    return groups.finishMember(TABLE, GROUP, 'm', rows.stamp());
  },
  'waitgroup.lease: #state = :pending'(rows) {
    finished(rows);
    return leased(rows, 'other');
  },
  'waitgroup.lease: #session = :none'(rows) {
    opened(rows);
    rows.write(leased(rows, 's'));
    return leased(rows, 'other');
  },
  'waitgroup.lease: #nonce = :observedNonce'(rows) {
    opened(rows);
    const observed = decodeMember(rows.read(waitGroupMemberKey(GROUP, 'm')));
    rows.write(leased(rows, 's'));
    return groups.leaseMember(TABLE, GROUP, { id: 'm', session: 'other', observed }, rows.stamp());
  },
  'waitgroup.lose: #state = :pending'(rows) {
    opened(rows);
    rows.write(leased(rows, 's'));
    rows.write(groups.finishMember(TABLE, GROUP, 'm', rows.stamp()));
    return groups.loseMember(TABLE, GROUP, { id: 'm', session: 's' }, rows.stamp());
  },
  'waitgroup.lose: #session = :session'(rows) {
    opened(rows);
    rows.write(leased(rows, 'other'));
    return groups.loseMember(TABLE, GROUP, { id: 'm', session: 's' }, rows.stamp());
  },
};

const DRAW = { fullSince: NOW - 10_000, enoughSince: NOW - 1_000, costMs: 1_000 };

export const RATE_CASES: Cases = {
  'ratelimit.take: #emptyAt >= :fullSince'(rows) {
    rows.write(takeTokensFromFull(TABLE, BUCKET, DRAW, rows.stamp()));
    return takeTokens(TABLE, BUCKET, { ...DRAW, fullSince: NOW, enoughSince: NOW }, rows.stamp());
  },
  'ratelimit.take: #emptyAt <= :enoughSince'(rows) {
    rows.write(takeTokensFromFull(TABLE, BUCKET, DRAW, rows.stamp()));
    rows.set(rateLimitKey('limit', 'k'), 'emptyAt', NOW);
    return takeTokens(TABLE, BUCKET, DRAW, rows.stamp());
  },
  'ratelimit.take: #nonce <> :nonce'(rows) {
    const stamp = rows.stamp();
    rows.write(takeTokensFromFull(TABLE, BUCKET, DRAW, stamp));
    return takeTokens(TABLE, BUCKET, DRAW, stamp);
  },
  'ratelimit.takeFromFull: attribute_not_exists(#pk) OR (#v = :v AND #emptyAt < :fullSince)'(rows) {
    rows.write(takeTokensFromFull(TABLE, BUCKET, DRAW, rows.stamp()));
    return takeTokensFromFull(TABLE, BUCKET, DRAW, rows.stamp());
  },
};

const NONE = { members: 0, lost: 0 };

/** A group with one member. */
function opened(rows: Rows): void {
  rows.write(groups.createGroup(TABLE, 'group', rows.stamp()));
  rows.write(added(rows, GROUP));
}

function added(rows: Rows, group: typeof GROUP) {
  return groups.addMembers(TABLE, group, [{ id: 'm', session: undefined }], rows.stamp());
}

function leased(rows: Rows, session: string) {
  return groups.leaseMember(TABLE, GROUP, { id: 'm', session, observed: undefined }, rows.stamp());
}

function finished(rows: Rows): void {
  opened(rows);
  rows.write(groups.finishMember(TABLE, GROUP, 'm', rows.stamp()));
}

function sealed(rows: Rows): void {
  opened(rows);
  rows.write(groups.sealGroup(TABLE, GROUP, rows.stamp()));
}

function completed(rows: Rows): void {
  sealed(rows);
  rows.write(groups.completeGroup(TABLE, GROUP, NONE, rows.stamp()));
}

/** In its next generation, which is open. */
function begun(rows: Rows): void {
  completed(rows);
  rows.write(groups.beginGeneration(TABLE, GROUP, rows.stamp()));
}
