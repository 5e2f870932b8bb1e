/** The user's tables of `leasehold dev`: creates missing ones, keeps existing ones, and refuses invalid ones. */
import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
} from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { createDevTables } from '../../../cli/dev/dev-tables.ts';

/** An engine with these tables, and their keys. */
async function asked(devTables: unknown, existing: Readonly<Record<string, readonly string[]>> = {}) {
  const tables = new Map(Object.entries(existing));
  const requests: string[] = [];
  const send = (command: unknown): Promise<unknown> => {
    if (command instanceof CreateTableCommand) {
      const { TableName = '', KeySchema = [], AttributeDefinitions = [], BillingMode } = command.input;
      const keys = KeySchema.map(({ AttributeName, KeyType }) => `${AttributeName} ${KeyType}`);
      const types = AttributeDefinitions.map(({ AttributeName, AttributeType }) => `${AttributeName} ${AttributeType}`);
      requests.push(`create ${TableName}: ${keys.join(', ')}; ${types.join(', ')}; ${BillingMode}`);
      if (TableName === 'denied') return Promise.reject(new Error('no access'));
      if (tables.has(TableName))
        return Promise.reject(new ResourceInUseException({ message: 'it is there', $metadata: {} }));
      tables.set(
        TableName,
        KeySchema.map(({ AttributeName = '' }) => AttributeName),
      );
      return Promise.resolve({});
    }
    if (!(command instanceof DescribeTableCommand)) return Promise.reject(new Error('what is this?'));
    const KeySchema = tables.get(command.input.TableName ?? '')?.map((AttributeName) => ({ AttributeName }));
    return Promise.resolve({ Table: { TableStatus: 'ACTIVE', KeySchema } });
  };
  const client = Object.assign(new DynamoDBClient({ region: 'eu-west-1' }), { send });
  const connection = { openClient: () => Promise.resolve(client), table: 'ours' };
  const exports = devTables === undefined ? {} : { devTables };
  const answer = await createDevTables(exports, connection as never).catch((error: unknown) => String(error));
  return { answer, requests };
}

const reports = { name: 'reports', partitionKey: 'pk' };
const sorted = { name: 'sorted', partitionKey: 'day', sortKey: 'hour' };

test('creates the missing tables in order, and leaves existing ones alone', async () => {
  expect(await asked(undefined)).toEqual({ answer: [], requests: [] });
  expect(await asked([])).toEqual({ answer: [], requests: [] });
  expect(await asked([reports, sorted])).toEqual({
    answer: ['reports', 'sorted'],
    requests: [
      'create reports: pk HASH; pk S; PAY_PER_REQUEST',
      'create sorted: day HASH, hour RANGE; day S, hour S; PAY_PER_REQUEST',
    ],
  });
  expect(await asked([sorted, reports], { sorted: ['day', 'hour'] })).toMatchObject({ answer: ['sorted', 'reports'] });
});

test.each([
  [
    'other keys',
    [sorted, reports],
    { sorted: ['day'] },
    'devTables gives sorted the keys day, hour, and its table has day: ',
  ],
  [
    'the table of leasehold',
    [{ ...reports, name: 'ours' }],
    {},
    'devTables names ours, which is the table of leasehold',
  ],
  ['what the engine refuses', [{ ...reports, name: 'denied' }], {}, 'Error: no access'],
] as const)('%s are refused', async (_what, tables, existing, message) => {
  expect((await asked(tables, existing)).answer).toContain(message);
});

test.each([
  ['no list', reports],
  ['no table', [7]],
  ['nothing', [null]],
  ['no name', [{ partitionKey: 'pk' }]],
  ['an empty name', [{ ...reports, name: '' }]],
  ['no key', [{ name: 'reports' }]],
  ['a sort key that is none', [{ ...reports, sortKey: '' }]],
  ['an option that is none', [{ ...reports, ttl: 'at' }]],
  ['one that is none among others', [reports, { name: 'other' }]],
])('a list with %s is refused, before anything is created', async (_what, tables) => {
  const { answer, requests } = await asked(tables);

  expect(answer).toContain('ConfigurationError: the module of tasks exports devTables = ');
  expect(requests).toEqual([]);
});
