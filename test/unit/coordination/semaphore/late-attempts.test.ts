/** Attempts that were given up for lost and still arrive, after the row has changed. */
import { expect, test } from 'vitest';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSemaphoreStore } from '../../../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import {
  admitHolder,
  queueTicket,
  replaceSemaphore,
} from '../../../../shared/coordination/semaphore/row/semaphore-statements.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'leasehold';
const NAME = 'builds';

test('keeps what others were given after a late join or leave', async () => {
  const dynamo = memoryDynamo(TABLE, () => 1_000);
  const semaphores = createSemaphoreStore(
    new Sender({ driver: simulatedDriver(dynamo), runtime: systemRuntime }),
    TABLE,
  );
  const declared = { name: NAME, limit: 1 };
  const ticket = { session: 'b', since: 1, permits: 1, until: 60_000 };
  await semaphores.create(declared, undefined, { now: 1, nonce: 'created' });
  const join = queueTicket(TABLE, NAME, ticket, { now: 2, nonce: 'joined' });
  dynamo.apply('update', join.input);
  const queued = await semaphores.get(NAME);
  if (queued === undefined) throw new Error('the queue is empty');
  const leave = replaceSemaphore(TABLE, queued, { ...queued, waiting: [] }, { now: 3, nonce: 'left' });
  dynamo.apply('update', leave.input);
  const admitted = admitHolder(TABLE, declared, { session: 'c', since: 4, permits: 1 }, { now: 4, nonce: 'admitted' });
  dynamo.apply('update', admitted.input);
  const held = await semaphores.get(NAME);

  dynamo.apply('update', join.input);
  expect(() => dynamo.apply('update', leave.input)).toThrow('conditional request failed');

  expect(await semaphores.get(NAME)).toMatchObject({
    holders: held?.holders,
    leaseCounter: held?.leaseCounter,
    free: 0,
  });
});
