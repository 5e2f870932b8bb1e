/** The second work of an id has its own name, so that its code can name what may exist once for each work. */
import { describe, expect, test } from 'vitest';
import type { TaskContext } from '../../../../api/tasks.ts';
import { defineTask, DoNotRetry, spawn } from '../../../../api/tasks.ts';
import { createTestKit } from '../../../../api/testing.ts';
import { MismatchError } from '../../../../shared/core/errors.ts';

const leaf = defineTask({ name: 'leaf', run: () => null });

/** A kit, and the names of the works whose attempts began. */
function works() {
  const begun: string[] = [];
  const see = ({ runId }: TaskContext): string => (begun.push(runId), runId);
  const mail = defineTask({
    name: 'mail',
    run: (_: unknown, task) => task.commit(null, [], { spawn: [spawn(leaf, null, { id: `${see(task)}/mail` })] }),
  });
  const parent = defineTask({
    name: 'parent',
    run: async (_: unknown, task) =>
      task.children === undefined ? task.waitFor([spawn(leaf, null, { id: `${see(task)}/a` })]) : 'ended',
  });
  const twice = defineTask({
    name: 'twice',
    run: async (how: unknown, task) => {
      see(task);
      if (task.attempt === 1 && how === 'throws') throw new Error('first');
      if (how === 'dies' && begun.length === 1) throw new DoNotRetry('first');
      if (how === 'snoozes' && begun.length === 1) return task.snooze('1m');
      return 'ended';
    },
  });
  return { begun, mail, parent, twice, kit: createTestKit({ tasks: { leaf, mail, parent, twice } }) };
}

describe('the second work of an id', () => {
  test.each([
    ['mail', { onDuplicate: 'replace' }],
    ['mail', { onDuplicate: 'debounce', delay: '1s' }],
    ['mail', { window: '1m' }],
    ['parent', { onDuplicate: 'replace' }],
    ['parent', { window: '1m' }],
  ] as const)('of %s with %j commits what it names by its run', async (name, how) => {
    const { begun, kit } = works();
    for (let round = 0; round < 3; round++) {
      await kit.tasks.enqueue(name, 'window' in how ? 1 : round, { id: 'p', ...how });
      await kit.advance('1s');
      await kit.drain();
      await kit.advance('2m');
    }

    expect(begun).toEqual(['p', 'p~2', 'p~3']);
    expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', attempts: 1, runId: 'p~3' });
    const named = name === 'mail' ? 'p~3/mail' : 'p~3/a';
    expect(await kit.tasks.get(named)).toMatchObject({ state: 'done' });
  });

  test.each([
    ['an attempt that failed', 'throws'],
    ['a snooze', 'snoozes'],
    ['a retry by an operator', 'dies'],
  ])('is not what goes on after %s', async (_what, how) => {
    const { begun, kit, twice } = works();
    await kit.tasks.enqueue(twice, how, { id: 'p' });
    await kit.drain();
    await kit.operator.retry('p');
    await kit.advance('1h');
    await kit.drain();

    expect(begun).toEqual(['p', 'p']);
  });

  test('begins with a replacement, if an attempt had begun the first, and not before', async () => {
    const { begun, kit, twice } = works();
    await kit.tasks.enqueue(twice, 1, { id: 'p', delay: '1m' });
    await kit.tasks.enqueue(twice, 'snoozes', { id: 'p', onDuplicate: 'replace' });
    await kit.drain();
    await kit.tasks.enqueue(twice, 2, { id: 'p', onDuplicate: 'replace' });
    await kit.drain();

    expect(begun).toEqual(['p', 'p~2']);
  });

  test('is refused while the first is the callback of a batch whose children have not ended', async () => {
    const { begun, kit, twice } = works();
    const then = spawn(twice, 'callback');
    await kit.tasks.enqueueBatch([spawn(leaf, null, { delay: '1h' })], { id: 'b', then });

    const replaced = kit.tasks.enqueue(twice, 'other', { id: 'b/then', onDuplicate: 'replace' });

    await expect(replaced).rejects.toThrow(MismatchError);
    await expect(replaced).rejects.toThrow(/is the callback of a batch, and waits for the children/);
    await kit.drain();
    expect(begun).toEqual([]);
    await kit.advance('1h');
    await kit.drain();
    expect(begun).toEqual(['b/then']);
  });
});
