/** Late writes to the counts of keys, and to lines whose tasks are gone. */
import { taskConcurrencyKey } from '../../../shared/dynamo/engine/keys.ts';
import { enterKey, leaveKey, recountKey } from '../../../shared/tasks/rows/key-statements.ts';
import { changeLine } from '../../../shared/tasks/rows/task/line-statements.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, beside, ofEach } from './rows.ts';

const FULL = { key: 'k', limit: 1, rate: undefined };
const RATE = { key: 'k', limit: 5, rate: { count: 1, perMs: 1_000 } };
/** The window that begins at `NOW`. */
const WINDOW = NOW;

const entering = (rows: Rows, id: string, limit: Parameters<typeof enterKey>[2], window?: number) =>
  beside(rows, enterKey(TABLE, { queue: 'q', id }, limit, { window }, { ...rows.stamp(), now: NOW }));

export const KEY_CASES: Cases = {
  'key, SET #v = :v: (attribute_not_exists(#running) OR #running < :limit)'(rows) {
    rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, FULL, { window: undefined }, rows.stamp()));
    return entering(rows, 'b', FULL);
  },
  'key, SET #v = :v: (attribute_not_exists(#window) OR #window < :window)'(rows) {
    rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
    return entering(rows, 'b', RATE);
  },
  'key, SET #v = :v: #started < :count'(rows) {
    rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
    return entering(rows, 'b', RATE, WINDOW);
  },
  'key, SET #v = :v: #window = :window'(rows) {
    const limit = { ...RATE, rate: { count: 5, perMs: 1_000 } };
    rows.write(
      enterKey(TABLE, { queue: 'q', id: 'a' }, limit, { window: undefined }, { ...rows.stamp(), now: NOW + 1_000 }),
    );
    return entering(rows, 'b', limit, WINDOW);
  },
  'key, SET #v = :v: #running > :zero'(rows) {
    const leave = leaveKey(TABLE, { queue: 'q', id: 'a' }, FULL.key, rows.stamp());
    rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, FULL, { window: undefined }, rows.stamp()));
    rows.write(leave);
    return beside(rows, leave);
  },
  'key.recount: #nonce = :observedNonce'(rows) {
    rows.write(enterKey(TABLE, { queue: 'q', id: 'a' }, RATE, { window: undefined }, rows.stamp()));
    const { nonce } = rows.read(taskConcurrencyKey('q', RATE.key));
    rows.write(leaveKey(TABLE, { queue: 'q', id: 'a' }, RATE.key, rows.stamp()));
    return recountKey(TABLE, 'q', RATE.key, { observedNonce: String(nonce), running: 1 }, rows.stamp());
  },
  ...ofEach(['#turn = :ticket', '#tail = :tail'] as const, (conjunct) => ({
    [`line.pass: ${conjunct}`](rows) {
      const line = { queue: 'q', key: 'line' };
      rows.write(changeLine(TABLE, line, undefined, { joins: 1 }, { now: 0 }));
      if (conjunct === '#tail = :tail')
        rows.write(changeLine(TABLE, line, { tail: 1, turn: 1 }, { joins: 1 }, { now: 0 }));
      const turn = conjunct === '#tail = :tail' ? 1 : 2;
      const tail = conjunct === '#tail = :tail' ? turn : 3;
      return changeLine(TABLE, line, { tail, turn }, { pass: turn, joins: 0 }, { now: 0 });
    },
  })),
};
