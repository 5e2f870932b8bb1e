/** The tables that programs run on: every type of key, every kind of projection, and few keys, so that programs collide. */
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import type { KeySchema, TableDefinition } from '../../../shared/testing/simulated-dynamo/table-definition.ts';

export interface ProgramTable {
  readonly definition: TableDefinition;
  /** The whole key space of a program. */
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

const COMPOSITE = 'composite';
const NUMERIC = 'numeric';
const SINGLE = 'single';

export const PROGRAM_TABLES: readonly ProgramTable[] = [
  {
    definition: {
      name: COMPOSITE,
      partition: { name: 'pk', type: 'S' },
      sort: { name: 'sk', type: 'S' },
      indexes: [
        {
          name: 'keys',
          partition: { name: 'gpk', type: 'S' },
          sort: { name: 'gsk', type: 'N' },
          projection: 'KEYS_ONLY',
        },
        { name: 'all', partition: { name: 'gpk', type: 'S' }, projection: 'ALL' },
        {
          name: 'some',
          partition: { name: 'gpk', type: 'S' },
          sort: { name: 'gsk', type: 'N' },
          projection: { include: ['a', 'm'] },
        },
      ],
    },
    keys: ['p', 'q'].flatMap((pk) => ['a', 'ab', 'é', '😀', '\uffee'].map((sk) => ({ pk, sk }))),
  },
  {
    definition: {
      name: NUMERIC,
      partition: { name: 'pk', type: 'S' },
      sort: { name: 'sk', type: 'N' },
      indexes: [{ name: 'byNumber', partition: { name: 'gsk', type: 'N' }, projection: 'ALL' }],
    },
    keys: [-1, 0, 2, 10, 0.5].map((sk) => ({ pk: 'p', sk })),
  },
  {
    definition: { name: SINGLE, partition: { name: 'pk', type: 'B' } },
    keys: [bytes('p'), bytes('q')].map((pk) => ({ pk })),
  },
];

/**
 * Programs name tables by what they are; each lane of a run has tables of its own under other names.
 * Emulators have a table ready when they have answered.
 */
export async function createProgramTables(client: DynamoDBClient, lane: string): Promise<void> {
  for (const { definition } of PROGRAM_TABLES) {
    const TableName = laneTable(lane, definition.name);
    await client.send(new CreateTableCommand({ TableName, ...createInput(definition) }));
  }
}

export function laneTable(lane: string, table: string): string {
  return `${lane}-${table}`;
}

function createInput(definition: TableDefinition) {
  const { indexes = [] } = definition;
  const attributes = [definition, ...indexes].flatMap(keyAttributes);
  const types = new Map(attributes.map(({ name, type }) => [name, type]));
  return {
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: [...types].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: keySchema(definition),
    ...(indexes.length > 0 && {
      GlobalSecondaryIndexes: indexes.map((index) => ({
        IndexName: index.name,
        KeySchema: keySchema(index),
        Projection:
          typeof index.projection === 'object'
            ? { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: [...index.projection.include] }
            : { ProjectionType: index.projection },
      })),
    }),
  };
}

function keyAttributes({ partition, sort }: KeySchema) {
  return sort === undefined ? [partition] : [partition, sort];
}

function keySchema(schema: KeySchema) {
  return keyAttributes(schema).map(({ name }, at) => ({
    AttributeName: name,
    KeyType: at === 0 ? ('HASH' as const) : ('RANGE' as const),
  }));
}
