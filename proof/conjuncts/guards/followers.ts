/** Late writes around a task that has a follower. */
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import { barCommit } from '../../../shared/tasks/rows/task/commit-statements.ts';
import { followTask, promoteFollower } from '../../../shared/tasks/rows/task/follower-statements.ts';
import { takeOverTask } from '../../../shared/tasks/rows/task/task-statements.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import type { Cases, Rows } from './rows.ts';
import { TABLE, newTask, ofEach } from './rows.ts';
import { HOLDERS, ONLOOKERS } from './tasks.ts';

const ENDS_ATTEMPT = ['complete', 'commit', 'discard', 'giveUp', 'retry', 'release', 'snooze', 'wait'];
const followed = (rows: Rows, seen: RunningTask): RunningTask => {
  rows.write(followTask(TABLE, seen, newTask(), rows.stamp()));
  return rows.seen() as RunningTask;
};
const promoted = (seen: RunningTask, rows: Rows): Statement => {
  if (seen.follower === undefined) throw new Error('nothing follows it');
  return promoteFollower(TABLE, seen, { how: 'done', follower: seen.follower }, 1, rows.stamp());
};

export const FOLLOWER_CASES: Cases = {
  ...ofEach([...ENDS_ATTEMPT.map((verb) => `task.${verb}`), 'task.markDead', 'task.cancel'], (verb) => ({
    [`${verb}: attribute_not_exists(#follower)`](rows) {
      const seen = rows.running(rows.session('s'));
      followed(rows, seen);
      return (HOLDERS[verb] ?? ONLOOKERS[verb]!)(seen, rows);
    },
  })),
  'task.follow: #leaseCounter = :observedCounter'(rows) {
    const seen = rows.running();
    rows.claimedAgain(seen);
    return followTask(TABLE, seen, newTask(), rows.stamp());
  },
  'task.promote: #follower.#nonce = :followerNonce'(rows) {
    const seen = followed(rows, rows.running());
    followed(rows, seen);
    return promoted(seen, rows);
  },
  'task.promote: #sequence < :sequence'(rows) {
    const seen = followed(rows, rows.running());
    const commit = { ...rows.stamp(), sequence: 1 };
    rows.write(barCommit(TABLE, seen, commit));
    return promoteFollower(TABLE, seen, { how: 'done', follower: seen.follower! }, 1, commit);
  },
  'task.promote: #leaseCounter = :counter'(rows) {
    const seen = followed(rows, rows.running());
    rows.write(takeOverTask(TABLE, seen, 's', rows.stamp()));
    return promoted(seen, rows);
  },
};
