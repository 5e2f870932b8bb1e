/**
 * Lists of operators do not depend on the pages of the store: each entry comes exactly once.
 * A page may end anywhere, and hold only entries of others; keys of a batch may be left unread.
 */
import { expect, test } from 'vitest';
import { schedulesOf } from '../../../../shared/client/schedules-of.ts';
import { defined } from '../../../../shared/core/defined.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import {
  deadPartitionKey,
  groupPartitionKey,
  readyPartitionKey,
  taskKey,
} from '../../../../shared/dynamo/engine/keys.ts';
import { MAX_EPOCH_MS } from '../../../../shared/core/validate/moment.ts';
import { enqueueDueOccurrences } from '../../../../shared/tasks/dispatch/recur.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import type { ReadyTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { PRIORITIES, claimOf } from '../../../../shared/tasks/task/task.ts';
import { passTime } from '../../../support/coordination.ts';
import { Story, shown } from '../../../support/story.ts';

const SHARDS = 8;
/** Each kind has enough rows for a second page, and most shards have several. */
const KINDS: Readonly<Record<string, EnqueueOptions>> = {
  plain: {},
  low: { priority: 'low' },
  later: { delay: '1h' },
  tenant: { tenant: 'acme' },
  key: { key: 'k', limit: 2 },
  rate: { key: 'r', rate: { count: 9, per: '1m' } },
  'later of the key': { key: 'k', limit: 2, delay: '1h' },
  line: { key: 'line', ordered: true },
  both: { key: 'k', limit: 2, tenant: 'acme', priority: 'high' },
};
const EACH = 5;
const DEAD = 5;

/** Rows of another queue in the partitions of this one, before its entries and behind them: a page may hold nothing else. */
function foreignRows(): readonly Readonly<Record<string, unknown>>[] {
  const shards = Array.from({ length: SHARDS }, (_, shard) => shard);
  return [0, 1].flatMap((last) => {
    const readyAt = last === 0 ? 1 : MAX_EPOCH_MS;
    const directoryName = last === 0 ? '!' : '~~';
    const places = [
      ...shards.map((shard) => ({ readyKey: readyPartitionKey('default', 'normal', shard), readyAt })),
      ...shards.map((shard) => ({ directoryKey: groupPartitionKey('default', 'normal', shard), directoryName })),
      ...shards.map((shard) => ({ directoryKey: deadPartitionKey('default', shard), directoryName })),
      { directoryKey: 'schedule#default', directoryName },
      { readyKey: 'schedule#default', readyAt: 1 },
    ];
    return places.map((place, n) => ({ ...taskKey('foreign', `${last} ${n}`), ...place }));
  });
}

async function fill({ there, world }: Story): Promise<void> {
  for (const Item of foreignRows())
    await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
  const { tasks: client } = there.leasehold;
  const schedules = schedulesOf(there.leasehold);
  for (const [kind, options] of Object.entries(KINDS))
    for (let n = 0; n < EACH; n++) await client.enqueue('work', n, { id: `${kind} ${n}`, ...options });
  const { tasks } = there.ports;
  const claim = async (id: string) => {
    const row = (await tasks.get({ queue: 'default', id })) as ReadyTask;
    const claimed = await tasks.claim(row, 'gone', stampOf(there.runtime));
    if (claimed.kind !== 'applied') throw new Error('the claim was refused');
    return claimed.row;
  };
  for (const id of ['plain 0', 'key 0', 'both 0', 'line 0']) await claim(id);
  for (let n = 0; n < DEAD; n++) {
    await client.enqueue('work', n, { id: `dead ${n}` });
    const error = { name: 'Error', message: 'boom', at: 1 };
    await tasks.discard(claimOf(await claim(`dead ${n}`)), error, stampOf(there.runtime));
    await world.clock.advance(1);
    await schedules.define(`schedule ${n}`, 'report', n, { cron: '0 * * * *' });
  }
  await client.enqueue('work', 1, { id: 'of another queue', queue: 'default/2' });
}

