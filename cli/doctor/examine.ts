/** Runs all of doctor's checks, in the order of its report. */
import type { DynamoDBClient, TableDescription } from '@aws-sdk/client-dynamodb';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';
import { loadSdk } from '../../shared/dynamo/wire/sdk.ts';
import { messageOf } from '../../shared/core/errors.ts';
import type { SkewGauge } from '../../shared/core/lease/skew.ts';
import type { Finding } from './finding.ts';
import { broken, ok, unknown, warning } from './finding.ts';
import type { LambdaCaller } from './mappings.ts';
import { probePermissions } from './permissions.ts';
import { judgeReaders } from './readers.ts';
import { judgeBackups, judgeTable, judgeTtl } from './table.ts';

interface Patient {
  readonly client: DynamoDBClient;
  readonly gauge: SkewGauge;
  readonly table: string;
  readonly isEmulator: boolean;
  readonly maxClockSkewMs: number;
  readonly versions: { readonly node: string; readonly leasehold: string };
  readonly runtime: { readonly clock: LambdaCaller['clock'] };
  readonly variables: LambdaCaller['variables'];
}

export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { client, table, gauge, maxClockSkewMs, versions } = patient;
  const description = await describeTable(client, table);
  const findings = [judgeVersions(versions)];
  if (description === undefined) {
    const remedy = `leasehold up --table ${table}, or deploy the stack and pass the name that it gave its table`;
    return [...findings, broken('table', `there is no table ${table} in this account and region`, remedy)];
  }
  findings.push(...(await examineTable(patient, description)));
  if (description.StreamSpecification?.StreamEnabled === true && hasLambda(patient))
    findings.push(await orUnknown('stream readers', () => judgeReaders(description, lambdaOf(patient))));
  findings.push(...(await probePermissions(client, table)));
  // Last, because all earlier responses contain a date.
  findings.push(judgeClock(gauge.provenSkewMs(), maxClockSkewMs));
  return findings;
}

/** An emulator of DynamoDB alone does not include Lambda. */
function hasLambda({ isEmulator, variables }: Patient): boolean {
  return !isEmulator || [variables.AWS_ENDPOINT_URL_LAMBDA, variables.AWS_ENDPOINT_URL].some((url = '') => url !== '');
}

function lambdaOf({ client, variables, runtime }: Patient): LambdaCaller {
  return { client, variables, clock: runtime.clock };
}

/** The checks that `up` also runs. */
export async function examineTable(
  { client, table, isEmulator }: Pick<Patient, 'client' | 'table' | 'isEmulator'>,
  description: TableDescription,
): Promise<readonly Finding[]> {
  const TableName = table;
  const { DescribeContinuousBackupsCommand, DescribeTimeToLiveCommand } = await loadSdk();
  return [
    ...judgeTable(description, { isEmulator }),
    await orUnknown('ttl', async () =>
      judgeTtl((await client.send(new DescribeTimeToLiveCommand({ TableName }))).TimeToLiveDescription, table),
    ),
    await orUnknown('point-in-time recovery', async () =>
      judgeBackups(
        (await client.send(new DescribeContinuousBackupsCommand({ TableName }))).ContinuousBackupsDescription,
        table,
      ),
    ),
  ];
}

/** Undefined when there is none. */
export async function describeTable(client: DynamoDBClient, table: string): Promise<TableDescription | undefined> {
  const { DescribeTableCommand } = await loadSdk();
  try {
    return (await client.send(new DescribeTableCommand({ TableName: table }))).Table;
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}

function judgeClock(provenMs: number, maxClockSkewMs: number): Finding {
  const check = 'clock';
  const bound = `maxClockSkew is ${maxClockSkewMs} ms`;
  if (provenMs === 0) return ok(check, `as far as measured, equal to the service's; ${bound}`);
  const found = `at least ${Math.round(provenMs)} ms off the service's; ${bound}`;
  const remedy =
    'keep the clock with NTP or chrony: a process whose clock is off by more than half of maxClockSkew takes nothing over';
  return provenMs > maxClockSkewMs / 2 ? broken(check, found, remedy) : warning(check, found, remedy);
}

const OLDEST_NODE = [22, 18] as const;

function judgeVersions({ node, leasehold }: Patient['versions']): Finding {
  const found = `leasehold ${leasehold}, rows of schema ${SCHEMA_VERSION}, Node ${node}`;
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  return isOld ? broken('versions', found, `install Node ${OLDEST_NODE.join('.')} or newer`) : ok('versions', found);
}

/** A check that is impossible, for example because a permission is missing, is reported as unknown. */
export async function orUnknown(check: string, read: () => Promise<Finding>): Promise<Finding> {
  try {
    return await read();
  } catch (error) {
    return unknown(check, `could not be checked: ${messageOf(error)}`);
  }
}
