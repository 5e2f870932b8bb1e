/** Late writes to tasks, their lines and keys. */
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { together } from '../../../shared/dynamo/engine/transaction.ts';
import { isNotWaiting, waitForChildren, resumeParent } from '../../../shared/tasks/rows/task/children-statements.ts';
import { barCommit, commitTask } from '../../../shared/tasks/rows/task/commit-statements.ts';
import { followTask, promoteWaiting } from '../../../shared/tasks/rows/task/follower-statements.ts';
import { joinGroup } from '../../../shared/tasks/rows/task/group-statements.ts';
import * as lines from '../../../shared/tasks/rows/task/line-statements.ts';
import * as operator from '../../../shared/tasks/rows/task/operator-statements.ts';
import * as tasks from '../../../shared/tasks/rows/task/task-statements.ts';
import type { CancelledTask, EndedTask, Follower, ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, beside, checkedBeside, newTask, ofEach } from './rows.ts';

const ERROR = { name: 'Error', message: 'failed', at: NOW };
const CANCELLATION = { at: NOW, reason: 'not wanted' };
const LATER = NOW + 60_000;
const BATCH = { id: 'batch', total: 1 };

/** The statements of a holder. */
export const HOLDERS: Readonly<Record<string, (claim: RunningTask, rows: Rows) => Statement>> = {
  'task.complete': (claim, rows) => tasks.completeTask(TABLE, claim, undefined, rows.stamp()),
  'task.commit': (claim, rows) =>
    together(commitTask(TABLE, claim, { result: undefined, children: [] }, first(rows)), [], 'once'),
  'task.discard': (claim, rows) => tasks.discardTask(TABLE, claim, ERROR, rows.stamp()),
  'task.giveUp': (claim, rows) => tasks.giveUpTask(TABLE, claim, 'asked to', rows.stamp()),
  'task.retry': (claim, rows) => tasks.retryTask(TABLE, claim, { error: ERROR, readyAt: LATER }, 1, rows.stamp()),
  'task.release': (claim, rows) => tasks.releaseTask(TABLE, claim, rows.stamp()),
  'task.snooze': (claim, rows) => tasks.snoozeTask(TABLE, claim, { readyAt: LATER, shards: 1 }, rows.stamp()),
  'task.bar': (claim, rows) => barCommit(TABLE, claim, first(rows)),
  'task.progress': (claim, rows) => tasks.saveProgress(TABLE, claim, '1', first(rows)),
  'task.wait': (claim, rows) => waitForChildren(TABLE, claim, BATCH, 1, first(rows)),
};

/** Statements of other processes about a running task: its session has expired, or its holder must be notified. */
export const ONLOOKERS: Readonly<Record<string, (seen: RunningTask, rows: Rows) => Statement>> = {
  'task.takeOver': (seen, rows) => tasks.takeOverTask(TABLE, seen, 'other', rows.stamp()),
  'task.markDead': (seen, rows) => tasks.markDead(TABLE, seen, ERROR, rows.stamp()),
  'task.cancel': (seen, rows) => operator.cancelAbandonedTask(TABLE, seen, CANCELLATION, rows.stamp()),
  'task.requestCancel': (seen, rows) => operator.requestCancel(TABLE, seen, CANCELLATION, rows.stamp()),
};

const OF_HOLDERS = ofEach(Object.entries(HOLDERS), ([verb, send]) => ({
  [`${verb}: #leaseCounter = :counter`](rows) {
    const claim = rows.running();
    rows.claimedAgain(claim);
    return send(claim, rows);
  },
  [`${verb}: #state = :running`](rows) {
    const claim = rows.running();
    rows.completed(claim);
    return send(claim, rows);
  },
}));

const OF_ONLOOKERS = ofEach(Object.entries(ONLOOKERS), ([verb, send]) => ({
  [`${verb}: #leaseCounter = :observedCounter`](rows) {
    const seen = rows.running(rows.session('s'));
    rows.claimedAgain(seen);
    return send(seen, rows);
  },
  [`${verb}: #state = :running`](rows) {
    const seen = rows.running(rows.session('s'));
    rows.completed(seen);
    return send(seen, rows);
  },
}));

const FOLLOWER: Follower = {
  ...newTask(),
  expiresAt: undefined,
  links: undefined,
  payload: undefined,
  policy: undefined,
  traceparent: undefined,
  at: NOW,
  nonce: 'f',
};

/** Statements that depend on a waiting task as it was observed. */
const OBSERVERS: Readonly<Record<string, (seen: ReadyTask, rows: Rows) => Statement>> = {
  'task.claim': (seen, rows) => tasks.claimTask(TABLE, seen, 's', rows.stamp()),
  'task.join': (seen, rows) => joinGroup(TABLE, seen, 1, rows.stamp()),
  'task.cancel': (seen, rows) => operator.cancelWaitingTask(TABLE, seen, CANCELLATION, rows.stamp()),
  'task.reschedule': (seen, rows) =>
    operator.rescheduleTask(TABLE, seen, { priority: 'low', runAt: NOW }, 1, rows.stamp()),
  'task.replace': (seen, rows) => operator.replaceTask(TABLE, seen, newTask(), 1, rows.stamp()),
  'task.follow': (seen, rows) => followTask(TABLE, seen, newTask(), rows.stamp()),
  'task.promote': (seen, rows) => promoteWaiting(TABLE, seen, FOLLOWER, 1, rows.stamp()),
};

