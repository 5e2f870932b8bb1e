/** Sends every verb of packs at least once: for measuring what they cost. */
import { isPack } from '../../shared/tasks/task/pack.ts';
import type { MovedItem, NumberedStamp, TaskAndPackStore } from '../../shared/tasks/bulk/pack-store.ts';
import { assert } from '../../shared/core/errors.ts';
import { stampOf } from '../../shared/core/lease/stamp.ts';
import { systemRuntime as runtime } from '../../shared/core/runtime/runtime.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';

const QUEUE = 'default';

export async function exercisePacks(store: TaskAndPackStore, session: { readonly id: string }): Promise<void> {
  const client = new TaskClient({ store, runtime });
  const inputs = Array.from({ length: 16 }, (_, n) => ({
    bucket: 'eu',
    key: `2026/11/21/IMG_20261121_${n + 100_000}.jpg`,
  }));
  await client.enqueueBulk('thumbnail', inputs, { id: 'packs', queue: QUEUE });
  const pack = await claimed();
  const claim = claimOf(pack);
  let sequence = 0;
  const next = (): NumberedStamp => ({ ...stampOf(runtime), previousSequence: sequence, sequence: ++sequence });
  const entry = (...done: number[]) => ({ done, results: undefined });
  const effect = { Put: { TableName: store.table, Item: { pk: 'user#2', sk: 'user', bytes: 12_345 } } };
  await store.bulk.record(claim, entry(0, 1, 2), next());
  await store.bulk.commit(claim, 3, entry(3, 4), [effect], next());
  await store.bulk.move(claim, movedItem(pack, 5, false), entry(), next());
  await store.bulk.move(claim, movedItem(pack, 6, true), entry(7), next());
  await store.bulk.cancelItem(pack, 8, stampOf(runtime));
  await store.bulk.cancelRunningItem(pack, 9, stampOf(runtime));
  await store.bulk.finish(claim, entry(10, 11, 12, 13, 14, 15), next());

  async function claimed(): Promise<RunningTask> {
    const waiting = await store.get({ queue: QUEUE, id: 'packs/0' });
    assert(waiting?.state === 'ready' && isPack(waiting), 'the pack waits');
    await store.bulk.cancelItem(waiting, 15, stampOf(runtime));
    const outcome = await store.claim(waiting, session.id, stampOf(runtime));
    assert(outcome.kind === 'applied', 'the pack is claimed');
    return outcome.row;
  }
}

function movedItem({ queue, id, leaseCounter, claimedAt }: RunningTask, index: number, isDead: boolean): MovedItem {
  const now = runtime.clock.now();
  const error = { name: 'Error', message: 'the store answered 503 Service Unavailable', at: now };
  const name = 'thumbnail';
  return {
    index,
    isDead,
    attempts: 1,
    deaths: 0,
    error,
    isSuspect: isDead,
    task: { queue, id: `${id}/${index}`, name, input: { key: 'x' }, priority: 'normal', runAt: now + 3_600_000 },
    lastAttempt: { leaseCounter, session: 'another', claimedAt, endedAt: now, how: 'failed', error: undefined },
  };
}
