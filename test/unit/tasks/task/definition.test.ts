import { expect, test } from 'vitest';
import * as z from 'zod';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

test('refuses a definition without code', () => {
  expect(() => defineTask({ name: 'empty' } as never)).toThrow(
    'task empty: run is of type undefined: pass its code, a function',
  );
});

test('types an input by its schema, or by the code without one', async () => {
  const parse = defineTask({
    name: 'parse',
    input: z.object({ n: z.string().transform(Number) }),
    run: ({ n }) => n + 1,
  });
  const plain = defineTask({ name: 'plain', run: ({ n }: { n: number }) => n + 1 });
  const { tasks, schedules } = createTestKit({ tasks: { parse, plain } });

  await tasks.enqueue(parse, { n: '1' }, { id: 'parsed' });
  await tasks.enqueue(plain, { n: 1 });
  await tasks.enqueueBatch([spawn(parse, { n: '1' }), spawn(plain, { n: 1 })], { id: 'both' });
  await tasks.enqueue('plain', { n: 'anything, for a name says nothing of it' });

  // @ts-expect-error -- what the schema makes of an input is not what it takes
  await expect(tasks.enqueue(parse, { n: 1 })).rejects.toThrow(/parse: n: /);
  // @ts-expect-error -- not what the code gets
  await tasks.enqueue(plain, { n: '1' });
  // @ts-expect-error -- the same where it is enqueued later
  spawn(plain, {});
  // @ts-expect-error -- and where a clock enqueues it
  await schedules.define('hourly', plain, { m: 1 }, { cron: '0 * * * *' });
  expect(await tasks.get('parsed')).toMatchObject({ input: { n: '1' } });
});

test('code reads the tenant of its task; spawned tasks have the same, unless it names another', async () => {
  const tenants = new Map<string, string | undefined>();
  const leaf = defineTask({ name: 'leaf', run: (_: unknown, { id, tenant }) => void tenants.set(id, tenant) });
  const root = defineTask({
    name: 'root',
    run: async (_: unknown, task) => {
      tenants.set('root', task.tenant);
      const spawned = [spawn(leaf, null, { id: 'same' }), spawn(leaf, null, { id: 'other', tenant: 'umbrella' })];
      return await task.commit(null, [], { spawn: spawned });
    },
  });
  const kit = createTestKit({ tasks: { leaf, root } });
  await kit.tasks.enqueue(root, null, { tenant: 'acme' });
  await kit.tasks.enqueue(leaf, null, { id: 'none' });
  await kit.drain();

  expect(Object.fromEntries(tenants)).toEqual({ root: 'acme', same: 'acme', other: 'umbrella', none: undefined });
});
