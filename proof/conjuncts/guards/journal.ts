/** Late writes to the journal of a durable task, and of what arrives for it. */
import { journalKey } from '../../../shared/dynamo/engine/keys.ts';
import type { CheckpointWrite } from '../../../shared/tasks/durable/journal-store.ts';
import { arrive, beat } from '../../../shared/tasks/rows/task/arrival-statements.ts';
import { barCommit } from '../../../shared/tasks/rows/task/commit-statements.ts';
import { followTask } from '../../../shared/tasks/rows/task/follower-statements.ts';
import {
  endDurable,
  expireRow,
  suspendTask,
  writeJournal,
} from '../../../shared/tasks/rows/task/journal-statements.ts';
import * as operator from '../../../shared/tasks/rows/task/operator-statements.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import type { Cases, Rows } from './rows.ts';
import { NOW, TABLE, newTask, ofEach } from './rows.ts';

const OPEN = 'op.secret';
const ERROR = { name: 'Error', message: 'failed', at: NOW };
const CANCELLATION = { at: NOW, reason: 'not wanted' };
const WRITE: CheckpointWrite = {
  elements: ['{}'],
  seen: 0,
  newParts: [],
  keptUntil: NOW,
  opened: [],
  closed: [],
  hasBeats: false,
  effects: [],
};

type At = { readonly seen: number; readonly sequence: number };
type Send = (rows: Rows, claim: RunningTask, at: At) => ReturnType<typeof writeJournal>;

const checkpoint: Send = (rows, claim, { seen, sequence }) =>
  writeJournal(TABLE, claim, { ...WRITE, seen }, { ...rows.stamp(), sequence });
const spill: Send = (rows, claim, { seen, sequence }) =>
  writeJournal(
    TABLE,
    claim,
    { ...WRITE, elements: [], newParts: [{ name: '1.1.0', before: undefined, text: '[]' }], seen },
    { ...rows.stamp(), sequence },
  );
const suspend: Send = (rows, claim, { seen, sequence }) =>
  suspendTask(TABLE, claim, { elements: ['{}'], seen, readyAt: NOW + 60_000 }, 1, { ...rows.stamp(), sequence });

/** A running task that waits for an answer. Its row has an element, unless older ones have left it. */
function asking(rows: Rows, elements: readonly string[] = ['{}']): RunningTask {
  const claim = rows.running();
  const write = { ...WRITE, elements, opened: [OPEN], hasBeats: true };
  rows.write(writeJournal(TABLE, claim, write, { ...rows.stamp(), sequence: 1 }));
  return rows.seen() as RunningTask;
}
const arrives = (rows: Rows, seen = rows.seen()) =>
  arrive(TABLE, seen, { openKey: OPEN, element: '{}' }, 1, rows.stamp());

const OF_HOLDERS = ofEach(Object.entries({ checkpoint, spill, suspend }), ([verb, send]) => ({
  [`task.${verb}: #leaseCounter = :counter`](rows) {
    const claim = rows.running();
    rows.claimedAgain(claim);
    return send(rows, claim, { seen: 0, sequence: 1 });
  },
  [`task.${verb}: #state = :running`](rows) {
    const claim = rows.running();
    rows.completed(claim);
    return send(rows, claim, { seen: 0, sequence: 1 });
  },
  [`task.${verb}: (attribute_not_exists(#journal) OR size(#journal) = :seen)`](rows) {
    const claim = asking(rows, []);
    rows.write(arrives(rows));
    return send(rows, claim, { seen: 0, sequence: 2 });
  },
}));

export const JOURNAL_CASES: Cases = {
  ...OF_HOLDERS,
  ...ofEach(Object.entries({ checkpoint, suspend }), ([verb, send]) => ({
    [`task.${verb}: #sequence < :sequence`](rows) {
      const claim = asking(rows);
      rows.write(checkpoint(rows, claim, { seen: 1, sequence: 2 }));
      return send(rows, claim, { seen: 1, sequence: 2 });
    },
  })),
  'task.suspend: size(#journal) = :seen'(rows) {
    const claim = asking(rows);
    rows.write(arrives(rows));
    return suspend(rows, claim, { seen: 1, sequence: 2 });
  },
  'task.suspend: attribute_not_exists(#cancellation)'(rows) {
    const claim = rows.running(rows.session('s'));
    rows.write(operator.requestCancel(TABLE, claim, CANCELLATION, rows.stamp()));
    return suspend(rows, claim, { seen: 0, sequence: 1 });
  },
  'task.suspend: attribute_not_exists(#follower)'(rows) {
    const claim = rows.running();
    rows.write(followTask(TABLE, claim, newTask(), rows.stamp()));
    return suspend(rows, claim, { seen: 0, sequence: 1 });
  },
  ...ofEach([{}, { error: ERROR }], (end) => ({
    [`task.${'error' in end ? 'discard' : 'complete'}: #sequence < :sequence`](rows) {
      const claim = rows.running();
      const barred = { ...rows.stamp(), sequence: 1 };
      rows.write(barCommit(TABLE, claim, barred));
      return endDurable(TABLE, claim, ['{}'], end, barred);
    },
  })),
  'task.arrive: #state = :state'(rows) {
    const seen = asking(rows);
    rows.write(suspend(rows, seen, { seen: 1, sequence: 2 }));
    return arrives(rows, seen);
  },
  'task.arrive: #nonce = :observedNonce'(rows) {
    rows.write(suspend(rows, asking(rows), { seen: 1, sequence: 2 }));
    const seen = rows.seen();
    if (seen.state !== 'ready') throw new Error('it is not suspended');
    rows.write(operator.rescheduleTask(TABLE, seen, { priority: 'high', runAt: NOW }, 1, rows.stamp()));
    return arrives(rows, seen);
  },
  'task.beat: #state IN (:ready, :running)'(rows) {
    rows.write(suspend(rows, asking(rows), { seen: 1, sequence: 2 }));
    const seen = rows.seen();
    if (seen.state !== 'ready') throw new Error('it is not suspended');
    rows.write(operator.cancelWaitingTask(TABLE, seen, CANCELLATION, rows.stamp()));
    return beat(TABLE, seen, { openKey: OPEN, op: 'op' }, NOW);
  },
  'task.beat: contains(#open, :openKey)'(rows) {
    const { queue, id } = asking(rows);
    rows.write(arrives(rows));
    return beat(TABLE, { queue, id }, { openKey: OPEN, op: 'op' }, NOW);
  },
  'journal.expire: attribute_exists(#ttl)': () => expireRow(TABLE, journalKey('q', 'id', '1.1.0'), NOW),
};
