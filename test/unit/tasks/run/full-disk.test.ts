/** Task code whose disk is full: an error of the system like any other, told of in the row, the log and the alarm. */
import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TaskLog } from '../../../../shared/tasks/task/context.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

/** Linux's device that is always full. */
const FULL = '/dev/full';

test.skipIf(!existsSync(FULL))(
  'a task that writes to a full disk is tried again, says so, and is told of when it lasts',
  async () => {
    const said: { readonly message: string; readonly then: unknown }[] = [];
    const warn = (message: string, extra: Record<string, unknown> = {}): void => {
      said.push({ message, then: extra.then });
    };
    const log: TaskLog = { debug: ignore, info: ignore, warn, error: ignore };
    const writes = defineTask({
      name: 'writes',
      retry: { maxAttempts: 25 },
      run() {
        try {
          writeFileSync(FULL, 'some of the result');
        } catch (error) {
          throw new RetryAfter(6 * 60_000, String(error));
        }
      },
    });
    const kit = createTestKit({ tasks: { writes }, log });
    await kit.tasks.enqueue(writes, {}, { id: 'w' });

    const reports = [];
    for (let n = 0; n < 3; n++) {
      reports.push(await kit.drain());
      await kit.advance('7m');
    }

    expect(await kit.tasks.get('w')).toMatchObject({ state: 'ready', attempts: 3 });
    expect((await kit.tasks.get('w'))?.lastError?.message).toContain('ENOSPC: no space left on device');
    expect(said.map(({ message, then }) => [message, then])).toEqual([
      ['task attempt failed', 'retry'],
      ['task attempt failed', 'retry'],
      ['task attempt failed', 'retry'],
    ]);
    // The count of `TasksFailingLong`, which triggers the alarm.
    expect(reports.map(({ failing }) => failing)).toEqual([0, 0, 1]);
  },
);

function ignore(): void {
  // The test ignores the other levels.
}
