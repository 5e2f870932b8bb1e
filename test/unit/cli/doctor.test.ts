/**
 * What doctor says of tables, keys of tasks and names: each finding, and its remedy.
 *
 * After an intended change: `npx vitest run test/unit/cli/doctor.test.ts -u`, and read the difference.
 */
import type { TableDescription } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import type { QueueConnection } from '../../../cli/connection.ts';
import type { Finding } from '../../../cli/doctor/finding.ts';
import { worstOf } from '../../../cli/doctor/finding.ts';
import { judgeKeys } from '../../../cli/doctor/keys.ts';
import { judgeNames } from '../../../cli/doctor/names.ts';
import { judgeBackups, judgeTable, judgeTtl } from '../../../cli/doctor/table.ts';
import { READY_INDEX, TABLE } from '../../../shared/dynamo/engine/schema.ts';
import { tableDefinition } from '../../../shared/dynamo/table.ts';
import type { KeyReport } from '../../../shared/tasks/queue/key-report.ts';
import type { TaskRegistry } from '../../../shared/tasks/task/definition.ts';
import { STARTED } from '../../support/made-rows.ts';
import { storeOf } from '../../support/made-stores.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const { BillingMode, ...defined } = tableDefinition('leases');
const GOOD: TableDescription = {
  ...(defined as TableDescription),
  TableStatus: 'ACTIVE',
  ItemCount: 1_234,
  TableArn: 'arn:aws:dynamodb:eu-west-1:1:table/leases',
  BillingModeSummary: { BillingMode },
  DeletionProtectionEnabled: true,
};
const index = (changes: object): TableDescription => ({
  GlobalSecondaryIndexes: (GOOD.GlobalSecondaryIndexes ?? []).map((one) =>
    one.IndexName === READY_INDEX.name ? { ...one, ...changes } : one,
  ),
});

const TABLES: readonly TableDescription[] = [
  { TableStatus: 'UPDATING', ItemCount: 0 },
  { TableStatus: 'CREATING' },
  { TableStatus: undefined },
  { KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }] },
  { AttributeDefinitions: [] },
  { GlobalSecondaryIndexes: [] },
  index({ KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }] }),
  index({ IndexStatus: 'ACTIVE' }),
  index({ IndexStatus: 'CREATING', Backfilling: true }),
  index({ IndexStatus: 'UPDATING', Backfilling: false }),
  index({ IndexStatus: 'DELETING' }),
  index({ Projection: { ProjectionType: 'ALL' } }),
  index({ Projection: undefined }),
  { StreamSpecification: { StreamEnabled: false } },
  { Replicas: [{ RegionName: 'eu-west-1' }, { RegionName: 'eu-west-2' }] },
  { Replicas: [{ RegionName: 'eu-west-1' }], MultiRegionConsistency: 'STRONG' },
  { BillingModeSummary: undefined },
  { BillingModeSummary: undefined, ProvisionedThroughput: { WriteCapacityUnits: 5 } },
  { DeletionProtectionEnabled: false },
];

const said = ({ health, check, found, remedy }: Finding): string =>
  `  ${health} ${check}: ${found}${remedy === undefined ? '' : ` → ${remedy}`}`;

test('the table', async () => {
  const lines: string[] = [];
  for (const isEmulator of [false, true]) {
    const good = judgeTable(GOOD, { isEmulator }).map(said);
    lines.push(`as it should be${isEmulator ? ', of an emulator' : ''}`, ...good);
    for (const changes of TABLES) {
      const findings = judgeTable({ ...GOOD, ...changes }, { isEmulator });
      lines.push(`${JSON.stringify(changes)}: ${worstOf(findings)}`);
      lines.push(...findings.map(said).filter((line) => !good.includes(line)));
    }
  }
  for (const TimeToLiveStatus of ['ENABLED', 'ENABLING', 'DISABLING', 'DISABLED', undefined] as const)
    for (const AttributeName of [TABLE.ttlAttribute, 'other'])
      lines.push(said(judgeTtl({ TimeToLiveStatus, AttributeName }, 'leases')));
  lines.push(said(judgeTtl(undefined, 'leases')), said(judgeBackups(undefined, 'leases')));
  for (const PointInTimeRecoveryStatus of ['ENABLED', 'DISABLED'] as const) {
    const PointInTimeRecoveryDescription = { PointInTimeRecoveryStatus };
    const backups = { ContinuousBackupsStatus: 'ENABLED' as const, PointInTimeRecoveryDescription };
    lines.push(said(judgeBackups(backups, 'leases')));
  }

  await expect(lines.join('\n')).toMatchFileSnapshot('./printed/doctor.txt');
});

const report = (changes: Partial<KeyReport>): KeyReport =>
  ({ key: 'k', count: 2, limits: [2], running: [], difference: 0, isExact: true, ...changes }) as KeyReport;

test.each([
  ['no key is full', [report({ count: 1 })], 'of 0 full keys with the oldest tasks, 0 compared and right'],
  ['the count is right', [report({})], 'of 1 full key with the oldest tasks, 1 compared and right'],
  ['the limit is unknown', [report({ limits: [] })], 'of 0 full keys with the oldest tasks, 0 compared and right'],
  [
    'it was not one moment',
    [report({ difference: 1, isExact: false })],
    'of 1 full key with the oldest tasks, 0 compared and right',
  ],
  ['a slot is lost', [report({ difference: 1 })], 'key k counts 2 running tasks, and 0 run'],
  ['too few are counted', [report({ difference: -1 })], 'key k counts 2 running tasks, and 0 run'],
  [
    'two are wrong',
    [report({ difference: 1 }), report({ difference: 1, key: 'l' })],
    'key k counts 2 running tasks, and 0 run; 1 other key too',
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
  [['resize', 'fine'], 'ok', 'tasks.ts defines the name of each of the 11 tasks looked at'],
  [['fine'], 'warning', 'tasks.ts does not define resize (10) of the 11 tasks looked at'],
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
