/** Packs of a bulk: one scene with every verb. */
import type { MovedItem, NumberedStamp } from '../../shared/tasks/bulk/pack-store.ts';
import { assert } from '../../shared/core/errors.ts';
import { isPack } from '../../shared/tasks/task/pack.ts';
import type { RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Scene } from './scene.ts';
import { scene } from './scene.ts';
import { ERROR, QUEUE, stamped } from './steps.ts';

const movedItem = ({ id, leaseCounter, claimedAt }: RunningTask, index: number, isDead: boolean): MovedItem => ({
  index,
  isDead,
  attempts: 1,
  deaths: 0,
  error: ERROR,
  isSuspect: isDead,
  task: { queue: QUEUE, id: `${id}/${index}`, name: 'work', input: { key: 'x' }, priority: 'normal', runAt: 1e12 },
  lastAttempt: { leaseCounter, session: 'another', claimedAt, endedAt: claimedAt, how: 'failed', error: undefined },
});

export const PACKS: readonly Scene[] = [
  scene('pack.record', 'a pack from its beginning to its end', {
    act: async ({ here, mine }) => {
      const { tasks } = here.ports;
      const inputs = Array.from({ length: 16 }, (_, n) => ({ bucket: 'eu', key: `IMG_${n}.jpg` }));
      await here.leasehold.tasks.enqueueBulk('work', inputs, { id: 'packs' });
      const waiting = await tasks.get({ queue: QUEUE, id: 'packs/0' });
      assert(waiting?.state === 'ready' && isPack(waiting), 'the pack waits');
      await tasks.bulk.cancelItem(waiting, 15, stamped(here));
      const outcome = await tasks.claim(waiting, mine.id, stamped(here));
      assert(outcome.kind === 'applied', 'the pack is claimed');
      const pack = outcome.row;
      const claim = claimOf(pack);
      let sequence = 0;
      const next = (): NumberedStamp => ({ ...stamped(here), previousSequence: sequence, sequence: ++sequence });
      const entry = (...done: number[]) => ({ done, results: undefined });
      const effect = { Put: { TableName: tasks.table, Item: { pk: 'user#2', sk: 'user' } } };
      await tasks.bulk.record(claim, entry(0, 1, 2), next());
      await tasks.bulk.commit(claim, 3, entry(3, 4), [effect], next());
      await tasks.bulk.move(claim, movedItem(pack, 5, false), entry(), next());
      await tasks.bulk.move(claim, movedItem(pack, 6, true), entry(7), next());
      await tasks.bulk.cancelItem(pack, 8, stamped(here));
      await tasks.bulk.cancelRunningItem(pack, 9, stamped(here));
      await tasks.bulk.finish(claim, entry(10, 11, 12, 13, 14, 15), next());
    },
  }),
];
