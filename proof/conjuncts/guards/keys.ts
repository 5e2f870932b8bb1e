/** Late writes to the counts of keys, and to lines whose heads are gone. */
import { taskConcurrencyKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { actionOf, transactStatement } from '../../../shared/dynamo/engine/transaction.ts';
import { enterKey, leaveKey, recountKey } from '../../../shared/tasks/rows/key-statements.ts';
import { advanceLine, closeLine, joinLine } from '../../../shared/tasks/rows/task/line-statements.ts';
import { reviveTask } from '../../../shared/tasks/rows/task/operator-statements.ts';
import { isAsRead } from '../../../shared/tasks/rows/task/pass-line.ts';
import type { Case, Rows } from './rows.ts';
import { NOW, TABLE, beside, checkedBeside } from './rows.ts';

const FULL = { key: 'k', limit: 1, rate: undefined };
const RATE = { key: 'k', limit: 5, rate: { count: 1, perMs: 1_000 } };
/** The window that begins at `NOW`. */
const WINDOW = NOW;

const entering = (rows: Rows, id: string, limit: Parameters<typeof enterKey>[2], window?: number) =>
  beside(rows, enterKey(TABLE, { queue: 'q', id }, limit, { window }, { ...rows.stamp(), now: NOW }));

/** A line of the task `a` alone. */
const line = (rows: Rows) => {
  const head = { queue: 'q', id: 'a' };
  rows.write(joinLine(TABLE, head, 'line', { head: undefined, tail: undefined }, 1));
  return head;
};
/** Without the actions that follow, which have their own cases. */
const passing = (rows: Rows, change: Statement<'update'>) =>
  transactStatement('line.pass', [actionOf(change)], rows.stamp().nonce);

export const KEY_CASES: readonly Case[] = [
  [
    'key, SET #v = :v: (attribute_not_exists(#running) OR #running < :limit)',
    (rows) => {
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, FULL, { window: undefined }, rows.stamp()));
      return entering(rows, 'b', FULL);
    },
  ],
  [
    'key, SET #v = :v: (attribute_not_exists(#window) OR #window < :window)',
    (rows) => {
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
      return entering(rows, 'b', RATE);
    },
  ],
  [
    'key, SET #v = :v: #started < :count',
    (rows) => {
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
      return entering(rows, 'b', RATE, WINDOW);
    },
  ],
  [
    'key, SET #v = :v: #window = :window',
    (rows) => {
      const limit = { ...RATE, rate: { count: 5, perMs: 1_000 } };
      rows.write(
        enterKey(TABLE, { queue: 'q', id: 'a' }, limit, { window: undefined }, { ...rows.stamp(), now: NOW + 1_000 }),
      );
      return entering(rows, 'b', limit, WINDOW);
    },
  ],
  [
    'key, SET #v = :v: #running > :zero',
    (rows) => {
      const leave = leaveKey(TABLE, { queue: 'q', id: 'a' }, FULL.key, rows.stamp());
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, FULL, { window: undefined }, rows.stamp()));
      rows.write(leave);
      return beside(rows, leave);
    },
  ],
  [
    'key.recount: #nonce = :observedNonce',
    (rows) => {
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
      const { nonce } = rows.read(taskConcurrencyKey('q', RATE.key));
      rows.write(leaveKey(TABLE, { queue: 'q', id: 'a' }, RATE.key, rows.stamp()));
      return recountKey(TABLE, 'q', RATE.key, { observedNonce: String(nonce), running: 1 }, rows.stamp());
    },
  ],
  [
    'key.recount: attribute_not_exists(#nonce)',
    (rows) => {
      rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
      return recountKey(TABLE, 'q', RATE.key, { observedNonce: undefined, running: 0 }, rows.stamp());
    },
  ],
  ['line.pass: #head = :me', (rows) => passing(rows, advanceLine(TABLE, { ...line(rows), id: 'x' }, 'line', 'c'))],
  ['line.pass: #tail = :tail', (rows) => passing(rows, closeLine(TABLE, line(rows), 'line', 0, rows.stamp()))],
  [
    'task, check: #nonce = :observedNonce',
    (rows) => {
      const ended = rows.completed(rows.running());
      rows.write(reviveTask(TABLE, ended, { runAt: NOW, keepsChildren: false }, 1, rows.stamp()));
      return checkedBeside(rows, isAsRead(TABLE, ended, ended));
    },
  ],
  ['task, check: attribute_not_exists(#pk)', (rows) => checkedBeside(rows, isAsRead(TABLE, rows.ready(), undefined))],
];
