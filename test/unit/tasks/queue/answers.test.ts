/**
 * What each verb of the queue's clients answers, whole, over one story: enqueuing, operators' acts, keys, batches, bulks and schedules.
 *
 * After an intended change: `npx vitest run test/unit/tasks/queue/answers.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { batchKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { StoredText } from '../../../../shared/dynamo/engine/stored-json.ts';
import { textOf } from '../../../../shared/dynamo/engine/stored-json.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../../shared/tasks/task/payload.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf, INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import { loseNextAnswer } from '../../../support/lost-answer.ts';
import { shown, Story } from '../../../support/story.ts';

const HOUR_MS = 3_600_000;

test('tasks, keys, batches and bulks', async () => {
  const story = new Story();
  const { tasks, operator } = story.here.leasehold;
  const tell = story.tell.bind(story);
  const enqueue = (id: string, options: EnqueueOptions = {}, input: unknown = { n: 1 }) =>
    tell(`enqueue ${id} ${JSON.stringify(options)}`, () => tasks.enqueue('resize', input, { id, ...options }));
  await enqueue('plain');
  await enqueue('plain');
  await enqueue('plain', {}, { n: 2 });
  await enqueue('plain', { onDuplicate: 'keep' }, { n: 2 });
  await enqueue('plain', { onDuplicate: 'replace' }, { n: 3 });
  await enqueue('later', { delay: '1h', priority: 'low', maxAttempts: 3, timeout: '10s', expiresIn: '2h' });
  await enqueue('keyed', { key: 'k', limit: 2 });
  await enqueue('first', { key: 'line', ordered: true });
  await enqueue('second', { key: 'line', ordered: true });
  await enqueue('of-a-tenant', { tenant: 'acme' });
  await enqueue('rated', { key: 'r', rate: { count: 5, per: '1m' } });
  await enqueue('never', { runAt: 5, delay: '1s' });
  await enqueue('tight', { expiresAt: 1 });
  await tell('enqueue all', () => tasks.enqueueAll([spawn('resize', 1, { id: 'a' }), spawn('resize', 2, { id: 'b' })]));
  await tell('validate', () => tasks.validate('resize', { n: 1 }, { id: 'valid', key: 'k', limit: 3 }));
  await tell('writes', () => tasks.enqueueWrites('resize', { n: 1 }, { id: 'written' }));
  const child = (id: string) => spawn('resize', 1, { id });
  await tell('batch', () =>
    tasks.enqueueBatch([child('c1'), child('c2')], { id: 'batch', then: spawn('resize', null, { id: 'after' }) }),
  );
  await tell('batch again', () => tasks.enqueueBatch([child('c1')], { id: 'batch' }));
  await tell('batch of twins', () => tasks.enqueueBatch([child('c1'), child('c1')], { id: 'twins' }));
  await tell('the batch', () => tasks.getBatch('batch'));
  await tell('bulk', () => tasks.enqueueBulk('resize', [1, 2, 3], { id: 'bulk', packSize: 2 }));
  await tell('an item', () => tasks.getItem('bulk/0/1'));
  await tell('get', () => tasks.get('later'));
  await tell('get of none', () => tasks.get('none'));
  await tell('result, too soon', () => tasks.result('later', { wait: '1s' }));

  await tell('cancel', () => operator.cancel('plain', { reason: 'by mistake' }));
  await tell('cancel again', () => operator.cancel('plain'));
  await tell('cancel of none', () => operator.cancel('none'));
  await tell('cancel with another counter', () => operator.cancel('keyed', { leaseCounter: 1 }));
  await tell('cancel of the first in line', () => operator.cancel('first'));
  await tell('cancel of a child', () => operator.cancel('c1'));
  await tell('the batch after that', () => tasks.getBatch('batch'));
  await tell('the result of a cancelled task', () => tasks.result('plain', { wait: '1s' }));
  await tell('retry', () => operator.retry('plain'));
  await tell('retry of a waiting task', () => operator.retry('later'));
  await tell('retry of none', () => operator.retry('none'));
  await tell('retry all', () => operator.retryAll({ limit: 5 }));
  await tell('retry all, wrongly', () => operator.retryAll({ limit: 0 }));
  await tell('reschedule', () =>
    operator.reschedule('later', { priority: 'high', runAt: story.world.clock.now() + HOUR_MS / 2 }),
  );
  await tell('reschedule to nothing', () => operator.reschedule('later', {}));
  await tell('reschedule of none', () => operator.reschedule('none', { priority: 'high' }));
  await tell('dead', () => Array.fromAsync(operator.dead()));
  await tell(
    'open',
    () => Array.fromAsync(operator.open({ shards: 8, priorities: ['high'] })),
    (found) => found.map(({ id }) => id),
  );
  await tell('key', () => operator.key('k', { shards: 4 }));
  await tell('keys', () => operator.keys(['k', 'line', 'none'], { shards: 8, entriesLimit: 20 }));
  await tell('keys, with an unknown option', () => operator.keys(['k'], { shard: 8 } as never));
  await tell('recount', () => operator.recountKey('k', { shards: 8 }));
  await tell('turn', () => operator.turn('line'));
  await tell('pass', () => operator.passLine('line'));
  await tell('pass of none', () => operator.passLine('none'));
  await tell('pause', () => operator.pause({ reason: 'a release' }));
  await tell('pause again', () => operator.pause());
  await tell('resume', () => operator.resume());
  await tell('hints of a worker', () =>
    story.here.ports.queues.noteHints(
      'default',
      {
        tookMs: 120,
        unknownNames: ['old'],
        announcedNames: ['resize', 'new'],
        workerSettings: { concurrency: 3, startWithinMs: 9_000 },
      },
      stampOf(story.here.runtime),
    ),
  );
  await tell('the row of the queue', () => story.here.ports.queues.get('default'));
  await tell('two shards in use', async () => {
    const { queues } = story.here.ports;
    const use = { lanes: new Set<string>(), shards: 2 };
    return queues.noteUse('default', await queues.get('default'), use, stampOf(story.here.runtime));
  });
  await tell('a key in more shards than are in use', () => operator.key('k', { shards: 8 }));

  await expect(story.text).toMatchFileSnapshot('./answers.tasks.txt');
});

test('parents, children and their batches', async () => {
  const story = new Story();
  const { operator } = story.here.leasehold;
  const { tasks, runtime } = { ...story.there.ports, runtime: story.there.runtime };
  const tell = story.tell.bind(story);
  const get = (id: string) => tasks.get({ queue: 'default', id });
  const claim = async (id: string): Promise<RunningTask> => {
    const claimed = await tasks.claim((await get(id)) as ReadyTask, 'gone', stampOf(runtime));
    if (claimed.kind !== 'applied') throw new Error('the claim was refused');
    return claimed.row;
  };
  const complete = async (id: string) => tasks.complete(claimOf(await claim(id)), id, stampOf(runtime));
  const stands = (id: string) =>
    tell(
      `where ${id} stands`,
      () => get(id),
      (task) => task && { ...task, past: task.past.length, nonce: undefined },
    );
  await story.there.leasehold.tasks.enqueue('work', 1, { id: 'parent' });
  const parent = await claim('parent');
  const children = await Promise.all(['c', 'd'].map((id) => story.there.leasehold.tasks.validate('work', id, { id })));
  const linked = children.map((child) => ({ ...child, links: { ...child.links, batch: 'of-parent' } }));
  await tasks.waitForChildren(claimOf(parent), 'of-parent', linked, { ...stampOf(runtime), sequence: 1 });
  const batchOfParent = () =>
    tell('the batch of the children', () => tasks.getBatch({ queue: 'default', id: 'of-parent' }));

  await stands('parent');
  await tell('reschedule to a priority', () => operator.reschedule('parent', { priority: 'high' }));
  await tell('reschedule to a time', () => operator.reschedule('parent', { runAt: story.world.clock.now() }));
  await tell('cancel', () => operator.cancel('parent'));
  await tell('retry, with open children', () => operator.retry('parent'));
  await complete('c');
  await batchOfParent();
  await tell('cancel of the last child', () => operator.cancel('d', { reason: 'not needed' }));
  await batchOfParent();
  await stands('parent');
  await tell('reschedule to a time, after all children', () =>
    operator.reschedule('parent', { runAt: story.world.clock.now() + HOUR_MS }),
  );
  await tell('retry of a child', () => operator.retry('d'));
  await batchOfParent();
  await tell('cancel', () => operator.cancel('parent'));
  await tell('retry, after all children', () => operator.retry('parent'));
  await story.world.driver.attempt(
    'delete',
    { TableName: story.world.table, Key: { ...batchKey('default', 'of-parent') } },
    new AbortController().signal,
  );
  await tell('cancel', () => operator.cancel('parent'));
  await tell('retry, without a batch', () => operator.retry('parent'));

  await expect(story.text).toMatchFileSnapshot('./answers.families.txt');
});

/** By size: in the row of the task, in a row beside it, and in the user's store. */
const INPUTS = { small: 1, 'of a row': INPUT_LIMIT_BYTES, 'of the store': PAYLOAD_ROW_LIMIT_BYTES } as const;
type Size = keyof typeof INPUTS;
const SIZES = Object.keys(INPUTS) as readonly Size[];

