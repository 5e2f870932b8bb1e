/** Wakes on one machine: enqueued tasks in engines' streams. The test waits for them without a timeout. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, inject, test, vi } from 'vitest';
import { startEngine } from '../../../local/engine.ts';
import { engineWakes } from '../../../shared/client/engine-wakes.ts';
import { followTable } from '../../../shared/dynamo/table-stream.ts';
import type { StreamRecord } from '../../../shared/dynamo/inserted.ts';
import { changedTasks, insertedTasks } from '../../../shared/dynamo/inserted.ts';
import { systemClock } from '../../../shared/core/runtime/clock.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { closeCommandTable, openCommandTable } from '../../support/command-table.ts';

const PATIENCE = { timeout: 120_000, interval: 100 };

async function engineOf(kind: 'memory' | 'embedded' | 'dynamodb-local') {
  if (kind === 'memory') return await startEngine({ kind });
  const endpoint = inject(kind === 'embedded' ? 'embeddedEndpoint' : 'dynamodbLocalEndpoint') ?? '';
  return { endpoint, stop: async () => undefined };
}

function isMissing(kind: string): boolean {
  if (kind === 'memory') return false;
  return inject(kind === 'embedded' ? 'embeddedEndpoint' : 'dynamodbLocalEndpoint') === null;
}

describe.each(['memory', 'embedded', 'dynamodb-local'] as const)('the stream of the engine %s', (kind) => {
  test.skipIf(isMissing(kind))(
    'tells of each task that is inserted, once, and of none that was there before',
    async () => {
      const engine = await engineOf(kind);
      const table = await openCommandTable(engine.endpoint);
      const stop = new AbortController();
      const told: StreamRecord[] = [];
      const { tasks } = table.leasehold;
      try {
        await tasks.enqueue('task', null, { id: 'before' });
        const following = followTable(
          { endpoint: engine.endpoint, table: table.table, clock: systemClock },
          (records) => void told.push(...records),
          stop.signal,
        );
        const ids = Array.from({ length: 5 }, (_, nth) => `after ${nth}`);
        // The starting position in the stream is known once it has delivered a task.
        await vi.waitFor(async () => {
          await tasks.enqueue('task', null, { queue: 'probe' });
          expect(told.length).toBeGreaterThan(0);
        }, PATIENCE);
        for (const id of ids) await tasks.enqueue('task', null, { id });
        await tasks.enqueue('task', null, { id: 'after 0' });
        await table.leasehold.tasks.enqueue('task', null, { id: 'last', queue: 'another' });
        await vi.waitFor(() => {
          expect(insertedTasks(told).get('another')).toEqual(['last']);
        }, PATIENCE);
        stop.abort();
        await following;

        expect(insertedTasks(told).get('default')).toEqual(ids);
        const keys = told
          .filter(({ eventName }) => eventName === 'INSERT')
          .map(({ dynamodb }) => dynamodb?.Keys?.pk?.S);
        expect(keys.length).toBe(new Set(keys).size);
      } finally {
        closeCommandTable(table);
        await engine.stop();
      }
    },
  );
});

/** Answers as an engine does whose stream has an ended shard, two open ones, and a successor of the first, on one page each. */
function fakeStream() {
  const shards = [
    { ShardId: 'ended' },
    { ShardId: 'first', ParentShardId: 'ended' },
    { ShardId: 'second', ParentShardId: null },
  ];
  const records = (id: string) => [
    { eventName: 'INSERT', dynamodb: { Keys: { pk: { S: `task#default#${id}` }, sk: { S: 'task' } } } },
  ];
  const reads: string[] = [];
  const answers: Readonly<Record<string, (input: Readonly<Record<string, string>>) => object>> = {
    DescribeTable: () => ({ Table: { LatestStreamArn: 'arn' } }),
    DescribeStream: ({ ExclusiveStartShardId: after }) => {
      const next = shards.findIndex(({ ShardId }) => ShardId === after) + 1;
      const isLast = next === shards.length - 1;
      return {
        StreamDescription: {
          Shards: shards.slice(next, next + 1),
          LastEvaluatedShardId: isLast ? null : shards[next]?.ShardId,
        },
      };
    },
    GetShardIterator: ({ ShardId }) => ({ ShardIterator: ShardId }),
    GetRecords: ({ ShardIterator: shard = '' }) => {
      const isFirst = !reads.includes(shard);
      reads.push(shard);
      if (shard === 'first') {
        shards.push({ ShardId: 'successor', ParentShardId: 'first' });
        return { Records: records('before'), NextShardIterator: null };
      }
      return { Records: shard === 'successor' && isFirst ? records('after') : [], NextShardIterator: shard };
    },
  };
  const answerTo = (_: unknown, init: RequestInit = {}): Promise<Response> => {
    const { 'x-amz-target': target = '' } = init.headers as Readonly<Record<string, string>>;
    const input = JSON.parse(init.body as string) as Readonly<Record<string, string>>;
    return Promise.resolve(Response.json(answers[target.split('.')[1] ?? '']?.(input)));
  };
  return { reads, answerTo };
}

