/** Payloads that are no longer needed, in a store that lets no client remove them: the outcome is still reported. */
import { beforeEach, describe, expect, test } from 'vitest';
import { MismatchError } from '../../../../shared/core/errors.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../../shared/tasks/task/payload.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

class Undeletable extends MemoryPayloads {
  /** References passed to `delete`. */
  readonly asked: string[] = [];

  override delete(reference: string): Promise<void> {
    this.asked.push(reference);
    return Promise.reject(new Error('AccessDenied'));
  }
}

const huge = (letter: string) => ({ text: letter.repeat(PAYLOAD_ROW_LIMIT_BYTES) });

describe('a payload store that refuses removals', () => {
  let queue: MemoryQueue;
  let payloads: Undeletable;
  let client: TaskClient;

  beforeEach(async () => {
    queue = openMemoryQueue();
    payloads = new Undeletable();
    client = new TaskClient({ store: queue.tasks, runtime: queue.runtime }, { queue: QUEUE, payloads });
    await client.enqueue('work', huge('a'), { id: 't', delay: '1h' });
  });

  test('does not hide an existing task', async () => {
    expect(await client.enqueue('work', huge('a'), { id: 't' })).toMatchObject({ created: false, replaced: false });
    expect(payloads.asked).toHaveLength(1);
  });

  test('does not hide that other work was there', async () => {
    await expect(client.enqueue('work', huge('b'), { id: 't' })).rejects.toThrow(MismatchError);
    expect(payloads.asked).toHaveLength(1);
  });

  test('does not hide that the work was replaced', async () => {
    const replacing = client.enqueue('work', huge('b'), { id: 't', onDuplicate: 'replace' });

    expect(await replacing).toMatchObject({ created: false, replaced: true });
    expect(payloads.asked).toHaveLength(1);
  });

  test('does not hide that an ended task was renewed', async () => {
    const task = await client.get('t');
    if (task?.state !== 'ready') throw new Error('it waits for an hour');
    const cancellation = { at: queue.clock.now(), reason: 'enough' };
    await queue.tasks.cancel(task, cancellation, { now: queue.clock.now(), nonce: 'n' });

    const renewing = client.enqueue('work', huge('b'), { id: 't', window: 0 });

    expect(await renewing).toMatchObject({ created: true });
    expect(payloads.asked).toHaveLength(1);
  });
});

test('an input stays if nobody knows whether its task was written', async () => {
  let isDown = false;
  const queue = openMemoryQueue((driver) => ({
    async attempt(kind, input, signal) {
      if (!isDown) return driver.attempt(kind, input, signal);
      // A refusal is an answer, too.
      await driver.attempt(kind, input, signal).catch(() => undefined);
      throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
    },
  }));
  const payloads = new MemoryPayloads();
  const client = new TaskClient({ store: queue.tasks, runtime: queue.runtime }, { queue: QUEUE, payloads });
  isDown = true;
  const enqueuing = client.enqueue('work', huge('a'), { id: 't' }).catch((error: unknown) => error);
  expect(await queue.clock.runUntil(enqueuing, () => true)).toMatchObject({ applied: 'unknown' });
  isDown = false;

  const { payload } = (await client.get('t')) ?? {};
  expect(await payloads.get(payload?.reference ?? '')).toContain('aaa');
});
