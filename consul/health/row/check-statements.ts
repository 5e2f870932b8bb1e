/**
 * The row of a health check.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `check#<node>#<id>`, `check` | register |
 * | v | N | schema version | register |
 * | node, id | S | identity | register |
 * | status | S | `passing`, `warning`, `critical`, `deregistered` | all |
 * | note | S | the reporter's note, display only | all |
 * | ttlMs | N or NULL | how long a report is valid; NULL: until the next | register |
 * | expiresAt | N, epoch ms, or NULL | the reporter's clock before sending + ttlMs | register, report |
 * | updatedAt | N, epoch ms | | all |
 * | nonce | S | of the last write | all |
 * | directoryKey, directoryName | S | `check`, node and id: the listing | register; removed by deregister |
 * | ttl | N, epoch s | deletion of deregistered checks; others have none | deregister |
 */
import { defined } from '../../../shared/core/defined.ts';
import type { Stamp } from '../../../shared/core/lease/write.ts';
import type { CheckKey, CheckRecord, CheckStatus } from '../health.ts';
import type { RowKey } from '../../../shared/dynamo/engine/keys.ts';
import { joinKey } from '../../../shared/dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../shared/dynamo/engine/schema.ts';
import type { Statement } from '../../../shared/dynamo/engine/statement.ts';
import {
  batchGetStatement,
  directoryStatement,
  getStatement,
  updateStatement,
} from '../../../shared/dynamo/engine/statement.ts';

/**
 * Guard: not written since it was observed, or still absent:
 * a delayed attempt must not undo a report, or bring back a deregistered check.
 * Effect: registered, with a first report. Registering again brings a check back.
 * Outcomes: refused = it exists, or was written in the meantime: build on that row.
 */
export function registerCheck(
  table: string,
  observed: CheckRecord | undefined,
  check: CheckKey & { readonly status: CheckStatus; readonly note: string; readonly ttlMs: number | null },
  { now, nonce }: Stamp,
): Statement<'update'> {
  const { node, id, status, note, ttlMs } = check;
  return updateStatement('check.register', {
    table,
    key: checkKey({ node, id }),
    guard: observed === undefined ? 'attribute_not_exists(#pk)' : IS_AS_OBSERVED,
    effect:
      'SET #v = :v, #node = :node, #id = :id, #status = :status, #note = :note, #ttlMs = :ttlMs, #expiresAt = :expiresAt, ' +
      '#updatedAt = :now, #nonce = :nonce, #directoryKey = :directory, #directoryName = :name REMOVE #ttl',
    values: {
      ':v': SCHEMA_VERSION,
      ':node': node,
      ':id': id,
      ':status': status,
      ':note': note,
      ':ttlMs': ttlMs,
      ':expiresAt': ttlMs === null ? null : now + ttlMs,
      ':now': now,
      ':nonce': nonce,
      ':directory': 'check',
      ':name': `${node}#${id}`,
      ...defined({ ':observedNonce': observed?.nonce }),
    },
  });
}

/**
 * Guard: not written since it was observed: a delayed attempt of an earlier report must not undo a later one.
 * Effect: its status is set, and its own TTL renewed.
 * Outcomes: refused = another program reported it, registered it again or deregistered it: read again.
 */
export function reportCheck(
  table: string,
  observed: CheckRecord,
  report: { readonly status: CheckStatus; readonly note: string },
  { now, nonce }: Stamp,
): Statement<'update'> {
  return updateStatement('check.report', {
    table,
    key: checkKey(observed),
    guard: IS_AS_OBSERVED,
    effect: 'SET #status = :status, #note = :note, #expiresAt = :expiresAt, #updatedAt = :now, #nonce = :nonce',
    values: {
      ':observedNonce': observed.nonce,
      ':status': report.status,
      ':note': report.note,
      ':expiresAt': observed.ttlMs === null ? null : now + observed.ttlMs,
      ':now': now,
      ':nonce': nonce,
    },
  });
}

/**
 * Guard: not written since it was read.
 * Effect: deregistered and sweepable, until it is registered again.
 * Outcomes: refused = reported, registered or deregistered in the meantime: read again.
 */
export function deregisterCheck(table: string, observed: CheckRecord, { now, nonce }: Stamp): Statement<'update'> {
  return updateStatement('check.deregister', {
    table,
    key: checkKey(observed),
    guard: IS_AS_OBSERVED,
    effect:
      'SET #status = :deregistered, #updatedAt = :now, #nonce = :nonce, #ttl = :ttl REMOVE #directoryKey, #directoryName',
    values: {
      ':observedNonce': observed.nonce,
      ':deregistered': 'deregistered',
      ':now': now,
      ':nonce': nonce,
      ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.session),
    },
  });
}

/** Both names are checked before: their lengths fit a key. */
export function checkKey({ node, id }: CheckKey): RowKey {
  return { pk: joinKey(['check', node, id]), sk: 'check' };
}

/** Registered checks, by node. Eventually consistent. */
export const pageOfChecks = (table: string, prefix: string, after: unknown): Statement<'query'> =>
  directoryStatement('check.page', table, 'check', prefix, { after });

export const readCheck = (table: string, key: CheckKey): Statement<'get'> =>
  getStatement('check.get', table, checkKey(key));

export const readChecks = (table: string, keys: readonly CheckKey[]): Statement<'batchGet'> =>
  batchGetStatement('check.getMany', table, keys.map(checkKey), { consistent: true });

const IS_AS_OBSERVED = '#nonce = :observedNonce';
