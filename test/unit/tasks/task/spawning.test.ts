/** Rules for tasks that are created in a transaction: violations are reported before any request, with the remedy. */
import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { CommitRefusedError } from '../../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { EnqueueOptions, TaskRequest } from '../../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { UserWrite } from '../../../../shared/tasks/task/task-store.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const work = defineTask({ name: 'work', run: () => undefined });
const many = (count: number, options: EnqueueOptions = {}, bytes = 10): TaskRequest[] =>
  Array.from({ length: count }, (_, n) => spawn(work, { text: 'x'.repeat(bytes) }, { id: `child-${n}`, ...options }));
const writes = (count: number): UserWrite[] =>
  Array.from({ length: count }, (_, n) => ({
    Put: { TableName: 'leasehold', Item: { pk: `user#${n}`, sk: 'row' } },
  }));

type Verb = (task: TaskContext) => Promise<unknown>;

const commit =
  (spawned: readonly TaskRequest[], effects: readonly UserWrite[] = []): Verb =>
  (task) =>
    task.commit(undefined, effects, { spawn: spawned });
const waitFor =
  (children: readonly TaskRequest[]): Verb =>
  (task) =>
    task.waitFor(children);

let kit: TestKit;
let verb: Verb;
const errors: unknown[] = [];
const parent = defineTask({
  name: 'parent',
  run: (_: unknown, task) => verb(task).catch((error: unknown) => void errors.push(error)),
});

beforeEach(() => {
  kit = createTestKit({ tasks: { work, parent } });
  errors.length = 0;
});

async function messageOf(said: Verb, enqueue = () => enqueueParent({})): Promise<string> {
  verb = said;
  await enqueue();
  await kit.runOnce();
  expect(errors).toEqual([expect.any(ConfigurationError)]);
  return (errors[0] as Error).message;
}
const enqueueParent = (options: EnqueueOptions): Promise<unknown> =>
  kit.tasks.enqueue(parent, {}, { id: 'parent', ...options });

describe('a commit', () => {
  test.each<[string, Verb, string]>([
    ['more writes than a transaction takes', commit([], writes(100)), '100 writes and 0 tasks, which take 101 actions'],
    ['more tasks', commit(many(100)), '0 writes and 100 tasks, which take 101 actions'],
    ['both together', commit(many(50), writes(50)), 'which take 101 actions'],
    [
      'one id twice',
      commit([...many(1), ...many(1)]),
      'spawns task child-0 of queue default, which is itself or named twice',
    ],
    ['its own id', commit(many(1, { id: 'parent' })), 'is itself or named twice'],
    ['a policy for ids that are taken', commit(many(1, { onDuplicate: 'keep' })), 'with onDuplicate = keep: a trans'],
    ['a window of an id', commit(many(1, { window: '1h' })), 'with window = 3600000 ms: a transaction is refused'],
    ['what is no list', commit('work' as never), 'what task parent of queue default spawns must be an array'],
    ['what is no request', commit([...many(1), { input: 1 } as never]), 'number 2 is not a task request'],
    ['an order without a key', commit(many(1, { ordered: true })), 'ordered requires a key'],
  ])('refuses %s, and sends nothing', async (_what, said, message) => {
    expect(await messageOf(said)).toContain(message);

    expect(await kit.tasks.get('child-0')).toBeUndefined();
  });

  test.each([
    ['in their rows', 16_000],
    ['beside their rows', 100_000],
  ])('takes as many as a transaction does, with inputs %s', async (_where, bytes) => {
    verb = commit(many(99, {}, bytes));
    await enqueueParent({});

    expect((await kit.drain()).settled.done).toBe(100);
    expect(errors).toEqual([]);
  });

  test('leaves no payload of tasks that it did not create, because a condition of its writes was false', async () => {
    const isFalse = {
      Delete: { TableName: 'leasehold', Key: { pk: 'none', sk: 'row' }, ConditionExpression: 'attribute_exists(pk)' },
    };
    const payloads = (): number => kit.rows('leasehold').filter(({ pk }) => String(pk).startsWith('payload#')).length;
    let written = 0;
    verb = async (task) => {
      const refused = await commit(many(2, {}, 20_000), [isFalse])(task).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CommitRefusedError);
      written = payloads();
      await commit(many(2, {}, 20_000))(task);
    };
    await enqueueParent({});
    await kit.runOnce();

    expect([written, payloads(), errors]).toEqual([0, 2, []]);
  });

  test('leaves in the row how many it spawned, and the first ten, until its id has other work', async () => {
    verb = commit([...many(11), spawn(work, {}, { id: 'x', queue: 'other' })].reverse());
    await enqueueParent({});
    await kit.runOnce();

    const parentRow = await kit.tasks.get('parent');
    const first = Array.from({ length: 9 }, (_, n) => ({ queue: 'default', id: `child-${10 - n}` }));
    expect(parentRow).toMatchObject({ spawned: { count: 12, first: [{ queue: 'other', id: 'x' }, ...first] } });

    verb = commit([]);
    await enqueueParent({ onDuplicate: 'replace' });
    await kit.drain();
    expect(await kit.tasks.get('parent')).toMatchObject({ state: 'done' });
    expect(await kit.tasks.get('parent')).not.toHaveProperty('spawned');
  });

  test('counts what a line takes: one action', async () => {
    const message = await messageOf(commit(many(99, { key: 'k', ordered: true })));

    expect(message).toContain('would take 101 actions, and one transaction takes 100');
    expect(message).toContain('2 are its own and those of lines and batches');
    expect(await kit.tasks.get('child-0')).toBeUndefined();
  });
});

describe('a task that waits', () => {
  test.each<[string, Verb, string]>([
    ['more than a hundred', waitFor(many(101)), 'waits for 101 children: must be at most 97'],
    ['what is no list', waitFor(undefined as never), 'the children of task parent of queue default must be an array'],
    ['what is no request', waitFor(['work' as never]), 'number 1 is not a task request'],
    ['a child of another queue', waitFor(many(1, { queue: 'other' })), 'are of its own queue'],
  ])('for %s is told so', async (_what, said, message) => {
    expect(await messageOf(said)).toContain(message);

    expect(await kit.tasks.get('child-0')).toBeUndefined();
  });

  test('refuses to wait for a child behind it in its own line', async () => {
    const inLine = { key: 'k', ordered: true };
    const message = await messageOf(waitFor(many(1, inLine)), () => enqueueParent(inLine));

    expect(message).toContain('task parent of queue default would wait for task child-0 of queue default');
    expect(message).toContain('in the line of key k');
  });
});
