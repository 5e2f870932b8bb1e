/** Tasks that do whatever tasks should not. In the order of their names, in which Node gives what a module exports. */
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';

const retry = { maxAttempts: 2, backoff: '50ms' } as const;

export const boasts = defineTask({
  name: 'boasts',
  retry,
  run: () => ({ text: 'x'.repeat(100_000) }),
});

export const exits = defineTask({
  name: 'exits',
  retry,
  async run() {
    await sleep(50);
    process.exit(3);
  },
});

export const exitsWell = defineTask({
  name: 'exits.well',
  retry,
  async run() {
    await sleep(50);
    process.exit(0);
  },
});

export const fine = defineTask({
  name: 'fine',
  input: z.object({ n: z.number() }),
  retry: { maxAttempts: 20, backoff: '50ms' },
  run: ({ n }) => ({ n }),
});

export const gaveUp = defineTask({
  name: 'gave.up',
  retry: { maxAttempts: 50 },
  run() {
    throw new DoNotRetry('this will never work');
  },
});

/** Returns, and leaves behind what keeps a process alive. */
export const litters = defineTask({
  name: 'litters',
  run() {
    setInterval(() => undefined, 1_000);
    createServer().listen(0, '127.0.0.1');
  },
});

/** Longer than any deadline of a test, and obedient. Its input may be a number of steps, ten a second. */
export const long = defineTask({
  name: 'long',
  retry: { maxAttempts: 25, maxDeaths: 25 },
  async run(input: unknown, task) {
    const steps = typeof input === 'number' ? input : 40;
    const from = typeof task.progress === 'number' ? task.progress : 0;
    for (let step = from; step < steps; step++) {
      await sleep(100, undefined, { signal: task.signal });
      await task.saveProgress(step + 1);
    }
    return { from };
  },
});

export const neverEnds = defineTask({
  name: 'never.ends',
  retry,
  timeout: '300ms',
  run: () => Promise.race([]),
});

export const rejects = defineTask({
  name: 'rejects',
  retry,
  async run() {
    void Promise.reject(new Error('nobody waits for this'));
    await sleep(60_000);
  },
});

export const throws = defineTask({
  name: 'throws',
  retry,
  run() {
    throw new Error('it always throws');
  },
});

export const throwsNonsense = defineTask({
  name: 'throws.nonsense',
  retry,
  run() {
    const nonsense: unknown = {
      toString() {
        throw new Error('not even printable');
      },
    };

    throw nonsense;
  },
});
