/** A restore by the steps of `docs/operating.md`: a table of a moment in the past, its gaps, and its counters. */
import assert from 'node:assert/strict';
import { until } from './deployed.ts';
import type { Deployer } from './deployer.ts';
import type { Emulator } from './emulator.ts';
import { RESTORED_TABLE } from './settings.ts';

/** Until the sessions of workers that are gone have expired. */
const QUIET_MS = 600_000;

export async function restore(emulator: Emulator, deployer: Deployer, table: string): Promise<string> {
  const dynamo = (verb: string, body: object) => emulator.call('dynamodb', `DynamoDB_20120810.${verb}`, body);
  const ofRestored = { TableName: RESTORED_TABLE };
  await dynamo('RestoreTableToPointInTime', {
    SourceTableName: table,
    TargetTableName: RESTORED_TABLE,
    UseLatestRestorableTime: true,
  });
  const doctor = () => deployer.leasehold('doctor', '--strict', '--table', RESTORED_TABLE);
  const before = await doctor();
  assert.notEqual(before.code, 0, `a restored table lacks something, and doctor says:\n${before.said}`);

  await dynamo('UpdateTimeToLive', {
    ...ofRestored,
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
  });
  await dynamo('UpdateContinuousBackups', {
    ...ofRestored,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  await dynamo('UpdateTable', { ...ofRestored, DeletionProtectionEnabled: true });
  await dynamo('UpdateTable', {
    ...ofRestored,
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
  });
  const after = await doctor();
  assert.equal(after.code, 0, `doctor still says:\n${after.said}`);

  const raise = ['epoch', 'raise', '--table', RESTORED_TABLE, '--old-table', table, '--reason', 'restored'];
  const raised = await until(
    'no session lives in either table, and the counters are raised',
    () => deployer.leasehold(...raise, '--yes', RESTORED_TABLE),
    ({ code }) => code === 0,
    QUIET_MS,
  );
  return raised.said.trim().split('\n').at(-1) ?? '';
}