test('a stream whose shards end one by one is followed from each to its successor, and no ended one is read', async () => {
  const { reads, answerTo } = fakeStream();
  const asked = vi.spyOn(globalThis, 'fetch').mockImplementation(answerTo);
  const stop = new AbortController();
  const told: StreamRecord[] = [];
  // Sleeps take a turn. A stream that is not followed on would be read for ever.
  const sleep = async (): Promise<void> => {
    if (reads.length > 50) stop.abort();
    await setImmediate();
  };
  const clock = { ...systemClock, sleep };
  try {
    await followTable(
      { endpoint: 'http://127.0.0.1:1', table: 'leasehold', clock },
      (records) => {
        told.push(...records);
        if (told.length === 2) stop.abort();
      },
      stop.signal,
    );
  } finally {
    asked.mockRestore();
  }

  expect(insertedTasks(told).get('default')).toEqual(['before', 'after']);
  expect(new Set(reads)).toEqual(new Set(['first', 'second', 'successor']));
});

test('only tasks are announced, by queue, and changed or deleted ones only to listeners that ask for them', () => {
  const keys = [
    ['INSERT', 'task#q#a'],
    ['MODIFY', 'task#q#b'],
    ['REMOVE', 'task#other#c'],
    ['INSERT', 'task#of %23 and %25#d'],
    ...[
      'payload#q#p',
      'failure#q#f',
      'batch#q#b1',
      'key#q#k',
      'line#q#l',
      'schedule#q#s',
      'session#a',
      'task#q',
      '',
    ].map((pk) => ['INSERT', pk] as const),
  ] as const;
  const records = keys.map(([eventName, S]) => ({ eventName, dynamodb: { Keys: { pk: { S } } } }));
  const incomplete = [{}, { eventName: 'INSERT' }, { eventName: 'INSERT', dynamodb: { Keys: { pk: {} } } }];

  expect([...insertedTasks([...records, ...incomplete])]).toEqual([
    ['q', ['a']],
    ['of # and %', ['d']],
  ]);
  expect([...changedTasks([...records, ...incomplete])]).toEqual([
    ['q', ['a', 'b']],
    ['other', ['c']],
    ['of # and %', ['d']],
  ]);
});

test('a stream whose engine hangs, refuses or has no stream is opened again after a rest', async () => {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const stop = new AbortController();
  const asked: string[] = [];
  const { answerTo } = fakeStream();
  const answers = [
    (_: unknown, init: RequestInit = {}) =>
      new Promise<Response>((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
      }),
    () => Promise.resolve(Response.json({ message: 'not now' }, { status: 500 })),
    () => Promise.resolve(Response.json({ Table: { LatestStreamArn: null } })),
    (_: unknown, init: RequestInit = {}) =>
      answerTo(_, init).then((answer) => {
        if (asked.length === 11) stop.abort();
        return answer;
      }),
  ];
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation((url, init = {}) => {
    const { 'x-amz-target': target = '' } = init.headers as Readonly<Record<string, string>>;
    asked.push(`${clock.monotonic()} ms: ${target.split('.')[1]} of ${url as string} ${init.body as string}`);
    return (answers[asked.length - 1] ?? answers.at(-1)!)(url, init);
  });
  // A request that is never given up would hang for ever.
  void clock.sleep(60_000, stop.signal).then(() => stop.abort());
  try {
    await clock.runUntil(
      followTable({ endpoint: 'http://127.0.0.1:1', table: 'leasehold', clock }, () => undefined, stop.signal),
      () => true,
    );
  } finally {
    fetched.mockRestore();
  }

  const opening = 'DescribeTable of http://127.0.0.1:1 {"TableName":"leasehold"}';
  expect(asked).toEqual([
    `0 ms: ${opening}`,
    // Five seconds for the answer, and five of rest.
    `10000 ms: ${opening}`,
    `15000 ms: ${opening}`,
    `20000 ms: ${opening}`,
    '20000 ms: DescribeStream of http://127.0.0.1:1 {"StreamArn":"arn"}',
    '20000 ms: DescribeStream of http://127.0.0.1:1 {"StreamArn":"arn","ExclusiveStartShardId":"ended"}',
    '20000 ms: DescribeStream of http://127.0.0.1:1 {"StreamArn":"arn","ExclusiveStartShardId":"first"}',
    '20000 ms: GetShardIterator of http://127.0.0.1:1 {"StreamArn":"arn","ShardId":"first","ShardIteratorType":"LATEST"}',
    '20000 ms: GetShardIterator of http://127.0.0.1:1 {"StreamArn":"arn","ShardId":"second","ShardIteratorType":"LATEST"}',
    '20250 ms: GetRecords of http://127.0.0.1:1 {"ShardIterator":"first"}',
    '20250 ms: GetRecords of http://127.0.0.1:1 {"ShardIterator":"second"}',
  ]);
});

describe('a worker of this machine', () => {
  test.each([undefined, 'https://dynamodb.eu-west-1.amazonaws.com', 'http://10.0.0.1:8000'])(
    'leaves the stream alone at %s',
    (endpoint) => {
      expect(engineWakes({ endpoint, table: 'leasehold', clock: systemClock }, 'mine')).toBeUndefined();
    },
  );
});
