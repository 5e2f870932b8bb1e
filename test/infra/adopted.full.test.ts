/** Resources of an adopting application: a table, functions that enqueue, its own settings. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Stack } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { AttributeType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { AccountPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { describe, expect, test } from 'vitest';
import { defined } from '../../shared/core/defined.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, newApp } from './synthesize.ts';

describe('an existing table', () => {
  test.each([undefined, 'leases', {}])('is a table of the CDK, and not %o', (table) => {
    const stack = new Stack(newApp(), 'NoTable');

    expect(() => CoordinationTable.fromTable(stack, 'Leases', table as never)).toThrow(
      /^fromTable: table = .*: must be a table of the CDK, such as Table\.fromTableName/,
    );
  });

  test.each([
    [
      'region',
      'arn:aws:dynamodb:us-east-1:123456789012:table/leases',
      /is in region us-east-1, and this stack in eu-west-1/,
    ],
    [
      'account',
      'arn:aws:dynamodb:eu-west-1:222222222222:table/leases',
      /is in account 222222222222, and this stack in 123456789012/,
    ],
  ])('of another %s is refused', (_what, arn, message) => {
    const stack = new Stack(newApp(), 'Elsewhere', { env: { region: 'eu-west-1', account: '123456789012' } });

    expect(() => CoordinationTable.fromTable(stack, 'Leases', Table.fromTableArn(stack, 'Existing', arn))).toThrow(
      message,
    );
  });

  test('is refused if synthesis knows that its keys differ', () => {
    const stack = new Stack(newApp(), 'Keys');
    const numbered = new Table(stack, 'Numbered', { partitionKey: { name: 'id', type: AttributeType.NUMBER } });
    const plain = new Table(stack, 'Plain', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
    });
    const ours = new CoordinationTable(stack, 'Ours').table;

    expect(() => CoordinationTable.fromTable(stack, 'A', numbered as ITable)).toThrow(
      'fromTable: the table has the keys id: N and none: must be pk: S and sk: S',
    );
    expect(() => CoordinationTable.fromTable(stack, 'B', plain as ITable)).toThrow(
      'fromTable: its index ready has the keys none',
    );
    expect(() => CoordinationTable.fromTable(stack, 'C', ours)).not.toThrow();
  });

  test('has to be wrapped, and the message says how', () => {
    const stack = new Stack(newApp(), 'Raw');
    const table = Table.fromTableName(stack, 'Existing', 'leases') as never;

    expect(() => new TaskWorkers(stack, 'Media', { entry: ENTRY, table })).toThrow('CoordinationTable.fromTable');
  });
});

test.each<[object, RegExp]>([
  [{ maxWorker: 5 }, /unknown option "maxWorker": .*did you mean maxWorkers\?/],
  [
    { entry: undefined },
    /^entry is missing: pass the path of the module that exports your tasks, or workerFunction, a function of your own$/,
  ],
  [
    { schedule: 'rate(1 minute)' },
    /^schedule = "rate\(1 minute\)": must be an expression of aws-cdk-lib\/aws-scheduler/,
  ],
])('refuses %o', (props, message) => {
  expect(() => new TaskWorkers(new Stack(newApp(), 'Wrong'), 'Media', { entry: ENTRY, ...props })).toThrow(message);
});

test('tasks outside of the project that the CDK bundles are refused by name, with a remedy', () => {
  const elsewhere = mkdtempSync(path.join(tmpdir(), 'leasehold-elsewhere-'));
  try {
    mkdirSync(path.join(elsewhere, 'node_modules'));
    copyFileSync(ENTRY, path.join(elsewhere, 'tasks.ts'));

    expect(
      () => new TaskWorkers(new Stack(newApp(), 'Elsewhere'), 'Media', { entry: path.join(elsewhere, 'tasks.ts') }),
    ).toThrow(
      /leasehold-elsewhere-\S+\/tasks\.ts is outside of \S+, where the CDK has found a lock file: run it in a folder/,
    );
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
});

describe('a grant', () => {
  const inStack = (env?: { account: string; region: string }) => {
    const stack = new Stack(newApp(), 'Granting', defined({ env }));
    return { stack, workers: new TaskWorkers(stack, 'Media', { entry: ENTRY, queue: 'media' }) };
  };
  const ours = { account: '111111111111', region: 'eu-west-1' };

  test('fails for a principal without a policy, because it would have no effect', () => {
    const { workers } = inStack();

    for (const principal of [new AccountPrincipal('999999999999'), new ServicePrincipal('lambda.amazonaws.com')])
      expect(() => workers.grantEnqueue(principal)).toThrow(ConfigurationError);
  });

  test('fails for a role of another account, and succeeds for one of its own', () => {
    const role = (stack: Stack, account: string) =>
      Role.fromRoleArn(stack, `Role${account}`, `arn:aws:iam::${account}:role/theirs`);
    const known = inStack(ours);
    const unknown = inStack();

    expect(() => known.workers.grantOperate(role(known.stack, '999999999999'))).toThrow(/999999999999.*111111111111/);
    expect(() => unknown.workers.grantOperate(role(unknown.stack, '999999999999'))).toThrow(/set `env` of the stack/);
    expect(known.workers.grantOperate(role(known.stack, ours.account)).success).toBe(true);
    expect(unknown.workers.grantOperate(Role.fromRoleName(unknown.stack, 'ByName', 'ours')).success).toBe(true);
  });
});
