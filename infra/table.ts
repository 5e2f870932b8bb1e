/**
 * The one table. Several queues, and any number of coordinating programs, may share it.
 *
 * It is deliberately a `Table` and not a `TableV2`:
 * a replica in another region would accept a conditional write that the first region has already refused,
 * and one key would have two holders. An option that does not exist cannot be set wrongly.
 */
import { RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import type { CfnTable, ITable } from 'aws-cdk-lib/aws-dynamodb';
import {
  AttributeType,
  BillingMode,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from '../shared/dynamo/engine/schema.ts';
import { ConfigurationError, shown } from '../shared/core/errors.ts';
import { validOptions } from '../shared/core/validate/options.ts';
import type { AccessRule } from './access.ts';
import { coordinateAccess } from './access.ts';

export interface CoordinationTableProps {
  /**
   * Whether to keep the table when the stack is deleted, and refuse its deletion. Default: true, because losing the table loses all tasks.
   */
  readonly production?: boolean;
  /** Encrypt with this key. Default: a key that AWS owns, at no cost. */
  readonly encryptionKey?: IKey;
  /** The content of a stream record about a changed row. Default: its keys if a waker reads the stream; otherwise no stream. */
  readonly stream?: StreamViewType;
  /** Default: CloudFormation generates one, which allows it to replace a changed table. */
  readonly tableName?: string;
  /** Removal policy of the table when it leaves the stack. Default: retained in production, otherwise destroyed. */
  readonly removalPolicy?: RemovalPolicy;
}

const TABLE_PROPS = ['production', 'encryptionKey', 'stream', 'tableName', 'removalPolicy'] as const;

const INDEXES = [
  { ...READY_INDEX, sortType: AttributeType.NUMBER },
  { ...DIRECTORY_INDEX, sortType: AttributeType.STRING },
];

/** DynamoDB's limit on readers per shard of the stream. Every stack with woken queues has one reader. */
const STREAM_READERS_LIMIT = 2;

/** The table, with the grants that its rows allow. */
export class CoordinationTable extends Construct {
  /**
   * Uses an existing table: one of another stack, one restored from a backup, or one retained by a deleted stack.
   * `leasehold doctor` compares it with the schema; a restored table lacks TTL, recovery, protection and tags.
   * @param options.encryptionKey the customer's key that encrypts the table, if there is one
   */
  static fromTable(
    scope: Construct,
    id: string,
    table: ITable,
    options: Pick<CoordinationTableProps, 'encryptionKey'> = {},
  ): CoordinationTable {
    if (typeof (table as Partial<ITable> | undefined)?.tableArn !== 'string')
      throw new ConfigurationError(
        `fromTable: table = ${shown(table)}: must be a table of the CDK, such as Table.fromTableName(scope, id, name)`,
      );
    ensureReachable(scope, table);
    ensureKeys(table);
    return new CoordinationTable(
      scope,
      id,
      validOptions('the options of fromTable', options, ['encryptionKey']),
      table,
    );
  }

  readonly table: ITable;
  private readonly isAdopted: boolean;
  private readonly encryptionKey: IKey | undefined;
  private readonly queues = new Set<string>();
  private readonly streamReaders = new Set<Stack>();

  /** @param existing see `fromTable` */
  constructor(scope: Construct, id: string, props: CoordinationTableProps = {}, existing?: ITable) {
    super(scope, id);
    validOptions('the props of CoordinationTable', props, TABLE_PROPS);
    this.encryptionKey = props.encryptionKey;
    // The stream exists once it was requested, which the types do not express.
    this.table = existing ?? (this.createTable(props) as ITable);
    this.isAdopted = existing !== undefined;
  }

  private createTable(props: CoordinationTableProps): Table {
    const production = props.production ?? true;
    const removalPolicy = props.removalPolicy ?? (production ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY);
    if (props.production === true && removalPolicy === RemovalPolicy.DESTROY)
      throw new ConfigurationError(
        'production = true and removalPolicy = destroy are both given: production refuses to delete the table; leave one of them out',
      );
    const table = new Table(this, 'Table', {
      partitionKey: { name: TABLE.partitionKey, type: AttributeType.STRING },
      sortKey: { name: TABLE.sortKey, type: AttributeType.STRING },
      timeToLiveAttribute: TABLE.ttlAttribute,
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: production && removalPolicy !== RemovalPolicy.DESTROY,
      removalPolicy,
      ...(props.tableName === undefined ? {} : { tableName: props.tableName }),
      ...(props.encryptionKey === undefined
        ? { encryption: TableEncryption.DEFAULT }
        : { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey: props.encryptionKey }),
      ...(props.stream === undefined ? {} : { stream: props.stream }),
    });
    for (const { name, partitionKey, sortKey, sortType } of INDEXES)
      table.addGlobalSecondaryIndex({
        indexName: name,
        partitionKey: { name: partitionKey, type: AttributeType.STRING },
        sortKey: { name: sortKey, type: sortType },
        projectionType: ProjectionType.KEYS_ONLY,
      });
    return table;
  }

  get tableName(): string {
    return this.table.tableName;
  }

  /**
   * Reserves a queue's name for one set of workers.
   * @throws ConfigurationError when it is taken: two sets of workers would share tasks without sharing the code to run them
   */
  claimQueue(queue: string): void {
    if (this.queues.has(queue))
      throw new ConfigurationError(
        `queue = ${JSON.stringify(queue)} is served by other workers of this table: use a different name for each`,
      );
    this.queues.add(queue);
  }

  /** Returns the table's stream, and enables it unless the table was imported. Undefined if an imported table has no stream. */
  streamArn(): string | undefined {
    const { tableStreamArn } = this.table;
    if (tableStreamArn !== undefined || this.isAdopted) return tableStreamArn;
    const table = this.table.node.defaultChild as CfnTable;
    table.streamSpecification = { streamViewType: StreamViewType.KEYS_ONLY };
    return table.attrStreamArn;
  }

  /**
   * Registers a reader of the stream, for the queues of one stack.
   * @throws ConfigurationError when the limit is reached
   */
  claimStream(reader: Stack): void {
    this.streamReaders.add(reader);
    if (this.streamReaders.size > STREAM_READERS_LIMIT)
      throw new ConfigurationError(
        `wakeOnEnqueue in stack ${reader.stackName}: the stacks ${[...this.streamReaders].map(({ stackName }) => stackName).join(', ')} ` +
          `would each read the table's stream, and DynamoDB throttles more than ${STREAM_READERS_LIMIT} readers; ` +
          'put the queues into fewer stacks, or set wakeOnEnqueue: false in some',
      );
  }

  /** Sessions, locks, elections, semaphores and wait groups; no tasks. */
  grantCoordinate(grantee: IGrantable): Grant {
    return this.grant(grantee, coordinateAccess());
  }

  /**
   * Grants only what the rules list; with a customer's key also the use of that key, through DynamoDB only.
   * @throws ConfigurationError if the principal cannot hold a policy of this stack: the grant would have no effect, or go to another
   * principal
   */
  grant(grantee: IGrantable, rules: readonly AccessRule[]): Grant {
    this.ensurePolicyHolder(grantee);
    const grants = rules.map((rule) => ensureGiven(Grant.addToPrincipal({ grantee, ...this.permission(rule) })));
    if (this.encryptionKey !== undefined) grants.push(this.grantKey(grantee, this.encryptionKey));
    return grants.reduce((all, next) => all.combine(next));
  }

  /**
   * Two traps of `dynamodb:LeadingKeys` are closed here.
   * A `ForAllValues` condition is true when the request has no keys at all, so `Null` demands that it has some.
   * For an index the leading keys are the keys of the index, so table and index never share a statement.
   */
  private permission({ on, actions, keys, attributes, returnsNothing }: AccessRule) {
    const tableArn = this.table.tableArn;
    return {
      actions: actions.map((action) => `dynamodb:${action}`),
      resourceArns: [on === 'table' ? tableArn : `${tableArn}/index/${on}`],
      conditions: {
        'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [...keys] },
        ...(attributes === undefined
          ? {}
          : { 'ForAllValues:StringEquals': { 'dynamodb:Attributes': [...attributes] } }),
        ...(returnsNothing === true ? { StringEqualsIfExists: { 'dynamodb:ReturnValues': 'NONE' } } : {}),
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    };
  }

  private ensurePolicyHolder({ grantPrincipal }: IGrantable): void {
    const { principalAccount } = grantPrincipal;
    const { account } = Stack.of(this);
    const isElsewhere =
      principalAccount !== undefined && !Token.isUnresolved(principalAccount) && principalAccount !== account;
    if (isElsewhere)
      throw new ConfigurationError(
        Token.isUnresolved(account)
          ? `a grant to a principal of account ${principalAccount}, in a stack that does not say its account: set \`env\` of the stack, ` +
              'because a role of the same name in another account would get the policy'
          : `a grant to a principal of account ${principalAccount}, in a stack of account ` +
              `${account}: a policy of this stack cannot reach it; ` +
              'let it assume a role of this account, and grant to that role',
      );
  }

  private grantKey(grantee: IGrantable, key: IKey): Grant {
    return Grant.addToPrincipal({
      grantee,
      actions: ['kms:Decrypt', 'kms:DescribeKey', 'kms:Encrypt', 'kms:GenerateDataKey'],
      resourceArns: [key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `dynamodb.${Stack.of(this).region}.amazonaws.com` } },
    });
  }
}

function ensureGiven(grant: Grant): Grant {
  if (grant.success) return grant;
  throw new ConfigurationError(
    'a grant to a principal that holds no policy, such as an account or a service: grant to a role that it may assume',
  );
}

/** Our functions ask their own region and account for the table's name, and may find another table of that name there. */
function ensureReachable(scope: Construct, { tableArn }: ITable): void {
  if (Token.isUnresolved(tableArn)) return;
  const stack = Stack.of(scope);
  const [, , , region = '', account = ''] = tableArn.split(':');
  for (const [what, its] of Object.entries({ region, account }) as ['region' | 'account', string][]) {
    const own = stack[what];
    if (Token.isUnresolved(own) || own === its) continue;
    throw new ConfigurationError(
      `fromTable: the table ${tableArn} is in ${what} ${its}, and this stack in ${own}: ` +
        `name a table of the stack's own ${what}`,
    );
  }
}

/** Only a table that the app creates knows its keys; `leasehold doctor` compares others. */
function ensureKeys(table: ITable): void {
  if (!(table instanceof Table)) return;
  for (const { name: index, partitionKey, sortKey, sortType } of [
    { ...TABLE, name: undefined, sortType: AttributeType.STRING },
    ...INDEXES,
  ]) {
    const schema = schemaOf(table, index);
    const found = [schema?.partitionKeys, schema?.sortKeys]
      .map((keys = []) => keys.map(({ name, type }) => `${name}: ${type}`).join(', ') || 'none')
      .join(' and ');
    const wanted = `${partitionKey}: ${AttributeType.STRING} and ${sortKey}: ${sortType}`;
    if (found === wanted) continue;
    const what = index === undefined ? 'the table' : `its index ${index}`;
    throw new ConfigurationError(`fromTable: ${what} has the keys ${found}: must be ${wanted}`);
  }
}

/** Undefined: there is no such index. */
function schemaOf(table: Table, index: string | undefined): ReturnType<Table['schemaV2']> | undefined {
  try {
    return table.schemaV2(index);
  } catch {
    // The construct library throws for an index that it does not know.
    return undefined;
  }
}
