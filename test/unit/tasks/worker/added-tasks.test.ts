/** A worker whose dispatcher polls the unused lanes: before it exits, it polls those in which its own tasks may have added others. */
import { expect, test } from 'vitest';
import { IDLE_QUEUE, IDLE_SHARDS, openIdleWorld } from '../../../../bench/idle-world.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask, registerTasks } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { runWorker } from '../../../../shared/tasks/worker/run-worker.ts';

const child = defineTask({ name: 'child', run: () => undefined });
const CHILDREN = Array.from({ length: 20 }, (_, n) => spawn(child, n, { priority: 'high', tenant: 'acme' }));

test.each<[string, number, (context: TaskContext) => Promise<unknown>]>([
  ['commits', 1, (context) => context.commit(null, [], { spawn: CHILDREN })],
  ['waits for', 2, (context) => (context.children === undefined ? context.waitFor(CHILDREN) : Promise.resolve())],
])('runs what a task %s in another lane', async (_how, claimsOfParent, add) => {
  const idle = openIdleWorld();
  const registry = registerTasks({ child, parent: defineTask({ name: 'parent', run: (_, context) => add(context) }) });

  const report = await idle.world.run(async () => {
    await idle.noteLanes('normal');
    await idle.client.enqueue('parent', {}, { id: 'parent' });
    const { runtime, stores } = idle.placeOf('worker');
    await using session = await SessionHolder.create(
      { timing: sessionTiming({ lockDelayMs: 0 }), name: 'worker', node: 'bench', behaviour: 'release' },
      { store: stores.sessions, runtime, gauge: noSkewGauge },
    );
    const settings = {
      queue: IDLE_QUEUE,
      shards: IDLE_SHARDS,
      homeShards: Array.from({ length: IDLE_SHARDS }, (_, at) => at),
      concurrency: 2,
      pollMs: 1_250,
      hasDispatcher: true,
      graceMs: 1_000,
      deadlineMonotonicMs: Infinity,
    };
    const ports = { ...stores, session, runtime, gauge: noSkewGauge, log: silent };
    return await runWorker(registry, ports, settings, new AbortController().signal);
  });

  expect(report).toMatchObject({ ended: 'drained', claimed: claimsOfParent + CHILDREN.length });
});
