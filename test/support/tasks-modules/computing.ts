/** Tasks that compute for 0.6 of a session's TTL of 3 s: at once, and after an `await`. Each writes down that it has begun. */
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { defineTask } from '../../../shared/tasks/task/definition.ts';

const COMPUTES_MS = 1_800;

function compute(log: string, id: string): void {
  appendFileSync(log, `${id}\n`);
  const until = performance.now() + COMPUTES_MS;
  while (performance.now() < until);
}

export const atOnce = defineTask({
  name: 'at.once',
  run: (log: string, task) => compute(log, task.id),
});

export const afterwards = defineTask({
  name: 'afterwards',
  async run(log: string, task) {
    await sleep(5);
    compute(log, task.id);
  },
});

/** Fills all threads that look addresses up for seven seconds. */
export const fullPool = defineTask({
  name: 'full.pool',
  async run(log: string, task) {
    appendFileSync(log, `${task.id}\n`);
    const until = performance.now() + 7_000;
    const lane = async (): Promise<void> => {
      while (performance.now() < until) await promisify(pbkdf2)('secret', 'salt', 400_000, 64, 'sha512');
    };
    await Promise.all(Array.from({ length: 8 }, lane));
  },
});

/** Ten times the TTL, in a thread. */
export const inThread = defineTask({
  name: 'in.thread',
  async run(log: string, task) {
    appendFileSync(log, `${task.id}\n`);
    const thread = new Worker('const until = Date.now() + 30000; while (Date.now() < until);', { eval: true });
    task.signal.addEventListener('abort', () => void thread.terminate());
    await once(thread, 'exit');
  },
});
