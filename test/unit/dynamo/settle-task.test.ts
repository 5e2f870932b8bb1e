/** The end of a task together with its dependent rows: the response if the two could not change together. */
import { describe, expect, test } from 'vitest';
import type { DynamoDriver, DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { DependentRows } from '../../../shared/tasks/rows/task/dependent-rows.ts';
import { completeTask } from '../../../shared/tasks/rows/task/task-statements.ts';
import { batchKey } from '../../../shared/dynamo/engine/keys.ts';
import { SCHEMA_VERSION } from '../../../shared/dynamo/engine/schema.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import type { Claim } from '../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../shared/testing/fake-clock.ts';

const TABLE = 'leasehold';
const STAMP = { now: 1, nonce: 'mine' };
const LOST = new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });

/** The reasons for the first action, the task's own, and for the second, the count of its batch. */
const refused = (own: string, count: string, item?: DynamoItem, batch?: DynamoItem) =>
  new DynamoFault('transactionCanceled', {
    code: 'TransactionCanceledException',
    message: 'refused',
    reasons: [
      { code: own, item },
      { code: count, item: batch },
    ],
  });

const BATCH = {
  v: SCHEMA_VERSION,
  queue: 'q',
  id: 'b',
  total: 1,
  pending: 1,
  left: 1,
  done: 0,
  dead: 0,
  cancelled: 0,
  nonce: 'n',
};
/** The answer to the first count: this is the last child. */
const IS_LAST = refused('None', 'ConditionalCheckFailed', undefined, {
  ...batchKey('q', 'b'),
  ...BATCH,
  waiter: '{"kind":"nobody"}',
});

/** @param answers to one attempt after the other to count the last child; undefined: it is applied */
async function settle(...answers: readonly (DynamoFault | undefined)[]): Promise<unknown> {
  const left = [IS_LAST, ...answers];
  const driver = {
    attempt: () => {
      const fault = left.shift();
      return fault === undefined ? Promise.resolve({}) : Promise.reject(fault);
    },
  } as unknown as DynamoDriver;
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const sender = new Sender({ driver, runtime: { clock, random: { next: () => 0.5 }, ids: systemIds } });
  const links = { batch: 'b' };
  const claim: Claim = { queue: 'q', id: 't', priority: 'normal', session: 's', leaseCounter: 7, claimedAt: 0, links };
  const linked = new DependentRows(sender, { table: TABLE, shards: 1 });
  const settled = linked.settle({ task: claim, to: 'done', own: completeTask(TABLE, claim, undefined, STAMP) }, STAMP);
  return clock.runUntil(
    settled.catch((error: unknown) => error),
    () => true,
  );
}

describe('the end of a task whose companion refuses', () => {
  test('was not applied when each attempt was answered', async () => {
    expect(await settle(refused('None', 'ConditionalCheckFailed'))).toMatchObject({
      name: 'StoreUnavailableError',
      applied: 'no',
      message: expect.stringContaining('task.complete: the rows that depend on the task refused') as string,
    });
  });

  test('was applied by an earlier attempt whose nonce the row bears, whatever the companion says', async () => {
    const row = { pk: 'task#q#t', nonce: STAMP.nonce };

    expect(await settle(LOST, refused('ConditionalCheckFailed', 'ConditionalCheckFailed', row))).toEqual({
      kind: 'applied',
      row: undefined,
    });
  });

  test('is tried again while the two are only busy', async () => {
    expect(await settle(refused('None', 'TransactionConflict'), undefined)).toEqual({
      kind: 'applied',
      row: undefined,
    });
  });
});
