/** The requests that a fence makes of a user's request. `test/conformance/fence.test.ts` sends them. */
import { expect, test } from 'vitest';
import { dynamoFence } from '../../../shared/dynamo/dynamo-fence.ts';

const TARGET = { TableName: 'accounts', Key: { id: 'a' } };
const IS_NEWER =
  '(attribute_not_exists(#leaseholdCounter) OR #leaseholdCounter < :leaseholdCounter OR ' +
  '(#leaseholdCounter = :leaseholdCounter AND #leaseholdSequence < :leaseholdSequence))';
const STAMP = '#leaseholdCounter = :leaseholdCounter, #leaseholdSequence = :leaseholdSequence';
const NAMES = { '#leaseholdCounter': 'leaseholdCounter', '#leaseholdSequence': 'leaseholdSequence' };

function openFence(fencingToken = 7) {
  const right = { fencingToken, signal: new AbortController().signal };
  const stampedWith = (sequence: number) => ({
    ConditionExpression: IS_NEWER,
    ExpressionAttributeNames: NAMES,
    ExpressionAttributeValues: { ':leaseholdCounter': fencingToken, ':leaseholdSequence': sequence },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  return { fence: dynamoFence(right), stampedWith };
}

test('each write has the next stamp, and whatever else the request says', () => {
  const { fence, stampedWith } = openFence();

  expect(fence.advance({ ...TARGET, ReturnConsumedCapacity: 'TOTAL' })).toEqual({
    ...TARGET,
    ...stampedWith(1),
    ReturnConsumedCapacity: 'TOTAL',
    UpdateExpression: `SET ${STAMP}`,
    ReturnValues: 'ALL_NEW',
  });
  expect(fence.put({ TableName: 'accounts', Item: { id: 'a', balance: 1 } })).toEqual({
    TableName: 'accounts',
    ...stampedWith(2),
    Item: { id: 'a', balance: 1, leaseholdCounter: 7, leaseholdSequence: 2 },
  });
  const own = {
    ConditionExpression: 'balance = :old OR #state = :open',
    ExpressionAttributeNames: { '#state': 'state' },
    ExpressionAttributeValues: { ':old': 1, ':open': 'open' },
  };
  const guarded = fence.update({ ...TARGET, ...own, UpdateExpression: 'SET balance = :old', ReturnValues: 'ALL_OLD' });
  const { ExpressionAttributeValues: stamp } = stampedWith(3);
  expect(guarded).toEqual({
    ...TARGET,
    ...stampedWith(3),
    UpdateExpression: `SET ${STAMP}, balance = :old`,
    ReturnValues: 'ALL_OLD',
    // In parentheses, because an OR would bind less than the fence's own part.
    ConditionExpression: `(balance = :old OR #state = :open) AND ${IS_NEWER}`,
    ExpressionAttributeNames: { '#state': 'state', ...NAMES },
    ExpressionAttributeValues: { ':old': 1, ':open': 'open', ...stamp },
  });
});

test.each([
  ['SET a = :a', `SET ${STAMP}, a = :a`],
  ['set a = :a', `SET ${STAMP}, a = :a`],
  ['REMOVE b SET a = :a', `REMOVE b SET ${STAMP}, a = :a`],
  ['REMOVE b\nSet a = :a', `REMOVE b\nSET ${STAMP}, a = :a`],
  ['REMOVE OFFSET', `REMOVE OFFSET SET ${STAMP}`],
  ['ADD n :one', `ADD n :one SET ${STAMP}`],
])('the update %j is stamped', (UpdateExpression, stamped) => {
  expect(openFence().fence.update({ ...TARGET, UpdateExpression }).UpdateExpression).toBe(stamped);
});

test.each([undefined, '', ' '])('an update with the expression %j is refused', (UpdateExpression) => {
  expect(() => openFence().fence.update({ ...TARGET, UpdateExpression })).toThrow('use advance()');
});

test('a write was applied if the item has its whole stamp', () => {
  const { fence } = openFence();
  const write = fence.advance(TARGET);

  const answers = [
    { leaseholdCounter: 7, leaseholdSequence: 1 },
    { leaseholdCounter: 7, leaseholdSequence: 2 },
    { leaseholdCounter: 8, leaseholdSequence: 1 },
    { id: 'a' },
    undefined,
  ].map((item) => fence.wasApplied(write, item));

  expect(answers).toEqual([true, false, false, false, false]);
});
