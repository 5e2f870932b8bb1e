/** The meter's additions to the service's report. */
import { describe, expect, test } from 'vitest';
import type { CancellationReason } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { createMeter } from '../../../../shared/dynamo/engine/meter.ts';
import type { Statement } from '../../../../shared/dynamo/engine/statement.ts';
import type { Verb } from '../../../../shared/dynamo/engine/verb.ts';

/** Two units and a little. */
const LARGE = { pk: 'large', text: 'x'.repeat(2_100) };

describe('a transaction that was cancelled', () => {
  const meteredWith = (...reasons: CancellationReason[]) => {
    const meter = createMeter();
    const statement: Statement = { verb: 'lock.get', kind: 'transactWrite', input: { TransactItems: [] } };
    const fault = new DynamoFault('transactionCanceled', { code: 'any', message: 'cancelled', reasons });
    meter.onAttempt({ statement, fault });
    return meter.read().byVerb['lock.get'];
  };

  test('is charged twice the row of each action, at least one unit each', () => {
    expect(meteredWith({ code: 'ConditionalCheckFailed', item: LARGE }, { code: 'None' })).toMatchObject({
      requests: 1,
      refused: 1,
      writeUnits: 2 * 3 + 2,
    });
  });

  test('counts no refused condition if only a conflict cancelled it', () => {
    expect(meteredWith({ code: 'TransactionConflict' }, { code: 'None' })).toMatchObject({ refused: 0, writeUnits: 4 });
  });
});

describe('a read that finds nothing', () => {
  const unitsOf = (
    statement: Statement,
    output: Parameters<ReturnType<typeof createMeter>['onAttempt']>[0]['output'],
  ) => {
    const meter = createMeter();
    meter.onAttempt(output === undefined ? { statement } : { statement, output });
    return meter.read().byVerb['lock.get']?.readUnits;
  };
  const query = (ConsistentRead: boolean): Statement => ({
    verb: 'lock.get',
    kind: 'query',
    input: { TableName: 'leasehold', ConsistentRead },
  });

  test.each([
    ['eventually consistent', false, 0.5],
    ['strongly consistent', true, 1],
  ] as const)('costs what AWS charges, whatever the engine reports: %s', (_how, isConsistent, units) => {
    expect(unitsOf(query(isConsistent), { Items: [], ConsumedCapacity: { CapacityUnits: 0 } })).toBe(units);
    expect(unitsOf(query(isConsistent), { Items: [] })).toBe(units);
    expect(unitsOf(query(isConsistent), { Items: [], ConsumedCapacity: { CapacityUnits: 3 } })).toBe(3);
  });

  test('is not counted without a response', () => {
    expect(unitsOf(query(true), undefined)).toBe(0);
  });
});

test('counts each fault as its kind, by verb and in total', () => {
  const meter = createMeter();
  const attempt = (verb: Verb, kind: 'throttled' | 'unanswered' | 'conditionFailed' | 'rejected'): void => {
    const statement: Statement = { verb, kind: 'put', input: { TableName: 'leasehold', Item: {} } };
    meter.onAttempt({ statement, fault: new DynamoFault(kind, { code: 'any', message: 'any' }) });
  };
  for (const kind of ['throttled', 'throttled', 'unanswered', 'conditionFailed', 'rejected'] as const)
    attempt('lock.put', kind);
  attempt('lock.get', 'throttled');

  const { byVerb, ...totals } = meter.read();

  expect(byVerb['lock.put']).toMatchObject({ requests: 5, throttled: 2, unanswered: 1, refused: 1, writeUnits: 1 });
  expect(totals).toEqual({ requests: 6, throttled: 3, writeUnits: 1, readUnits: 0 });
});
