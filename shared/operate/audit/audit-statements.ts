/**
 * The audit row: operator actions, one row per action, one partition per month.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `audit#<yyyy-mm>`, `act#<time>#<id>` | begin |
 * | v | N | schema version | begin |
 * | by, reason | S | the operator's name (as given) and reason | begin |
 * | name | S | the action: `lock.release`, `session.destroy`, … | begin |
 * | value | S | its target | begin |
 * | status | S | `begun`, then the outcome | begin, end |
 * | createdAt | N, epoch ms | | begin |
 * | nonce | S | of the last write | both |
 *
 * It has no `ttl`, because a principal that may write that attribute may delete the record.
 * Written before the action, so that every action has a record. A record that stays `begun` was interrupted, and may have been done.
 */
import type { RowKey } from '../../dynamo/engine/keys.ts';
import { joinKey } from '../../dynamo/engine/keys.ts';
import { SCHEMA_VERSION } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { createStatement, queryStatement, updateStatement } from '../../dynamo/engine/statement.ts';

/**
 * Guard: the row is absent.
 * Effect: recorded as begun.
 * Outcomes: refused = never: the id is unique.
 */
export function beginAct(table: string, act: Act, nonce: string): Statement<'put'> {
  const { id, at, by, reason, verb, target } = act;
  return createStatement('audit.begin', table, {
    ...actKey(act),
    v: SCHEMA_VERSION,
    id,
    by,
    reason,
    name: verb,
    value: target,
    status: 'begun',
    createdAt: at,
    nonce,
  });
}

/**
 * Guard: begun, and not ended.
 * Effect: the outcome is recorded.
 * Outcomes: refused = never: only this action ends it.
 */
export function endAct(table: string, act: Act, outcome: string, nonce: string): Statement<'update'> {
  return updateStatement('audit.end', {
    table,
    key: actKey(act),
    guard: '#status = :begun',
    effect: 'SET #status = :outcome, #nonce = :nonce',
    stamp: { nonce },
    values: { ':begun': 'begun', ':outcome': outcome },
  });
}

/** Actions of one month, the latest first. */
export function pageOfActs(table: string, month: string, limit: number, after: unknown): Statement<'query'> {
  const options = { ScanIndexForward: false, ConsistentRead: true, Limit: limit, after };
  return queryStatement('audit.page', table, '#pk = :month', { ':month': joinKey(['audit', month]) }, options);
}

export function monthOf(at: number): string {
  return new Date(at).toISOString().slice(0, 7);
}

function actKey({ at, id }: Act): RowKey {
  return { pk: joinKey(['audit', monthOf(at)]), sk: joinKey(['act', new Date(at).toISOString(), id]) };
}

export interface AuditedOperation {
  /** The action: `lock.release`, `session.destroy`, … */
  readonly verb: string;
  readonly target: string;
  readonly by: string;
  readonly reason: string;
}

export interface Act extends AuditedOperation {
  readonly id: string;
  readonly at: number;
}
