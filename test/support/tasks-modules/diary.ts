/** A task that writes its observations to a file, also after its worker was stopped and continued. */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineTask } from '../../../shared/tasks/task/definition.ts';

export interface DiaryLine {
  /** The process that wrote it. */
  readonly pid: number;
  readonly attempt: number;
  readonly step: number;
  readonly at: number;
  readonly aborted: boolean;
  /** The response of each verb after the signal had aborted. */
  readonly verbs?: readonly string[];
}

export const STEP_MS = 50;
const STEPS = 60;

export const diary = defineTask({
  name: 'diary',
  input: z.object({ file: z.string() }),
  retry: { maxAttempts: 5 },
  async run({ file }, task) {
    const write = (line: Omit<DiaryLine, 'pid' | 'attempt' | 'at'>): void => {
      const { pid } = process;
      appendFileSync(file, `${JSON.stringify({ pid, attempt: task.attempt, at: Date.now(), ...line })}\n`);
    };
    for (let step = 0; step < STEPS; step++) {
      // It does not listen to its signal while it waits, like much code in the world.
      await sleep(STEP_MS);
      const { aborted } = task.signal;
      write({ step, aborted });
      if (aborted) {
        const verbs = [() => task.saveProgress(step), () => task.commit({ step }), () => task.snooze('1s')];
        const answers = await Promise.all(
          verbs.map((verb) =>
            verb().then(
              () => 'accepted',
              (error: unknown) => (error as Error).name,
            ),
          ),
        );
        write({ step, aborted, verbs: answers });
        return;
      }
    }
    return { attempt: task.attempt };
  },
});
