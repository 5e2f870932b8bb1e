/** One invocation of the worker function, with tasks that fail, and tasks that end its process in every possible way. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import { createWorkHandler } from '../../../functions/work.ts';
import { parseWorkEnv } from '../../../functions/env.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { TaskEvents } from '../../../shared/tasks/run/events.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';

const LIFE_MS = 60_000;

/** Tasks in addition to the lethal one; it waits for them, because a dying process must report its counts. */
const OTHERS = Number(process.argv[2]);
let settled = 0;
const allSettled = Promise.withResolvers<undefined>();
const events: TaskEvents = {
  onSettled: () => {
    if (++settled === OTHERS) allSettled.resolve(undefined);
  },
};

const tasks = {
  fine: defineTask({ name: 'fine', run: () => undefined }),
  poison: defineTask({
    name: 'poison',
    run: () => {
      throw new DoNotRetry('cannot be done');
    },
  }),
  exit: defineTask({
    name: 'exit',
    run: async () => {
      await allSettled.promise;
      process.exit(1);
    },
  }),
  reject: defineTask({
    name: 'reject',
    run: async () => {
      await allSettled.promise;
      void Promise.reject(new Error('left unhandled by task code'));
      await wait(LIFE_MS);
    },
  }),
  kill: defineTask({
    name: 'kill',
    run: async () => {
      await allSettled.promise;
      process.kill(process.pid, 'SIGKILL');
    },
  }),
  memory: defineTask({
    name: 'memory',
    run: async () => {
      await allSettled.promise;
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 100_000 }, () => ({})));
    },
  }),
};

const handler = createWorkHandler(tasks, { events });
const end = performance.now() + LIFE_MS;
const context = {
  functionName: 'worker',
  awsRequestId: 'request',
  logStreamName: 'stream',
  getRemainingTimeInMillis: () => end - performance.now(),
} as Context;
await handler({ queue: parseWorkEnv().queue, homeShards: [] }, context);
