/** Judges a table's description. Pure. Remedies that are commands can be pasted into a shell. */
import type { ContinuousBackupsDescription, TableDescription, TimeToLiveDescription } from '@aws-sdk/client-dynamodb';
import { DIRECTORY_INDEX, READY_INDEX, TABLE } from '../../shared/dynamo/engine/schema.ts';
import { tableDefinition } from '../../shared/dynamo/table.ts';
import type { Finding } from './finding.ts';
import { broken, ok, unknown, warning } from './finding.ts';

const NEW_TABLE = "keys cannot be changed: make a new table with 'leasehold up --table <other name>'";

export function judgeTable(table: TableDescription, where: { readonly isEmulator: boolean }): readonly Finding[] {
  return [
    judgeStatus(table),
    judgeKeys(table),
    ...[READY_INDEX, DIRECTORY_INDEX].map((index) => judgeIndex(table, index.name)),
    judgeStream(table, where),
    judgeReplication(table),
    judgeBilling(table, where),
    judgeDeletionProtection(table, where),
  ];
}

function judgeStatus({ TableName = '', TableStatus, ItemCount = 0, TableArn = '' }: TableDescription): Finding {
  const found =
    `${TableName} is ${TableStatus ?? 'in an unknown state'}, about ${ItemCount.toLocaleString('en-US')} rows ${TableArn}`.trim();
  if (TableStatus === 'ACTIVE' || TableStatus === 'UPDATING') return ok('table', found);
  return broken('table', found, `wait until it is ACTIVE: aws dynamodb wait table-exists --table-name ${TableName}`);
}

function judgeKeys(table: TableDescription): Finding {
  const wanted = describeKeys(tableDefinition(''));
  const found = describeKeys(table);
  return found === wanted ? ok('keys', found) : broken('keys', `${found}, but should be ${wanted}`, NEW_TABLE);
}

function judgeIndex(table: TableDescription, name: string): Finding {
  const check = `index ${name}`;
  const definition = tableDefinition('');
  const wanted = definition.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === name);
  const index = table.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === name);
  const keys = describeKeys({ ...definition, KeySchema: wanted?.KeySchema });
  const remedy = `make it with the keys ${keys}, projection KEYS_ONLY: aws dynamodb update-table, or deploy the stack again`;
  if (index === undefined) return broken(check, 'is missing', remedy);
  const found = describeKeys({ ...table, KeySchema: index.KeySchema });
  if (found !== keys) return broken(check, `${found}, but should be ${keys}`, `delete it, then ${remedy}`);
  const projection = index.Projection?.ProjectionType ?? 'unknown';
  if (index.IndexStatus !== undefined && index.IndexStatus !== 'ACTIVE')
    return broken(
      check,
      `is ${index.IndexStatus}${index.Backfilling === true ? ', backfilling' : ''}`,
      'wait until it is ACTIVE: until then tasks are missed',
    );
  if (projection !== 'KEYS_ONLY')
    return warning(
      check,
      `projects ${projection}: every heartbeat of a row is written twice`,
      `delete it, then ${remedy}`,
    );
  return ok(check, `${found}, KEYS_ONLY`);
}

function judgeStream(
  { StreamSpecification, TableName = '' }: TableDescription,
  { isEmulator }: { readonly isEmulator: boolean },
): Finding {
  const check = 'stream';
  if (StreamSpecification?.StreamEnabled === true) return ok(check, 'on');
  if (isEmulator) return unknown(check, 'off, as emulators have it');
  return warning(
    check,
    'off: nothing wakes workers for new tasks, which wait for the next tick',
    `aws dynamodb update-table --table-name ${TableName} --stream-specification StreamEnabled=true,StreamViewType=KEYS_ONLY, and deploy the stack again; without workers on Lambda it is not needed`,
  );
}

/**
 * A replica that is eventually consistent accepts a conditional write that another region has refused: two holders of one key.
 * A strongly consistent replica does not, but it does not support transactions, which `commit` and force-releases need.
 */
function judgeReplication({ Replicas = [], MultiRegionConsistency, TableName = '' }: TableDescription): Finding {
  const check = 'replication';
  if (Replicas.length === 0) return ok(check, 'one region');
  const regions = Replicas.map(({ RegionName }) => RegionName).join(', ');
  if (MultiRegionConsistency === 'STRONG')
    return broken(
      check,
      `strongly consistent in ${regions}: safe, but without the transactions that commit, forced release and several locks at once need`,
      'use a table of one region',
    );
  return broken(
    check,
    `eventually consistent in ${regions}: two regions would give one lock to two holders`,
    `remove the replicas: aws dynamodb update-table --table-name ${TableName} --replica-updates '[{"Delete": {"RegionName": "…"}}]'`,
  );
}

function judgeBilling(
  { BillingModeSummary, ProvisionedThroughput, TableName = '' }: TableDescription,
  { isEmulator }: { readonly isEmulator: boolean },
): Finding {
  const check = 'billing';
  const provisioned = ProvisionedThroughput?.WriteCapacityUnits ?? 0;
  if (BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST' || (isEmulator && provisioned === 0))
    return ok(check, 'on demand');
  return warning(
    check,
    `provisioned: ${provisioned} write units a second; a burst of tasks is throttled, and so are heartbeats`,
    `aws dynamodb update-table --table-name ${TableName} --billing-mode PAY_PER_REQUEST`,
  );
}

function judgeDeletionProtection(
  { DeletionProtectionEnabled, TableName = '' }: TableDescription,
  { isEmulator }: { readonly isEmulator: boolean },
): Finding {
  const check = 'deletion protection';
  if (DeletionProtectionEnabled === true) return ok(check, 'on');
  if (isEmulator) return unknown(check, 'off, as emulators have it');
  return warning(
    check,
    'off: whoever deletes the table deletes all tasks',
    `aws dynamodb update-table --table-name ${TableName} --deletion-protection-enabled`,
  );
}

export function judgeTtl(ttl: TimeToLiveDescription | undefined, table: string): Finding {
  const check = 'ttl';
  const { TimeToLiveStatus: status = 'DISABLED', AttributeName: attribute = '' } = ttl ?? {};
  const specification = `"Enabled=true,AttributeName=${TABLE.ttlAttribute}"`;
  const remedy = `aws dynamodb update-time-to-live --table-name ${table} --time-to-live-specification ${specification}`;
  if (status === 'DISABLED' || status === 'DISABLING')
    return warning(check, `${status.toLowerCase()}: expired rows are never deleted`, remedy);
  if (attribute !== TABLE.ttlAttribute)
    return broken(
      check,
      `sweeps by the attribute ${attribute}, and should by ${TABLE.ttlAttribute}`,
      `disable it, then ${remedy}`,
    );
  return ok(check, `${status.toLowerCase()} on ${attribute}`);
}

export function judgeBackups(backups: ContinuousBackupsDescription | undefined, table: string): Finding {
  const check = 'point-in-time recovery';
  if (backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === 'ENABLED') return ok(check, 'on');
  return warning(
    check,
    'off: what is deleted by mistake is lost',
    `aws dynamodb update-continuous-backups --table-name ${table} --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`,
  );
}

/** `pk (S), sk (S)`: keys with their types, partition key first. */
function describeKeys({
  KeySchema = [],
  AttributeDefinitions = [],
}: Pick<TableDescription, 'KeySchema' | 'AttributeDefinitions'>): string {
  return KeySchema.map(({ AttributeName }) => {
    const type = AttributeDefinitions.find((attribute) => attribute.AttributeName === AttributeName)?.AttributeType;
    return `${AttributeName} (${type ?? '?'})`;
  }).join(', ');
}