/** Limits the entries of a query's answer, and answers half of a batch. */
function cut(driver: DynamoDriver, limit: number): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (kind, input, signal) => {
    if (kind === 'query') {
      const query = input as { readonly Limit?: number };
      return attempt(kind, { ...input, Limit: Math.min(limit, query.Limit ?? Infinity) }, signal);
    }
    if (kind !== 'batchGet') return attempt(kind, input, signal);
    const { RequestItems = {} } = input as { readonly RequestItems?: Record<string, { readonly Keys: object[] }> };
    const [[table, request] = []] = Object.entries(RequestItems);
    const keys = request?.Keys ?? [];
    if (table === undefined || request === undefined || keys.length < 2) return attempt(kind, input, signal);
    const half = Math.ceil(keys.length / 2);
    const first = { ...input, RequestItems: { [table]: { ...request, Keys: keys.slice(0, half) } } };
    const answer = await attempt(kind, first, signal);
    return { ...answer, UnprocessedKeys: { [table]: { ...request, Keys: keys.slice(half) } } };
  };
}

const names = async (list: AsyncIterable<TaskRecord>): Promise<string> => {
  const tasks = (await Array.fromAsync(list)).map(({ id, state }) => `${id} ${state}`).sort();
  return `${tasks.length}${new Set(tasks).size === tasks.length ? '' : ', some twice'}: ${tasks.join(', ')}`;
};

/** They change nothing. */
const READS: Readonly<Record<string, (story: Story) => Promise<unknown>>> = {
  'the open tasks': ({ here }) => names(here.leasehold.operator.open({ shards: SHARDS })),
  'the open tasks of some shards': ({ here }) => names(here.leasehold.operator.open({ shards: 3 })),
  'the open tasks of no priority': ({ here }) =>
    names(here.leasehold.operator.open({ shards: SHARDS, priorities: [] })),
  ...Object.fromEntries(
    PRIORITIES.map((priority) => [
      `the open tasks of priority ${priority}`,
      ({ here }: Story) => names(here.leasehold.operator.open({ shards: SHARDS, priorities: [priority] })),
    ]),
  ),
  'the dead tasks, in order': async ({ here }) =>
    (await Array.fromAsync(here.leasehold.operator.dead())).map(({ id }) => id),
  keys: async ({ here }) =>
    (await here.leasehold.operator.keys(['k', 'r', 'line', 'none'], { shards: SHARDS })).map((report) => ({
      ...report,
      running: report.running.map(({ id }) => id).sort(),
    })),
  'a recount': ({ here }) => here.leasehold.operator.recountKey('k', { shards: SHARDS }),
  'a turn': ({ here }) => here.leasehold.operator.turn('line'),
  'the schedules': async ({ here }) =>
    (await Array.fromAsync(schedulesOf(here.leasehold).list())).map(({ name }) => name),
};

const ACTS: Readonly<Record<string, (story: Story) => Promise<unknown>>> = {
  'a tick': ({ here, world }) => {
    world.clock.step(3_600_000);
    return enqueueDueOccurrences('default', here.ports, () => undefined);
  },
  'a retry of some': async ({ here, there }) => {
    const retried = await here.leasehold.operator.retryAll({ limit: 2, choose: ({ id }) => id !== 'dead 0' });
    return [retried, await names(there.leasehold.operator.dead())];
  },
  'a retry of all': async ({ here, there }) => [
    await here.leasehold.operator.retryAll(),
    await names(there.leasehold.operator.dead()),
  ],
};

const LIMITS = [Infinity, 1, 3];

async function filled(limit: number): Promise<Story> {
  const story = new Story();
  await fill(story);
  cut(story.here.driver, limit);
  return story;
}

test('each list, in pages of each size', async () => {
  const shared = await Promise.all(LIMITS.map(filled));
  for (const [name, act] of Object.entries({ ...READS, ...ACTS })) {
    const answers: string[] = [];
    for (const [at, limit] of LIMITS.entries()) {
      const story = name in READS ? shared[at]! : await filled(limit);
      answers.push(shown(await passTime(story.world, act(story), 1_000)));
    }
    expect(answers.slice(1), name).toEqual(answers.slice(1).map(() => answers[0]));
  }
});

test('a report of keys reads as many entries as it may, and says whether these were all', async () => {
  const story = new Story();
  for (let n = 0; n < 3; n++)
    await story.there.leasehold.tasks.enqueue('work', n, { id: `t${n}`, key: 'k', limit: n + 1, delay: '1h' });
  const { operator } = story.here.leasehold;
  const reads: unknown[] = [];
  for (const entriesLimit of [0, 1, 2, 3, 4, undefined]) {
    const [report] = await operator.keys(['k'], { shards: SHARDS, ...defined({ entriesLimit }) });
    reads.push([report?.limits, report?.waiting, report?.isExact]);
  }
  const whole = [[1, 2, 3], 3, true];
  expect(reads).toEqual([[[], 0, false], [[2], 1, false], [[2, 3], 2, false], whole, whole, whole]);
});
