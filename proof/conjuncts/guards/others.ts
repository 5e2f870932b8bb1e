/** Late writes to rows that belong to tasks, and to rows of dispatchers and operators. */
import { beginAct, endAct } from '../../../shared/operate/audit/audit-statements.ts';
import { countDown, countLast, createBatch, isPending } from '../../../shared/tasks/rows/batch-statements.ts';
import { deregisterCheck, registerCheck, reportCheck } from '../../../shared/session/row/check-statements.ts';
import { checkKey, queueKey, scheduleKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { createStatement } from '../../../shared/dynamo/engine/statement.ts';
import { RAISES, raiseCounters } from '../../../shared/operate/epoch/epoch-statements.ts';
import { putFailure } from '../../../shared/tasks/rows/failure-statements.ts';
import { deletePayload, putPayload } from '../../../shared/tasks/rows/payload-statements.ts';
import {
  announceNames,
  changeQueue,
  noteHints,
  noteStarts,
  noteUse,
} from '../../../shared/tasks/rows/queue-statements.ts';
import {
  advanceSchedule,
  pauseSchedule,
  putSchedule,
  removeSchedule,
} from '../../../shared/tasks/rows/schedule-statements.ts';
import { takeSlot } from '../../../shared/tasks/rows/slot-statements.ts';
import { enqueueTask } from '../../../shared/tasks/rows/task/task-statements.ts';
import type { CheckRecord } from '../../../shared/session/health.ts';
import type { ScheduleDefinition, ScheduleRecord } from '../../../shared/tasks/schedule/schedule.ts';
import type { QueueRecord, StartsNote } from '../../../shared/tasks/task/queue-store.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, beside, checkedBeside, newTask } from './rows.ts';

/** Creates a row, changes it, or rests on how it was observed. */
type Write = (rows: Rows) => Statement;

/** Done twice, and meant once. */
function twice(write: Write): Write {
  return (rows) => {
    rows.write(write(rows));
    return write(rows);
  };
}

/** A statement built from the row before `write`, sent after it. */
function outdated<Row>(observe: (rows: Rows) => Row, write: (observed: Row, rows: Rows) => Statement): Write {
  return (rows) => {
    const observed = observe(rows);
    rows.write(write(observed, rows));
    return write(observed, rows);
  };
}

const HEALTH = { node: 'n', id: 'c', status: 'passing', note: '', ttlMs: null } as const;
const registered = (rows: Rows) => registerCheck(TABLE, undefined, HEALTH, rows.stamp());
const checkSeen = (rows: Rows): CheckRecord => {
  rows.write(registered(rows));
  return rows.read(checkKey('n', 'c')) as unknown as CheckRecord;
};

const PAUSE = { isPaused: true, reason: 'why' };
const USE = { lanes: new Set<string>(), shards: 1 };
const queueSeen = (rows: Rows): QueueRecord => {
  rows.write(changeQueue(TABLE, 'q', undefined, PAUSE, rows.stamp()));
  return rows.read(queueKey('q')) as unknown as QueueRecord;
};
const STARTS = { count: 1, token: 0, untilMs: NOW, waitMs: 2_000, heard: [] };
const startsSeen = (rows: Rows): StartsNote => {
  queueSeen(rows);
  rows.write(noteStarts(TABLE, 'q', undefined, STARTS, rows.stamp()));
  return rows.read(queueKey('q')).starts as StartsNote;
};
const HINTS = {
  tookMs: 20,
  unknownNames: [],
  announcedNames: [],
  workerSettings: { concurrency: 10, startWithinMs: 10_000 },
};

const namesSeen = (rows: Rows): QueueRecord => {
  rows.write(announceNames(TABLE, 'q', undefined, ['work'], rows.stamp()));
  return { announcedNames: ['work'] } as unknown as QueueRecord;
};

const SCHEDULE = {
  queue: 'q',
  name: 'nightly',
  task: 'work',
  input: null,
  options: {},
  cron: '0 0 * * *',
  zone: 'UTC',
  missed: 'skip',
  overlap: 'queue',
  toleranceMs: 0,
  jitterMs: 0,
} as unknown as ScheduleDefinition;
const scheduleSeen = (rows: Rows): ScheduleRecord => {
  rows.write(putSchedule(TABLE, SCHEDULE, NOW, undefined, rows.stamp()));
  return rows.read(scheduleKey('q', 'nightly')) as unknown as ScheduleRecord;
};

const ACT = { id: 'a', at: NOW, by: 'me', reason: 'why', verb: 'lock.release', target: 'k' };
const BATCH = { queue: 'q', id: 'batch' };
const counted = (rows: Rows, total: number): void =>
  rows.write(createBatch(TABLE, { ...BATCH, total, waiter: { kind: 'nobody' } }, rows.stamp()));

const CLAIM = { queue: 'q', id: 'id', priority: 'normal', session: 's', leaseCounter: 5 } as const;
/** Behind another action of a transaction. */
const behind = (rows: Rows, { input }: Statement<'put'>): Statement => {
  const transaction = beside(rows, undefined);
  const { ReturnConsumedCapacity: _, ...put } = input;
  const items = [...(transaction.input.TransactItems ?? []), { Put: put }];
  return { ...transaction, input: { ...transaction.input, TransactItems: items } };
};

function raised(sk: keyof typeof RAISES, at: number, row: Readonly<Record<string, unknown>>): Write {
  return (rows) => {
    const raise = RAISES[sk]![at]!;
    rows.write(createStatement('test.put', TABLE, { pk: 'row', sk, ...row }));
    return raiseCounters(TABLE, { pk: 'row', sk, raise, counter: 1 }, 100, rows.stamp());
  };
}

export const OTHER_CASES: Cases = {
  'task.enqueue: attribute_not_exists(#pk)': twice((rows) => enqueueTask(TABLE, newTask(), 1, rows.stamp())),
  'batch.create: attribute_not_exists(#pk)': twice((rows) =>
    createBatch(TABLE, { ...BATCH, total: 1, waiter: { kind: 'nobody' } }, rows.stamp()),
  ),
  'slot.take: attribute_not_exists(#pk)': twice((rows) =>
    takeSlot(TABLE, { schedule: 's', slot: '2027-01-01T00:00:00Z' }, { by: 'me', ...rows.stamp() }),
  ),
  'audit.begin: attribute_not_exists(#pk)': twice((rows) => beginAct(TABLE, ACT, rows.stamp().nonce)),
  'audit.end: #status = :begun'(rows) {
    rows.write(beginAct(TABLE, ACT, rows.stamp().nonce));
    rows.write(endAct(TABLE, ACT, 'done', rows.stamp().nonce));
    return endAct(TABLE, ACT, 'failed', rows.stamp().nonce);
  },
  'check.register: attribute_not_exists(#pk)': twice(registered),
  'check.report: #nonce = :observedNonce': outdated(checkSeen, (seen, rows) =>
    reportCheck(TABLE, seen, { status: 'passing', note: '' }, rows.stamp()),
  ),
  'check.deregister: #nonce = :observedNonce': outdated(checkSeen, (seen, rows) =>
    deregisterCheck(TABLE, seen, rows.stamp()),
  ),
  'queue.change: attribute_not_exists(#pk)': twice((rows) => changeQueue(TABLE, 'q', undefined, PAUSE, rows.stamp())),
  'queue.change: #nonce = :observedNonce': outdated(queueSeen, (seen, rows) =>
    changeQueue(TABLE, 'q', seen, PAUSE, rows.stamp()),
  ),
  'queue.noteUse: attribute_not_exists(#pk)': twice((rows) => noteUse(TABLE, 'q', undefined, USE, rows.stamp())),
  'queue.noteUse: #nonce = :observedNonce': outdated(queueSeen, (seen, rows) =>
    noteUse(TABLE, 'q', seen, USE, rows.stamp()),
  ),
  'queue.noteHints: attribute_exists(#pk)': () => noteHints(TABLE, 'q', HINTS),
  'queue.announceNames: attribute_not_exists(#names)': twice((rows) =>
    announceNames(TABLE, 'q', undefined, ['work'], rows.stamp()),
  ),
  'queue.announceNames: #names = :observedNames': outdated(namesSeen, (seen, rows) =>
    announceNames(TABLE, 'q', seen, ['work', 'other'], rows.stamp()),
  ),
  'queue.noteStarts: attribute_exists(#pk)': (rows) => noteStarts(TABLE, 'q', undefined, STARTS, rows.stamp()),
  'queue.noteStarts: attribute_not_exists(#starts)'(rows) {
    queueSeen(rows);
    rows.write(noteStarts(TABLE, 'q', undefined, STARTS, rows.stamp()));
    return noteStarts(TABLE, 'q', undefined, STARTS, rows.stamp());
  },
  'queue.noteStarts: #starts = :observed': outdated(startsSeen, (seen, rows) =>
    noteStarts(TABLE, 'q', seen, STARTS, rows.stamp()),
  ),
  'schedule.put: attribute_not_exists(#pk)': twice((rows) =>
    putSchedule(TABLE, SCHEDULE, NOW, undefined, rows.stamp()),
  ),
  'schedule.put: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    putSchedule(TABLE, SCHEDULE, NOW, seen, rows.stamp()),
  ),
  'schedule.advance: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    advanceSchedule(TABLE, seen, { nextAt: NOW }, rows.stamp()),
  ),
  'schedule.make: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    advanceSchedule(TABLE, seen, { nextAt: NOW, lastAt: NOW }, rows.stamp(), 'schedule.make'),
  ),
  'schedule.pause: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    pauseSchedule(TABLE, seen, { pausedAt: NOW }, rows.stamp()),
  ),
  'schedule.resume: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    pauseSchedule(TABLE, seen, { nextAt: NOW }, rows.stamp()),
  ),
  'schedule.remove: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    removeSchedule(TABLE, seen, rows.stamp()),
  ),
  'payload.delete: #nonce = :nonce'(rows) {
    rows.write(putPayload(TABLE, newTask(), 'other', rows.stamp()));
    return deletePayload(TABLE, newTask(), { nonce: 'before', isApart: false });
  },
  'failure.keep: attribute_not_exists(#pk) OR #leaseCounter < :counter': twice((rows) =>
    putFailure(TABLE, CLAIM, 'stack', rows.stamp()),
  ),
  'batch, SET #pending = #pending - :one: #pending > :one'(rows) {
    counted(rows, 1);
    return beside(rows, countDown(TABLE, BATCH, 'done'));
  },
  'batch, SET #pending = #pending - :one: #pending = :one'(rows) {
    counted(rows, 2);
    return beside(rows, countLast(TABLE, BATCH, 'done', rows.stamp()));
  },
  'batch, check: #pending > :zero'(rows) {
    counted(rows, 1);
    rows.write(countLast(TABLE, BATCH, 'done', rows.stamp()));
    return checkedBeside(rows, isPending(TABLE, BATCH));
  },
  'batch, put: attribute_not_exists(#pk)'(rows) {
    counted(rows, 1);
    return behind(rows, createBatch(TABLE, { ...BATCH, total: 1, waiter: { kind: 'nobody' } }, rows.stamp()));
  },
  'task, put: attribute_not_exists(#pk)'(rows) {
    rows.ready();
    return behind(rows, enqueueTask(TABLE, newTask(), 1, rows.stamp()));
  },
  'epoch.raise: #leaseCounter = :observed': raised('task', 0, { leaseCounter: 2 }),
  'epoch.raise: #modifyIndex = :observed': raised('lock', 1, { modifyIndex: 2 }),
  'epoch.raise: attribute_not_exists(#leaseCounter)': raised('lock', 1, { modifyIndex: 1, leaseCounter: 7 }),
  'epoch.raise: #generation = :observed': raised('waitgroup', 0, { generation: 2, state: 'complete' }),
  'epoch.raise: #state = :complete': raised('waitgroup', 0, { generation: 1, state: 'open' }),
};
