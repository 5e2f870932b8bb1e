/** Tables of the engine in memory: made, described, listed and deleted, in DynamoDB's words. */
import type {
  CreateTableCommandInput,
  GlobalSecondaryIndex,
  KeySchemaElement,
  Projection,
} from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { tableNotFound, validationFault } from '../../shared/testing/simulated-dynamo/fault.ts';
import { SimulatedDynamo } from '../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type {
  IndexDefinition,
  KeyAttribute,
  KeySchema,
  TableDefinition,
} from '../../shared/testing/simulated-dynamo/table-definition.ts';
import type { Members } from './memory-requests.ts';
import { rejected } from './memory-requests.ts';
import { MemoryStream, streamOperations } from './memory-streams.ts';

interface Described {
  readonly input: CreateTableCommandInput;
  readonly createdAt: number;
  /** The one that the store holds: a TTL that is switched on later changes it there. */
  readonly definition: { ttlAttribute?: string | undefined } & TableDefinition;
  readonly stream: MemoryStream | undefined;
}

type Operation = (members: Members) => Members;

export class MemoryTables {
  readonly store: SimulatedDynamo;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #tables = new Map<string, Described>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.store = new SimulatedDynamo({ now: () => clock.now() });
  }

  readonly operations: Readonly<Record<string, Operation>> = {
    ...streamOperations(() => [...this.#tables.values()].flatMap(({ stream }) => stream ?? [])),
    CreateTable: (members) => this.#create(members as unknown as CreateTableCommandInput),
    DescribeTable: ({ TableName }) => ({ Table: this.#description(this.#find(TableName)) }),
    DeleteTable: ({ TableName }) => this.#delete(this.#find(TableName)),
    ListTables: (members) => this.#list(members),
    UpdateTimeToLive: (members) => this.#setTimeToLive(members),
    DescribeTimeToLive: ({ TableName }) => ({ TimeToLiveDescription: timeToLive(this.#find(TableName)) }),
    DescribeContinuousBackups: ({ TableName }) => {
      this.#find(TableName);
      return {
        ContinuousBackupsDescription: {
          ContinuousBackupsStatus: 'DISABLED',
          PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'DISABLED' },
        },
      };
    },
  };

  #create(input: CreateTableCommandInput): Members {
    const definition = definitionOf(input);
    if (this.#tables.has(definition.name))
      throw rejected('ResourceInUseException', `Table already exists: ${definition.name}`);
    const stream = streamOf(input, definition, this.#clock);
    const described = { input, createdAt: this.#clock.now(), definition, stream };
    this.store.createTable(definition, (before, after) => stream?.record(before, after));
    this.#tables.set(definition.name, described);
    return { TableDescription: this.#description(described) };
  }

  #delete(described: Described): Members {
    const { name } = described.definition;
    this.#tables.delete(name);
    this.store.deleteTable(name);
    return { TableDescription: { ...this.#description(described), TableStatus: 'DELETING' } };
  }

  #list({ ExclusiveStartTableName: after, Limit: limit = MOST_NAMES }: Members): Members {
    const names = [...this.#tables.keys()].sort().filter((name) => typeof after !== 'string' || name > after);
    const TableNames = names.slice(0, Number(limit));
    return TableNames.length === names.length
      ? { TableNames }
      : { TableNames, LastEvaluatedTableName: TableNames.at(-1) };
  }

  #setTimeToLive({ TableName, TimeToLiveSpecification }: Members): Members {
    const { definition } = this.#find(TableName);
    const { AttributeName, Enabled } = (TimeToLiveSpecification ?? {}) as Members;
    if (typeof AttributeName !== 'string' || typeof Enabled !== 'boolean')
      throw validationFault('TimeToLiveSpecification needs AttributeName and Enabled');
    if ((definition.ttlAttribute !== undefined) === Enabled)
      throw validationFault(`TimeToLive is already ${Enabled ? 'enabled' : 'disabled'}`);
    definition.ttlAttribute = Enabled ? AttributeName : undefined;
    return { TimeToLiveSpecification };
  }

  #find(name: unknown): Described {
    const described = this.#tables.get(String(name));
    if (described === undefined) throw tableNotFound(String(name));
    return described;
  }

  #description({ input, createdAt, definition, stream }: Described): Members {
    const { KeySchema, AttributeDefinitions, GlobalSecondaryIndexes } = input;
    return {
      TableName: definition.name,
      TableStatus: 'ACTIVE',
      TableArn: arnOf(definition),
      ...(stream === undefined ? {} : { StreamSpecification: input.StreamSpecification, LatestStreamArn: stream.arn }),
      CreationDateTime: createdAt / 1000,
      KeySchema,
      AttributeDefinitions,
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
      ProvisionedThroughput: { ReadCapacityUnits: 0, WriteCapacityUnits: 0, NumberOfDecreasesToday: 0 },
      DeletionProtectionEnabled: false,
      GlobalSecondaryIndexes: GlobalSecondaryIndexes?.map((index) => ({ ...index, IndexStatus: 'ACTIVE' })),
    };
  }
}

const MOST_NAMES = 100;

function arnOf({ name }: TableDefinition): string {
  return `arn:aws:dynamodb:local:000000000000:table/${name}`;
}

/** @throws DynamoFault for a stream that says more than keys */
function streamOf(
  { StreamSpecification: wanted }: CreateTableCommandInput,
  definition: TableDefinition,
  clock: Pick<Clock, 'now'>,
): MemoryStream | undefined {
  if (wanted?.StreamEnabled !== true) return undefined;
  if (wanted.StreamViewType !== 'KEYS_ONLY')
    throw rejected('NotSimulated', `StreamViewType ${String(wanted.StreamViewType)}: streams say KEYS_ONLY`);
  return new MemoryStream(definition, arnOf(definition), clock);
}

/** @throws DynamoFault for a table that DynamoDB would not make, or that is not simulated */
function definitionOf(input: CreateTableCommandInput): TableDefinition {
  const name = input.TableName ?? '';
  if (!/^[\w.-]{3,255}$/.test(name)) throw validationFault(`TableName ${name} is not the name of a table`);
  if ((input.LocalSecondaryIndexes ?? []).length > 0) throw rejected('NotSimulated', 'local indexes are not simulated');
  const types = new Map((input.AttributeDefinitions ?? []).map((one) => [one.AttributeName, one.AttributeType]));
  const keyAttribute = (key: KeySchemaElement): KeyAttribute => {
    const type = types.get(key.AttributeName);
    if (type !== 'S' && type !== 'N' && type !== 'B')
      throw validationFault(`key ${String(key.AttributeName)} is not in AttributeDefinitions`);
    return { name: key.AttributeName ?? '', type };
  };
  const keysOf = (schema: readonly KeySchemaElement[] = []): KeySchema => {
    const [partition, sort] = ['HASH', 'RANGE'].map((role) => schema.find(({ KeyType }) => KeyType === role));
    if (partition === undefined || schema.length > 2)
      throw validationFault('KeySchema needs one HASH key and one RANGE key at most');
    return { partition: keyAttribute(partition), sort: sort && keyAttribute(sort) };
  };
  const indexOf = (index: GlobalSecondaryIndex): IndexDefinition => ({
    ...keysOf(index.KeySchema),
    name: index.IndexName ?? '',
    projection: projectionOf(index.Projection),
  });
  return { ...keysOf(input.KeySchema), name, indexes: (input.GlobalSecondaryIndexes ?? []).map(indexOf) };
}

function projectionOf(projection: Projection | undefined): IndexDefinition['projection'] {
  const { ProjectionType: type, NonKeyAttributes: include = [] } = projection ?? {};
  if (type === 'ALL' || type === 'KEYS_ONLY') return type;
  if (type !== 'INCLUDE') throw validationFault(`Projection ${String(type)} is none of ALL, KEYS_ONLY and INCLUDE`);
  return { include };
}

function timeToLive({ definition: { ttlAttribute } }: Described): Members {
  return ttlAttribute === undefined
    ? { TimeToLiveStatus: 'DISABLED' }
    : { TimeToLiveStatus: 'ENABLED', AttributeName: ttlAttribute };
}