/** How the task comes to other work, and the options of its request. */
const WAYS: Readonly<Record<string, EnqueueOptions>> = {
  'which waits, is replaced': { onDuplicate: 'replace' },
  'which waits, is refused': {},
  'which waits, is kept': { onDuplicate: 'keep' },
  'which is dead, is renewed': { window: 1 },
  'which runs, is followed': { onDuplicate: 'debounce', delay: '1m' },
  'which followed another, and is replaced': { onDuplicate: 'replace' },
  'which runs, is followed twice': { onDuplicate: 'debounce', delay: '1m' },
};

test.each(Object.entries(WAYS))('payloads of a task %s', async (way, options) => {
  const lines: string[] = [];
  for (const former of SIZES)
    for (const later of SIZES) {
      const story = new Story();
      const payloads = new MemoryPayloads();
      const { tasks: store } = story.here.ports;
      const { runtime } = story.here;
      const client = new TaskClient({ store, runtime }, { payloads });
      const put = (size: Size, letter: string, more: EnqueueOptions = {}) =>
        client.enqueue('work', letter.repeat(INPUTS[size]), { id: 't', ...more }).catch((error: unknown) => error);
      await put(former, 'a');
      const ready = (await client.get('t')) as ReadyTask;
      const claimed = way.includes('waits') ? undefined : await store.claim(ready, 'gone', stampOf(runtime));
      if (claimed?.kind === 'refused') throw new Error('the claim was refused');
      if (claimed !== undefined && way.includes('dead')) {
        const error = { name: 'Error', message: 'boom', at: 1 };
        await store.discard(claimOf(claimed.row), error, stampOf(runtime));
        await story.world.clock.advance(1);
      }
      if (way.includes('another')) {
        await put(former, 'a', { onDuplicate: 'debounce', delay: 0 });
        await store.complete(claimOf((await client.get('t')) as RunningTask), undefined, stampOf(runtime));
      }
      const answer = await put(later, 'b', options);
      if (way.includes('twice')) await put(former, 'c', options);
      const rows = story.world.rows().filter(({ pk }) => /^(payload|apart)#/.test(String(pk)));
      const beside = rows.map(({ text }) => `row ${textOf(text as StoredText).slice(0, 2)}`);
      const objects = await Promise.all(payloads.references.map((reference) => payloads.get(reference)));
      const left = [...beside, ...objects.map((text) => `object ${text?.slice(0, 2)}`)];
      lines.push(`${former}, then ${later}: ${shown(answer)}`, `  left: ${left.join(', ')}`);
    }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`./payloads.${way.replaceAll(/\W+/g, '-')}.txt`);
});

