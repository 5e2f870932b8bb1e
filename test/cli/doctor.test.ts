import path from 'node:path';
import type { DynamoDBClient, TableDescription } from '@aws-sdk/client-dynamodb';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { SATELLITES } from '../../api/satellites.ts';
import { everyCommand } from '../../cli/command-tree.ts';
import { examine } from '../../cli/doctor/examine.ts';
import type { Finding } from '../../cli/doctor/finding.ts';
import { probePermissions } from '../../cli/doctor/permissions.ts';
import { judgeBackups, judgeTable, judgeTtl } from '../../cli/doctor/table.ts';
import { createProgram } from '../../cli/program.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { tableDefinition } from '../../shared/dynamo/table.ts';
import { runCommand, runHere } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

/** A module that defines tasks. */
const ENTRY = path.join(import.meta.dirname, '../infra/fixtures/tasks.ts');
const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('leasehold up and doctor', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('creates a table once, and finds nothing broken in it', async () => {
    const fresh = { endpoint: table.endpoint, table: `${table.table}-up` };

    expect(await runCommand(fresh, 'doctor')).toMatchObject({ exitCode: 1 });
    expect((await runCommand(fresh, 'up')).out).toBe(`table ${fresh.table} was created\n`);
    expect(JSON.parse((await runCommand(fresh, 'up', '--json')).out)).toMatchObject({ created: false });
    const doctor = await runCommand(fresh, 'doctor', '--json');
    expect(doctor.exitCode).toBe(0);
    const { findings } = JSON.parse(doctor.out) as { findings: Finding[] };
    expect(findings.filter(({ health }) => health === 'broken' || health === 'warning')).toEqual([]);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['clock', 'ttl', 'may TransactWriteItems', 'keys in default']),
    );
    expect(findings[0]?.found).toMatch(new RegExp(`, Node ${process.versions.node}$`));
  });

  test.each([
    [0, 'ok'],
    [1, 'warning'],
    [500, 'warning'],
    [501, 'broken'],
  ])('judges a clock that is %i ms off, with a bound of a second: %s', async (provenMs, health) => {
    const gauge = { provenSkewMs: () => provenMs };
    const versions = { node: process.versions.node, leasehold: '1.0.0' };
    const { client, table: name } = table;

    const patient = { client, table: name, gauge, versions, runtime: systemRuntime, variables: {} };

    const findings = await examine({ ...patient, isEmulator: true, maxClockSkewMs: 1_000 });

    expect(findings.find(({ check }) => check === 'clock')).toMatchObject({ health });
  });

  test.each([
    ['20.19.0', 'broken'],
    ['22.17.1', 'broken'],
    ['22.18.0', 'ok'],
    ['23.0.0', 'ok'],
    ['24.1.0', 'ok'],
  ])('judges Node %s: %s', async (node, health) => {
    const { client, table: name } = table;
    const patient = { client, table: name, runtime: systemRuntime, variables: {}, gauge: { provenSkewMs: () => 0 } };

    const [versions] = await examine({
      ...patient,
      versions: { node, leasehold: '1.0.0' },
      isEmulator: true,
      maxClockSkewMs: 1_000,
    });

    expect(versions).toMatchObject({ check: 'versions', health });
    expect(versions?.found).toMatch(/^leasehold 1\.0\.0, rows of schema \d+, Node /);
  });

  test('reports every fault of a foreign table, and how to repair it', async () => {
    const foreign = { endpoint: table.endpoint, table: `${table.table}-foreign` };
    await table.client.send(
      new CreateTableCommand({
        TableName: foreign.table,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      }),
    );

    const doctor = await runCommand(foreign, 'doctor');

    expect(doctor.exitCode).toBe(1);
    expect(doctor.out).toMatch(/✗ keys +id \(S\), but should be pk \(S\), sk \(S\)\n +→ keys cannot be changed/);
    expect(doctor.out).toMatch(/✗ index ready +is missing/);
    // A broken table's tasks are still checked, as far as they can be read.
    const inJson = await runCommand(foreign, 'doctor', '--entry', ENTRY, '--queue', 'mail', '--json');
    const { findings } = JSON.parse(inJson.out) as { findings: Finding[] };
    const last = ['keys in mail', 'batches in mail', 'names in mail'];
    expect(findings.slice(-3).map(({ check }) => check)).toEqual(last);
    expect(await runCommand(foreign, 'up')).toMatchObject({ exitCode: 1 });
  });
});