const OF_OBSERVERS = ofEach(Object.entries(OBSERVERS), ([verb, send]) => ({
  [`${verb}: #nonce = :observedNonce`](rows) {
    const seen = rows.ready();
    rows.write(operator.rescheduleTask(TABLE, seen, { priority: 'high', runAt: NOW }, 1, rows.stamp()));
    return send(seen, rows);
  },
}));

const AGAIN = { runAt: NOW, keepsChildren: false };
/** Statements that depend on an ended task as it was observed. */
const OBSERVERS_OF_THE_END: Readonly<Record<string, (seen: EndedTask, rows: Rows) => Statement>> = {
  'task.revive': (seen, rows) => operator.reviveTask(TABLE, seen, AGAIN, 1, rows.stamp()),
  'task.renew': (seen, rows) => operator.renewTask(TABLE, seen, newTask(), 1, rows.stamp()),
};

const OF_THE_ENDED = ofEach(Object.entries(OBSERVERS_OF_THE_END), ([verb, send]) => ({
  [`${verb}: #nonce = :observedNonce`](rows) {
    const seen = rows.completed(rows.running());
    rows.write(operator.reviveTask(TABLE, seen, AGAIN, 1, rows.stamp()));
    rows.completed(rows.claimed(rows.seen() as ReadyTask));
    return send(seen, rows);
  },
}));

const TOO_EARLY: Cases = {
  'task.join: #readyAt <= :now': (rows) => joinGroup(TABLE, rows.ready(), 1, rows.stamp(NOW - 1)),
  'task.expire: #expiresAt <= :now': (rows) =>
    operator.expireTask(TABLE, rows.ready({ expiresAt: LATER }), 'late', rows.stamp()),
  'task.claim: #expiresAt > :now': (rows) =>
    tasks.claimTask(TABLE, rows.ready({ expiresAt: LATER }), 's', rows.stamp(LATER)),
  'task.expire: #nonce = :observedNonce'(rows) {
    const seen = rows.ready({ expiresAt: NOW });
    rows.write(operator.rescheduleTask(TABLE, seen, { priority: 'high', runAt: NOW }, 1, rows.stamp()));
    return operator.expireTask(TABLE, seen, 'late', rows.stamp());
  },
  ...ofEach(['task.progress', 'task.bar', 'task.commit', 'task.wait'], (verb) => ({
    [`${verb}: #sequence < :sequence`](rows) {
      const claim = rows.running();
      rows.write(barCommit(TABLE, claim, first(rows)));
      return HOLDERS[verb]!(claim, rows);
    },
  })),
};

const OF_LINES: Cases = {
  'task, SET #readyAt = :readyAt: #children = :batch'(rows) {
    rows.write(waitForChildren(TABLE, rows.running(), { id: 'later', total: 1 }, 1, first(rows)));
    return beside(rows, woken(rows));
  },
  'task, check: attribute_not_exists(#children) OR #children <> :batch OR #state <> :ready'(rows) {
    rows.write(waitForChildren(TABLE, rows.running(), BATCH, 1, first(rows)));
    return checkedBeside(rows, isNotWaiting(TABLE, { queue: 'q', id: 'id' }, { queue: 'q', id: 'batch' }));
  },
  'task, SET #readyAt = :readyAt: #state = :ready'(rows) {
    rows.write(waitForChildren(TABLE, rows.running(), BATCH, 1, first(rows)));
    rows.write(operator.cancelWaitingTask(TABLE, rows.seen() as ReadyTask, CANCELLATION, rows.stamp()));
    return beside(rows, woken(rows));
  },
  'task.leaveLine: #nonce = :observedNonce'(rows) {
    const waiting = rows.ready({}, { key: 'line', ticket: 1, isFirst: false });
    rows.write(operator.cancelWaitingTask(TABLE, waiting, CANCELLATION, rows.stamp(), 1));
    const cancelled = rows.seen() as CancelledTask;
    rows.write(operator.reviveTask(TABLE, cancelled, { runAt: NOW, keepsChildren: false }, 1, rows.stamp()));
    return lines.leaveLine(TABLE, cancelled, rows.stamp());
  },
  'line, SET #turn = :turn: #turn = :ticket': (rows) => beside(rows, stepped(line(rows), 2, { pass: 2, joins: 0 })),
  'line, SET #turn = :turn: #tail = :tail': (rows) => beside(rows, stepped(line(rows), 1, { pass: 1, joins: 1 })),
  'line, SET #tail = :last REMOVE #ttl: #tail = :tail': (rows) => beside(rows, stepped(line(rows), 1, { joins: 1 })),
};

export const TASK_CASES: Cases = {
  ...OF_HOLDERS,
  ...OF_ONLOOKERS,
  ...OF_OBSERVERS,
  ...OF_THE_ENDED,
  ...TOO_EARLY,
  ...OF_LINES,
};

/** Stamp of the first numbered write of a claim. */
function first(rows: Rows) {
  return { ...rows.stamp(), sequence: 1 };
}

/** A line whose turn is its first ticket, with two tickets given. */
function line(rows: Rows): Rows {
  rows.write(stepped(rows, 0, { joins: 1 }));
  rows.write(stepped(rows, 1, { joins: 1 }));
  return rows;
}

/** @param tail as observed; 0: no row was there */
function stepped(rows: Rows, tail: number, step: Parameters<typeof lines.changeLine>[3]): Statement<'update'> {
  const seen = tail === 0 ? undefined : { tail, turn: 1 };
  return lines.changeLine(TABLE, { queue: 'q', key: 'line' }, seen, step, { ...rows.stamp(), now: 0 });
}

function woken(rows: Rows): Statement<'update'> {
  return resumeParent(TABLE, { queue: 'q', id: 'id' }, { queue: 'q', id: 'batch' }, rows.stamp());
}
