/** Late writes to rows that belong to tasks, and to rows of dispatchers and operators. */
import { countDown, countLast, createBatch, isPending } from '../../../shared/tasks/rows/batch-statements.ts';
import { scheduleKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { createStatement } from '../../../shared/dynamo/engine/statement.ts';
import { RAISES, raiseCounters } from '../../../shared/operate/epoch/epoch-statements.ts';
import { advanceSchedule, putSchedule } from '../../../shared/tasks/rows/schedule-statements.ts';
import type { ScheduleDefinition, ScheduleRecord } from '../../../shared/tasks/schedule/schedule.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, beside, checkedBeside } from './rows.ts';

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
const BATCH = { queue: 'q', id: 'batch' };
const counted = (rows: Rows, total: number): void =>
  rows.write(createBatch(TABLE, { ...BATCH, total, waiter: { kind: 'nobody' } }, rows.stamp()));
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
    rows.write(createStatement('lock.put', TABLE, { pk: 'row', sk, ...row }));
    return raiseCounters(TABLE, { pk: 'row', sk, raise, counter: 1 }, 100, rows.stamp());
  };
}

export const OTHER_CASES: Cases = {
  'batch.create: attribute_not_exists(#pk)': twice((rows) =>
    createBatch(TABLE, { ...BATCH, total: 1, waiter: { kind: 'nobody' } }, rows.stamp()),
  ),
  'schedule.make: #nonce = :observedNonce': outdated(scheduleSeen, (seen, rows) =>
    advanceSchedule(TABLE, seen, { nextAt: NOW, lastAt: NOW }, rows.stamp(), 'schedule.make'),
  ),
  'batch, SET #pending = #pending - :one: #pending > :one'(rows) {
    counted(rows, 1);
    return beside(rows, countDown(TABLE, BATCH, 'done', rows.stamp()));
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
  'epoch.raise: attribute_not_exists(#leaseCounter)': raised('lock', 1, { modifyIndex: 1, leaseCounter: 7 }),
  'epoch.raise: #generation = :observed': raised('waitgroup', 0, { generation: 2, state: 'complete' }),
  'epoch.raise: #state = :complete': raised('waitgroup', 0, { generation: 1, state: 'open' }),
};
