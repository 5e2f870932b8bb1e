/** Creates the user's tables in the engine of `leasehold dev`: the module exports them as `devTables`, in the words of the test kit's `tables`. */
import { ConfigurationError, shown } from '../../shared/core/errors.ts';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import type { TestTable } from '../../shared/testing/test-table.ts';
import type { CliConnection } from '../connection.ts';

/**
 * Creates the missing tables.
 * @returns their names
 * @throws ConfigurationError for an export that is not a list of tables, and for an existing table with other keys
 */
export async function createDevTables(
  { devTables }: Readonly<Record<string, unknown>>,
  { openClient, table: ours }: CliConnection,
): Promise<readonly string[]> {
  if (devTables === undefined) return [];
  const tables = validTables(devTables);
  const client = await openClient();
  const { CreateTableCommand, DescribeTableCommand, ResourceInUseException, waitUntilTableExists } = await loadSdk();
  for (const { name: TableName, ...table } of tables) {
    if (TableName === ours)
      throw new ConfigurationError(`devTables names ${ours}, which is the table of leasehold itself`);
    const KeySchema = keysOf(table);
    const AttributeDefinitions = KeySchema.map(({ AttributeName }) => ({ AttributeName, AttributeType: 'S' as const }));
    try {
      await client.send(
        new CreateTableCommand({ TableName, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions, KeySchema }),
      );
      await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 0.05, maxDelay: 1 }, { TableName });
    } catch (error) {
      if (!(error instanceof ResourceInUseException)) throw error;
      const found = (await client.send(new DescribeTableCommand({ TableName }))).Table?.KeySchema ?? [];
      if (textOf(found) !== textOf(KeySchema))
        throw new ConfigurationError(
          `devTables gives ${TableName} the keys ${textOf(KeySchema)}, and its table has ${textOf(found)}: ` +
            'delete the table, or start dev again if its engine is in memory',
        );
    }
  }
  return tables.map(({ name }) => name);
}

function validTables(given: unknown): readonly TestTable[] {
  const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
  const isTable = (value: unknown): boolean => {
    const { name, partitionKey, sortKey, ...others } = (value ?? {}) as Readonly<Record<string, unknown>>;
    const isKeyed = isText(name) && isText(partitionKey) && (sortKey === undefined || isText(sortKey));
    return isKeyed && Object.keys(others).length === 0;
  };
  if (Array.isArray(given) && given.every(isTable)) return given as readonly TestTable[];
  throw new ConfigurationError(
    `the module of tasks exports devTables = ${shown(given)}: export a list such as ` +
      `[{ name: 'reports', partitionKey: 'pk', sortKey: 'sk' }], or name it otherwise`,
  );
}

interface Key {
  readonly AttributeName: string;
  readonly KeyType: 'HASH' | 'RANGE';
}

function keysOf({ partitionKey, sortKey }: Omit<TestTable, 'name'>): Key[] {
  const partition = { AttributeName: partitionKey, KeyType: 'HASH' as const };
  return sortKey === undefined ? [partition] : [partition, { AttributeName: sortKey, KeyType: 'RANGE' }];
}

function textOf(keys: readonly { readonly AttributeName?: string | undefined }[]): string {
  return keys.map(({ AttributeName }) => AttributeName).join(', ');
}
