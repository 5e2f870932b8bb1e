/** What doctor says of keys of tasks and of names. */
import { expect, test } from 'vitest';
import type { QueueConnection } from '../../../cli/connection.ts';
import { judgeKeys } from '../../../cli/doctor/keys.ts';
import { judgeNames } from '../../../cli/doctor/names.ts';
import type { KeyReport } from '../../../shared/tasks/queue/key-report.ts';
import type { TaskRegistry } from '../../../shared/tasks/task/definition.ts';
import { STARTED } from '../../support/made-rows.ts';
import { storeOf } from '../../support/made-stores.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const report = (changes: Partial<KeyReport>): KeyReport =>
  ({ key: 'k', count: 2, limits: [2], running: [], difference: 0, isExact: true, ...changes }) as KeyReport;

test.each([
  ['no key is full', [report({ count: 1 })], '0 full keys among the oldest tasks; 0 compared, with the right count'],
  ['the count is right', [report({})], '1 full key among the oldest tasks; 1 compared, with the right count'],
  [
    'the limit is unknown',
    [report({ limits: [] })],
    '0 full keys among the oldest tasks; 0 compared, with the right count',
  ],
  [
    'it was not one moment',
    [report({ difference: 1, isExact: false })],
    '1 full key among the oldest tasks; 0 compared, with the right count',
  ],
  ['a slot is lost', [report({ difference: 1 })], 'key k counts 2 running tasks, but 0 run'],
  ['too few are counted', [report({ difference: -1 })], 'key k counts 2 running tasks, but 0 run'],
  [
    'two are wrong',
    [report({ difference: 1 }), report({ difference: 1, key: 'l' })],
    'key k counts 2 running tasks, but 0 run; 1 other key too',
  ],
])('keys of tasks: %s', async (_what, reports, found) => {
  const asked: unknown[] = [];
  const there = {
    queue: 'default',
    shards: 3,
    store: storeOf(undefined),
    queues: { glance: () => Promise.resolve(undefined) },
    operator: {
      keys: (...given: readonly unknown[]) => {
        asked.push(...given);
        return Promise.resolve(reports);
      },
    },
  } as unknown as QueueConnection;

  expect(await judgeKeys(there, new ManualClock(STARTED))).toMatchObject({ check: 'keys in default', found });
  expect(asked).toEqual([['customer-8', 'customer-7'], { shards: 3, entriesLimit: 10_000 }]);
});

test.each([
  [['resize', 'fine'], 'ok', 'tasks.ts defines the name of each of the 11 tasks checked'],
  [['fine'], 'warning', 'tasks.ts does not define resize (10) of the 11 tasks checked'],
])('names of tasks: a module defines %j', async (names, health, found) => {
  const there = {
    queue: 'default',
    shards: 3,
    store: storeOf(undefined),
    queues: { glance: () => Promise.resolve(undefined) },
  };
  const registry = new Map(names.map((name) => [name, {}])) as unknown as TaskRegistry;

  expect(await judgeNames(there as unknown as QueueConnection, registry, 'tasks.ts')).toMatchObject({ health, found });
});