test.each([
  ['AccessDeniedException', 'warning'],
  ['ConditionalCheckFailedException', 'ok'],
  ['TransactionCanceledException', 'ok'],
  ['ValidationException', 'unknown'],
])('a request that fails by %s says of its permission: %s', async (name, health) => {
  const client = { send: () => Promise.reject(Object.assign(new Error('no'), { name })) };

  const findings = await probePermissions(client as unknown as DynamoDBClient, 'leasehold');

  expect(new Set(findings.map((finding) => finding.health))).toEqual(new Set([health]));
  expect(findings.length).toBeGreaterThan(5);
});

describe('judgeTable', () => {
  const sound: TableDescription = {
    ...tableDefinition('media'),
    TableStatus: 'ACTIVE',
    DeletionProtectionEnabled: true,
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
    LatestStreamArn: 'arn:aws:dynamodb:us-east-1:123456789012:table/media/stream/2026-11-24T20:00:00.000',
    BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
    GlobalSecondaryIndexes: tableDefinition('media').GlobalSecondaryIndexes?.map((index) => ({
      ...index,
      IndexStatus: 'ACTIVE',
    })),
  };
  const faults = (changes: Partial<TableDescription>) =>
    judgeTable({ ...sound, ...changes }, { isEmulator: false }).filter(({ health }) => health !== 'ok');

  test('has nothing to say about a table as the stack makes it, also while a setting is changed', () => {
    expect(faults({})).toEqual([]);
    expect(faults({ TableStatus: 'UPDATING' })).toEqual([]);
  });

  test.each([
    [
      'refuses eventually consistent replicas',
      'broken',
      'replication',
      { Replicas: [{ RegionName: 'eu-west-1' }], MultiRegionConsistency: 'EVENTUAL' },
    ],
    ['refuses replicas of unsaid consistency', 'broken', 'replication', { Replicas: [{ RegionName: 'eu-west-1' }] }],
    [
      'refuses strongly consistent replicas, which know no transactions',
      'broken',
      'replication',
      { Replicas: [{ RegionName: 'eu-west-1' }], MultiRegionConsistency: 'STRONG' },
    ],
    ['warns of provisioned capacity', 'warning', 'billing', { BillingModeSummary: { BillingMode: 'PROVISIONED' } }],
    [
      'warns of a table without deletion protection',
      'warning',
      'deletion protection',
      { DeletionProtectionEnabled: false },
    ],
    ['warns of a stream that is off', 'warning', 'stream', { StreamSpecification: { StreamEnabled: false } }],
    ['refuses a table that is being deleted', 'broken', 'table', { TableStatus: 'DELETING' }],
  ] as const)('%s', (_what, health, check, changes) => {
    expect(faults(changes as unknown as Partial<TableDescription>)).toMatchObject([{ health, check }]);
  });

  test('refuses an index that is still being filled', () => {
    const [ready, ...others] = sound.GlobalSecondaryIndexes ?? [];

    expect(
      faults({ GlobalSecondaryIndexes: [{ ...ready, IndexStatus: 'CREATING', Backfilling: true }, ...others] }),
    ).toMatchObject([{ health: 'broken', check: 'index ready', found: 'is CREATING, backfilling' }]);
  });

  test('judges sweeping and recovery', () => {
    expect(judgeTtl(undefined, 't')).toMatchObject({ health: 'warning' });
    expect(judgeTtl({ TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' }, 't')).toMatchObject({
      health: 'broken',
    });
    expect(judgeTtl({ TimeToLiveStatus: 'ENABLED', AttributeName: 'ttl' }, 't')).toMatchObject({ health: 'ok' });
    expect(judgeBackups({ ContinuousBackupsStatus: 'ENABLED' }, 't')).toMatchObject({ health: 'warning' });
  });
});

describe('help', () => {
  test('gives every command a help that ends well', async () => {
    const program = await createProgram((command) => command, SATELLITES);
    const pathOf = (command: Command): string =>
      command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();
    const paths = everyCommand(program).map(pathOf);

    expect(paths).toEqual(
      expect.arrayContaining(['', 'run', 'locks', 'locks release', 'tasks retry', 'cost', 'doctor']),
    );
    for (const path of paths) {
      const { exitCode, out: help } = await runHere([...path.split(' ').filter(Boolean), '--help']);
      expect({ path, exitCode }).toEqual({ path, exitCode: 0 });
      const wide = help.split('\n').filter((line) => line.length > 80);
      expect(wide, path).toEqual([]);
    }
    for (const path of ['', 'run', 'locks release', 'cost']) {
      const end = await runHere([...path.split(' ').filter(Boolean), '--help']);
      expect(end).toMatchObject({ exitCode: 0, err: '' });
      expect(end.out).toContain('Examples:');
    }
  });
});
