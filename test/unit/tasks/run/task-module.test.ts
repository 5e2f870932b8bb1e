/** All other exports of a tasks module are used by every program that runs it. */
import { expect, test } from 'vitest';
import { taskModuleOf } from '../../../../shared/tasks/run/task-module.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const task = defineTask({ name: 'work', run: () => 'done' });

test('calls later event handlers after one throws, and logs it', async () => {
  const told: string[] = [];
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const kit = createTestKit({
    tasks: {
      task,
      events: {
        onSettled: () => {
          throw new Error('no disk');
        },
      },
    },
    events: { onSettled: ({ id }) => void told.push(id) },
    log: { debug: () => undefined, info: log, warn: log, error: log },
  });
  await kit.tasks.enqueue(task, null, { id: 'a' });
  await kit.drain();

  expect(told).toEqual(['a']);
  expect(logged).toContain('event handler failed');
});

test.each([
  ['middleware that is no list', { middleware: { before: () => undefined } }, 'exports middleware = { before'],
  ['a list of something else as middleware', { middleware: ['cors'] }, "exports middleware = [ 'cors' ]"],
  ['names as events', { events: ['created', 'deleted'] }, "exports events = [ 'created', 'deleted' ]"],
  ['an object without a handler as events', { events: { onDone: () => undefined } }, 'exports events = '],
  ['a list as payloads, because inputs would get lost', { payloads: ['a', 'b'] }, 'exports payloads = '],
  ['half a store as payloads', { payloads: { get: () => undefined } }, 'exports payloads = '],
  ['nothing as payloads', { payloads: null }, 'exports payloads = '],
])('%s is refused with what to export instead', (_what, exports, message) => {
  expect(() => taskModuleOf({ task, ...exports })).toThrow(message);
  expect(() => taskModuleOf({ task, ...exports })).toThrow('or name it otherwise');
});

test("lets the runner's payload store replace the module's", () => {
  const [exported, given] = [new MemoryPayloads(), new MemoryPayloads()];

  expect(taskModuleOf({ task, payloads: exported }).payloads).toBe(exported);
  expect(taskModuleOf({ task, payloads: exported }, { payloads: given }).payloads).toBe(given);
  expect(taskModuleOf({ task })).toMatchObject({ events: undefined, payloads: undefined });
});

test("surrounds each attempt with the module's middleware, and the runner's inside of it; its handlers are called first", async () => {
  const told: string[] = [];
  const of = (whose: string) => ({
    middleware: [{ before: () => void told.push(`${whose} before`), after: () => void told.push(`${whose} after`) }],
    events: {
      onClaimed: () => void told.push(`${whose} claimed`),
      onSettled: () => void told.push(`${whose} settled`),
      onDied: () => void told.push(`${whose} died`),
      onExpired: () => void told.push(`${whose} expired`),
    },
  });
  const { registry, events } = taskModuleOf({ task, ...of('module') }, of('runner'));

  await registry.get('work')?.run(null as never, { log: silent } as never);
  const row = {} as never;
  events?.onClaimed?.(row, { takenOver: false });
  events?.onSettled?.(row, 'done');
  events?.onDied?.(row, { name: 'Error', message: '', at: 0 });
  events?.onExpired?.(row);

  expect(told).toEqual([
    ...['module before', 'runner before', 'runner after', 'module after'],
    ...['claimed', 'settled', 'died', 'expired'].flatMap((event) => [`module ${event}`, `runner ${event}`]),
  ]);
});