test('schedules', async () => {
  const story = new Story();
  const { schedules, tasks } = story.here.leasehold;
  const tell = story.tell.bind(story);
  const define = (options: object) => schedules.define('hourly', 'report', { n: 1 }, { cron: '0 * * * *', ...options });
  await tell('define', () =>
    define({ zone: 'Europe/Berlin', overlap: 'skip', missed: 'last', tolerance: '10m', jitter: '1m', priority: 'low' }),
  );
  await tell('define again', () => define({ overlap: 'skip', endAt: story.world.clock.now() + 5 * HOUR_MS }));
  await tell('define wrongly', () => define({ cron: 'x' }));
  await tell(
    'get',
    () => schedules.get('hourly'),
    (found) => [found, found && schedules.next(found, 3)],
  );
  await tell('run', () => schedules.run('hourly'));
  await tell('run, while its task waits', () => schedules.run('hourly'));
  for (let n = 0; n < 2; n++) {
    await story.world.clock.advance(HOUR_MS);
    await tell('a tick', () => enqueueDueSlots('default', story.here.ports, () => undefined));
  }
  await tell('get after that', () => schedules.get('hourly'));
  await tell('pause', () => schedules.pause('hourly'));
  await tell('pause again', () => schedules.pause('hourly'));
  await tell(
    'its task',
    () => Array.fromAsync(story.here.leasehold.operator.open({ shards: 8 })),
    (found) => found.map(({ id, schedule }) => [id, schedule]),
  );
  await story.pass(60_000);
  await tell('resume', () => schedules.resume('hourly'));
  await tell('remove', () => schedules.remove('hourly'));
  await tell('remove again', () => schedules.remove('hourly'));
  await tell('get of a removed one', () => schedules.get('hourly'));
  await tell('run of a removed one', () => schedules.run('hourly'));
  await tell('pause of a removed one', () => schedules.pause('hourly'));
  await tell('define anew', () => define({}));
  await tell('list', () => Array.fromAsync(schedules.list()));
  loseNextAnswer(story.here.driver, async () => {
    await story.there.leasehold.schedules.define('hourly', 'report', { n: 2 }, { cron: '0 * * * *' });
  });
  await tell('remove without an answer, and another defines it anew', () => schedules.remove('hourly'));
  await tell('a task of none', () => tasks.get('none'));

  await expect(story.text).toMatchFileSnapshot('./answers.schedules.txt');
});
