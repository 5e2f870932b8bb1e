/**
 * The output and exit codes of `leasehold doctor` and `leasehold up` for whole tables.
 */
import type { TableDescription } from '@aws-sdk/client-dynamodb';
import { DynamoDBClient, ResourceInUseException } from '@aws-sdk/client-dynamodb';
import { TABLE } from '../../../../shared/dynamo/engine/schema.ts';
import { tableDefinition } from '../../../../shared/dynamo/table.ts';
import { connectionOf, printedBy } from '../../../support/cli-scene.ts';
import { storeOf } from '../../../support/made-stores.ts';

interface Engine {
  /** Absent: there is no such table, until it is created. */
  readonly table?: Partial<TableDescription>;
  readonly ttl?: string;
  readonly recovery?: string;
  /** By the name of the request: the name of the error that it gets. */
  readonly faults?: Readonly<Record<string, string>>;
  readonly skewMs?: number;
}

const { BillingMode, ...defined } = tableDefinition('leasehold');
const SOUND: TableDescription = {
  ...(defined as TableDescription),
  TableStatus: 'ACTIVE',
  ItemCount: 1_234,
  BillingModeSummary: { BillingMode },
  DeletionProtectionEnabled: true,
  StreamSpecification: { StreamEnabled: false },
};
const HERE = '--endpoint http://127.0.0.1:1';

const LINES: readonly (readonly [argv: string, engine: Engine])[] = [
  [`doctor ${HERE}`, { table: {} }],
  [`doctor ${HERE} --strict`, { table: {} }],
  ['doctor', { table: {} }],
  ['doctor --strict', { table: {} }],
  ['doctor --strict --json', { table: {} }],
  ['doctor', { table: { KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] } }],
  ['doctor', { table: { TableStatus: 'CREATING' } }],
  ['doctor', {}],
  ['doctor --table other', {}],
  ['doctor --strict', { table: {}, faults: { DescribeContinuousBackups: 'UnknownOperationException' } }],
  [
    'doctor',
    { table: {}, faults: { PutItem: 'AccessDeniedException', UpdateItem: 'ConditionalCheckFailedException' } },
  ],
  ['doctor', { table: {}, faults: { DescribeTable: 'AccessDeniedException' } }],
  ['doctor', { table: {}, ttl: 'DISABLED', recovery: 'DISABLED' }],
  ['doctor', { table: {}, skewMs: 500 }],
  ['doctor --max-clock-skew 999ms', { table: {}, skewMs: 500 }],
  ['doctor --entry /nowhere/tasks.ts', { table: {} }],
  [`up ${HERE}`, { table: {} }],
  ['up', { table: { DeletionProtectionEnabled: false } }],
  ['up --json', { table: { DeletionProtectionEnabled: false } }],
  ['up', { table: { GlobalSecondaryIndexes: [] } }],
  ['up', { table: {}, faults: { DescribeTimeToLive: 'AccessDeniedException' } }],
  [`up ${HERE}`, {}],
];

function clientOf(
  { table, ttl = 'ENABLED', recovery = 'ENABLED', faults = {} }: Engine,
  asked: string[],
): DynamoDBClient {
  let found = table === undefined ? undefined : { ...SOUND, ...table };
  const answers: Readonly<Record<string, () => object>> = {
    DescribeTable: () => ({ Table: found }),
    CreateTable: () => ({ TableDescription: (found = SOUND) }),
    DescribeTimeToLive: () => ({
      TimeToLiveDescription: { TimeToLiveStatus: ttl, AttributeName: TABLE.ttlAttribute },
    }),
    DescribeContinuousBackups: () => ({
      ContinuousBackupsDescription: {
        PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: recovery },
      },
    }),
  };
  const send = (command: object): Promise<object> => {
    const name = command.constructor.name.replace(/Command$/, '');
    const fault =
      faults[name] ?? (name === 'DescribeTable' && found === undefined ? 'ResourceNotFoundException' : undefined);
    if (/Create|Update(?!Item)|Delete/.test(name)) asked.push(`→ ${name}`);
    if (name === 'CreateTable' && found !== undefined)
      return Promise.reject(new ResourceInUseException({ message: 'it is there', $metadata: {} }));
    if (fault !== undefined) return Promise.reject(Object.assign(new Error('no'), { name: fault }));
    return Promise.resolve(answers[name]?.() ?? {});
  };
  return Object.assign(new DynamoDBClient({ region: 'eu-west-1' }), { send });
}

export async function examined(): Promise<string> {
  const blocks: string[] = [];
  for (const [argv, engine] of LINES) {
    const asked: string[] = [];
    const client = clientOf(engine, asked);
    const connection = connectionOf({
      openClient: () => Promise.resolve(client),
      gauge: { provenSkewMs: () => engine.skewMs ?? 0 },
      runtime: { clock: { now: () => 0 } },
      queue: (queue: string, shards: number) => ({
        queue,
        shards,
        store: {
          ...storeOf(undefined),
          getTurns: () => Promise.resolve(new Map()),
          getBatch: () => Promise.resolve(undefined),
        },
        queues: { glance: () => Promise.resolve(undefined) },
        operator: { keys: () => Promise.resolve([]) },
      }),
    });
    const printed = await printedBy(argv.split(' '), connection, asked);
    // Findings without a fault are printed once.
    blocks.push(blocks.length === 0 ? printed : printed.replaceAll(/^✓ .*\n/gm, ''));
  }

  const text = blocks
    .join('\n')
    .replaceAll(
      /leasehold \S+, rows of schema (\d+), Node [\d.]+/g,
      'leasehold VERSION, rows of schema $1, Node VERSION',
    );
  return text;
}
