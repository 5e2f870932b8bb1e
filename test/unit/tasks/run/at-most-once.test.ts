/** `maxAttempts: 1`: the code begins at most once, whatever ends its worker. */
import { describe, expect, test } from 'vitest';
import { defineTask } from '../../../../api/tasks.ts';
import { createTestKit } from '../../../../api/testing.ts';
import type { TaskContext } from '../../../../api/tasks.ts';
import { aborted } from '../../../../shared/tasks/run/ending.ts';

/** A kit with the task `pay`, and the times at which its code began. */
function payments(code: (task: TaskContext, begun: readonly number[]) => Promise<unknown>) {
  const begun: number[] = [];
  const pay = defineTask({
    name: 'pay',
    retry: { maxAttempts: 1 },
    async run(_: null, task) {
      begun.push(task.attempt);
      return code(task, begun);
    },
  });
  return { kit: createTestKit({ tasks: { pay } }), pay, begun };
}

const untilStopped = async ({ signal }: TaskContext): Promise<never> => {
  await aborted(signal);
  throw signal.reason;
};

describe('a task whose code may begin once', () => {
  test('is dead at the deadline of its worker, and begins again only for an operator', async () => {
    const { kit, pay, begun } = payments((task, { length }) => (length === 1 ? untilStopped(task) : Promise.resolve()));
    await kit.tasks.enqueue(pay, null, { id: 'p' });

    await kit.drain({ lifetime: '1m', timePasses: true });
    await kit.drain();

    expect(begun).toEqual([1]);
    expect(await kit.tasks.get('p')).toMatchObject({ state: 'dead', attempts: 1, lastError: { name: 'HandedBack' } });
    await kit.operator.retry('p');
    await kit.drain();
    expect(begun).toEqual([1, 1]);
    expect(await kit.tasks.get('p')).toMatchObject({ state: 'done' });
  });

  test('goes on when its code asks for it', async () => {
    const { kit, pay, begun } = payments((task, { length }) =>
      length < 3 ? Promise.resolve(task.snooze('1m')) : Promise.resolve('paid'),
    );
    await kit.tasks.enqueue(pay, null, { id: 'p' });

    for (let round = 0; round < 3; round++) {
      await kit.drain();
      await kit.advance('1m');
    }

    expect(begun).toEqual([1, 1, 1]);
    expect(await kit.tasks.get('p')).toMatchObject({ state: 'done', result: 'paid' });
  });

  test.each([
    ['its timeout is left', { timeout: '20s' as const }, [1]],
    ['less than its timeout is left', { timeout: '30s' as const }, []],
    ['less than half of its life is left, without a timeout', {}, []],
    ['it may begin again', { retry: { maxAttempts: 2 } }, [1]],
  ])('begins in a worker of which %s: %j', async (_what, options, expected) => {
    const begun: number[] = [];
    const run = (_: null, { attempt }: TaskContext): number => begun.push(attempt);
    const pay = defineTask({ name: 'pay', retry: { maxAttempts: 1 }, ...options, run });
    const slow = defineTask({ name: 'slow', run: () => kit.advance('35s') });
    const kit = createTestKit({ tasks: { pay, slow } });
    await kit.tasks.enqueue(slow, null, { key: 'k' });
    await kit.advance('1s');
    await kit.tasks.enqueue(pay, null, { key: 'k' });

    await kit.drain({ lifetime: '60s', timePasses: true });

    expect(begun).toEqual(expected);
    await kit.drain();
    expect(begun).toEqual([1]);
  });
});
