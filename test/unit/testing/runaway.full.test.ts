/** Task code that never ends while the kit's clock does not move. */
import { describe, expect, test } from 'vitest';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';

describe('code that never ends', () => {
  const snoozes = defineTask({ name: 'snoozes', run: (_: unknown, task) => task.snooze(0) });
  const again = defineTask({
    name: 'again',
    run: (_: unknown, task) => task.commit(null, [], { spawn: [spawn('again', null)] }),
  });

  test.each([
    [
      'snoozes',
      /task every-crash \(snoozes\) began 1000 attempts and has not ended, while the kit's clock stood still/,
    ],
    [
      'again',
      /task \S+ \(again\) has 1000 ancestors, each spawned by the one before, while the kit's clock stood still/,
    ],
  ] as const)('%s is named, and lets the timers of the runner fire', async (name, message) => {
    const kit = createTestKit({ tasks: { snoozes, again } });
    // The runner's own timer.
    const { promise: timer, resolve } = Promise.withResolvers<string>();
    setTimeout(() => resolve('fired'), 1);
    const oneByOne = async (): Promise<never> => {
      for (;;) await kit.runOnce();
    };
    await kit.tasks.enqueue(name, null, { id: 'every-crash' });
    const draining = expect(kit.drain()).rejects.toThrow(message);
    expect(await Promise.race([timer, draining.then(() => 'drained')])).toBe('fired');
    await draining;
    await kit.tasks.enqueue(name, null);
    await expect(oneByOne()).rejects.toThrow('clock stood still');
    await expect(createTestKit({ tasks: { snoozes, again } }).everyCrash(name, null, () => undefined)).rejects.toThrow(
      message,
    );
  });

  test('is not said of many plain tasks', async () => {
    const ok = defineTask({ name: 'ok', run: () => 1 });
    const kit = createTestKit({ tasks: { ok } });
    for (let n = 0; n < 1_500; n++) await kit.tasks.enqueue(ok, null);
    expect((await kit.drain()).settled.done).toBe(1_500);
  });
});
