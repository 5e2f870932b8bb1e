import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTask } from '../../../shared/task/definition.ts';
import { createTestKit } from '../../../testing/kit.ts';

test('a definition without code is refused', () => {
  expect(() => defineTask({ name: 'empty' } as never)).toThrow(
    'task empty: run is of type undefined: give its code, a function',
  );
});

test('an input that does not fit is told by its place, to whoever enqueues it and in the row of the dead task', async () => {
  const resize = defineTask({
    name: 'resize',
    input: z.object({ size: z.object({ width: z.number() }) }),
    run: () => 1,
  });
  const kit = createTestKit({ tasks: { resize } });

  await expect(kit.tasks.enqueue(resize, { size: { width: 'x' } })).rejects.toThrow(/resize: size\.width: /);
  await kit.tasks.enqueue('resize', { size: { width: 'x' } }, { id: 'by-name' });
  await kit.drain();

  const task = await kit.tasks.get('by-name');
  expect(task).toMatchObject({ state: 'dead', lastError: { name: 'InvalidInputError' } });
  expect(task?.lastError?.message).toMatch(/resize: size\.width: /);
});
