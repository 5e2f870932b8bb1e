/** Allowed names that become parts of longer names. */
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

test('refuses a batch whose callback cannot have a row, and adds nothing', async () => {
  const work = defineTask({ name: 'work', run: () => 'done' });
  const kit = createTestKit({ tasks: { work } });
  const then = spawn(work, null, { tenant: '#'.repeat(400) });

  await expect(kit.tasks.enqueueBatch([spawn(work, null)], { id: 'b', then })).rejects.toThrow(ConfigurationError);

  expect(await kit.tasks.getBatch('b')).toBeUndefined();
  expect(await kit.tasks.get('b/0')).toBeUndefined();
});

test('refuses a task whose key cannot have a row, because a worker would fail', async () => {
  const work = defineTask({ name: 'work', run: () => 'done' });
  const kit = createTestKit({ tasks: { work }, queue: 'q'.repeat(512) });
  await kit.tasks.enqueue(work, null, { id: 'a' });
  const key = '#'.repeat(512);

  await expect(kit.tasks.enqueue(work, null, { id: 'b', key, limit: 2 })).rejects.toThrow(
    /^the place of key #+… has \d+ bytes: DynamoDB allows 1024/,
  );
  await expect(kit.tasks.enqueue(work, null, { id: 'a', key, limit: 2, onDuplicate: 'replace' })).rejects.toThrow(
    ConfigurationError,
  );

  expect((await kit.drain()).settled.done).toBe(1);
});
