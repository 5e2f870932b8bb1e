/** Late writes to wait groups and rate limits. */
import { takeTokens, takeTokensFromFull } from '../../../shared/coordination/ratelimit/row/ratelimit-statements.ts';
import * as groups from '../../../shared/coordination/waitgroup/row/waitgroup-statements.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE } from './rows.ts';

const GROUP = { name: 'group', generation: NOW };
const NEXT = { name: 'group', generation: NOW + 1 };
const BUCKET = { name: 'limit', key: 'k' };

export const GROUP_CASES: Cases = {
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
  'waitgroup.add: #generation = :generation'(rows) {
    begun(rows);
    return added(rows, GROUP);
  },
  'waitgroup.lease: #state = :pending'(rows) {
    finished(rows);
    return leased(rows, 'other');
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
  'ratelimit.take: #nonce <> :nonce'(rows) {
    const stamp = rows.stamp();
    rows.write(takeTokensFromFull(TABLE, BUCKET, DRAW, stamp));
    return takeTokens(TABLE, BUCKET, DRAW, stamp);
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
