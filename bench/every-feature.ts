/** Sends the queue's operations with every optional feature of a task, to measure what each adds to the plain price. */
import { randomBytes } from 'node:crypto';
import type { Stores } from '../shared/client/stores.ts';
import { assert } from '../shared/core/errors.ts';
import { stampOf } from '../shared/core/lease/stamp.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import type { EnqueueOptions } from '../shared/tasks/queue/task-client.ts';
import { TaskClient } from '../shared/tasks/queue/task-client.ts';
import type { EndedTask } from '../shared/tasks/task/task.ts';
import { NEVER, waiterOf } from '../shared/tasks/task/batch.ts';
import type { NewTask, SequencedStamp } from '../shared/tasks/task/task-store.ts';
import type { ReadyTask, RunningTask } from '../shared/tasks/task/task.ts';
import { claimOf } from '../shared/tasks/task/task.ts';
import { EVENTS } from './events.ts';

const QUEUE = 'features';
const INPUT = { bucket: 'thumbnails', key: 'x'.repeat(100) };
/** Random: 40 KB as JSON, 30 KB deflated. */
const LARGE = { text: randomBytes(30_000).toString('base64') };
const RESULT = { bytes: 12_345 };
const IN_ORDER = { key: 'customer-7', ordered: true } as const;

export async function exerciseFeatures(
  { tasks: store, operations }: Stores,
  about: (feature: string) => void,
): Promise<void> {
  const client = new TaskClient({ store, runtime: systemRuntime }, { queue: QUEUE });
  const error = { name: 'Error', message: 'the store answered 503 Service Unavailable', at: systemRuntime.clock.now() };
  const claim = async (id: string): Promise<RunningTask> => {
    const outcome = await store.claim((await store.get({ queue: QUEUE, id })) as ReadyTask, 'a session', stamp());
    assert(outcome.kind === 'applied', `${id} is claimed`);
    return outcome.row;
  };
  const start = async (id: string, options: EnqueueOptions = {}, input: unknown = INPUT): Promise<RunningTask> => {
    await client.enqueue('thumbnail', input, { id, ...options });
    return claim(id);
  };
  const complete = (task: RunningTask) => store.complete(claimOf(task), RESULT, stamp());
  const child = (id: string, batch?: string): NewTask => ({
    queue: QUEUE,
    id,
    name: 'thumbnail',
    input: INPUT,
    priority: 'normal',
    runAt: systemRuntime.clock.now(),
    ...(batch === undefined ? {} : { links: { batch } }),
  });

  about('key limit');
  const limited = { key: 'tenant-7', limit: 2 };
  await complete(await start('limited', limited));
  await store.retry(claimOf(await start('limited 2', limited)), { error, readyAt: 0 }, stamp());

  about('moved to the others of a full key');
  const narrow = { key: 'tenant-8', limit: 1 };
  const running = await start('running', narrow);
  await client.enqueue('thumbnail', INPUT, { id: 'late', ...narrow, delay: 1 });
  const late = (await store.get({ queue: QUEUE, id: 'late' })) as ReadyTask;
  while (systemRuntime.clock.now() < late.readyAt) await systemRuntime.clock.sleep(1);
  await store.join(late, stamp());
  await store.getKeys(QUEUE, [narrow.key]);
  await complete(running);
  await complete(await claim('late'));

  about('in order, with no waiter');
  await complete(await start('alone', IN_ORDER));
  about('in order, others wait');
  const head = await start('head', IN_ORDER);
  await client.enqueue('thumbnail', INPUT, { id: 'second', ...IN_ORDER });
  await client.enqueue('thumbnail', INPUT, { id: 'third', ...IN_ORDER });
  await store.cancel(
    (await store.get({ queue: QUEUE, id: 'third' })) as ReadyTask,
    { at: 0, reason: 'bench' },
    stamp(),
  );
  await complete(head);

  about('tenant');
  const rented = await start('rented', { tenant: 'acme' });
  await store.retry(claimOf(rented), { error, readyAt: 0 }, stamp());
  await complete(await claim('rented'));
  await store.pageOfGroups({ queue: QUEUE, priority: 'normal', shard: 0 }, { after: ' ', limit: 50 });

  for (const [event, input] of Object.entries(EVENTS)) {
    about(event);
    await complete(await start(systemRuntime.ids.unique(), {}, input));
  }

  about('input of 40 KB');
  const large = await start('large', {}, LARGE);
  await store.getPayload(large);
  await complete(large);
  assert(large.payload !== undefined, 'it has a payload');
  await store.deletePayload(large, large.payload);

  about('followed');
  const follow = async (id: string, expected: number): Promise<RunningTask> => {
    const followed = await start(id);
    for (let n = 0; n < expected; n++) await client.enqueue('thumbnail', INPUT, { id, onDuplicate: 'replace' });
    return followed;
  };
  await complete(await follow('followed', 2));
  await store.commit(claimOf(await follow('followed, by a commit', 1)), RESULT, [], numbered());
  await store.bury(await follow('followed, its worker dead', 1), error, stamp());

  about('batch');
  const batch = { queue: QUEUE, id: 'b' };
  const callback = { ...child('callback'), runAt: NEVER, children: batch };
  await store.createBatch({ ...batch, total: 2, waiter: waiterOf(callback) }, callback, stamp());
  for (const id of ['b/1', 'b/2']) await store.enqueue(child(id, 'b'), stamp());
  await complete(await claim('b/1'));
  about('batch, the last child');
  await complete(await claim('b/2'));

  about('2 children');
  const parent = await start('parent');
  await store.waitForChildren(claimOf(parent), 'p', [child('p/1', 'p'), child('p/2', 'p')], numbered());
  const spawned = (...ids: string[]) => ids.map((id) => ({ spawn: child(id) }));
  await store.commit(claimOf(await start('spawner')), RESULT, spawned('s/1', 's/2'), numbered());

  about('2 children, their parent cancelled');
  const unwanted = await start('unwanted');
  await store.waitForChildren(claimOf(unwanted), 'u', [child('u/1', 'u')], numbered());
  const cancelled = async (): Promise<EndedTask> => {
    await store.cancel(
      (await store.get({ queue: QUEUE, id: 'unwanted' })) as ReadyTask,
      { at: 1, reason: 'bench' },
      stamp(),
    );
    return (await store.get({ queue: QUEUE, id: 'unwanted' })) as EndedTask;
  };
  await operations.revive(await cancelled(), 0, stamp());
  const ended = await cancelled();
  await complete(await claim('u/1'));
  await operations.revive(ended, 0, stamp());

  about('2 children in order');
  const inOrder = (key: string, ...ids: string[]) => ids.map((id) => ({ ...child(id), line: key }));
  const spawnedInOrder = (key: string, ...ids: string[]) => inOrder(key, ...ids).map((task) => ({ spawn: task }));
  const awaited = inOrder('line-1', 'o/1', 'o/2').map((task) => ({ ...task, links: { batch: 'o' } }));
  await store.waitForChildren(claimOf(await start('parent in order')), 'o', awaited, numbered());
  const spawner = await start('spawner in order');
  await store.commit(claimOf(spawner), RESULT, spawnedInOrder('line-2', 'o/3', 'o/4'), numbered());
  about('2 children in order, in its own line');
  const own = { key: 'line-3', ordered: true };
  const lone = await start('alone in its line', own);
  await store.commit(claimOf(lone), RESULT, spawnedInOrder('line-3', 'o/5', 'o/6'), numbered());
  about('2 children in order, in its own line, others wait');
  const first = await claim('o/5');
  await store.commit(claimOf(first), RESULT, spawnedInOrder('line-3', 'o/7', 'o/8'), numbered());

  about('');
  await takeOverAndBury(await start('abandoned'));
  const expiring = await client.enqueue('thumbnail', INPUT, { id: 'late', delay: 0, expiresIn: '1ms' });
  await systemRuntime.clock.sleep(5);
  await store.expire((await store.get(expiring)) as ReadyTask, stamp());
  await store.giveUp(claimOf(await start('cancelled')), 'bench', stamp());
  await store.cancel(await start('abandoned too'), { at: 0, reason: 'bench' }, stamp());
  await client.enqueue('thumbnail', INPUT, { id: 'replaced', delay: '1h' });
  await client.enqueue('thumbnail', { n: 2 }, { id: 'replaced', delay: '1h', onDuplicate: 'replace' });
  await store.renew((await store.get({ queue: QUEUE, id: 'late' })) as EndedTask, child('late'), stamp());

  async function takeOverAndBury(dead: RunningTask): Promise<void> {
    const outcome = await store.takeOver(dead, 'another session', stamp());
    assert(outcome.kind === 'applied', 'it is taken over');
    await store.bury(outcome.row, error, stamp());
  }
}

function stamp(): ReturnType<typeof stampOf> {
  return stampOf(systemRuntime);
}

/** Stamp of a claim's first numbered write. */
function numbered(): SequencedStamp {
  return { ...stamp(), sequence: 1 };
}
