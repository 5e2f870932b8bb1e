/** A session and a worker outlive many attempts: each attempt removes its listeners, however it ends. */
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { runClaim } from '../../../../shared/tasks/run/run-claim.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { HandedBackError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';
import { openHolder } from '../../../support/open-holder.ts';

interface Attempt {
  readonly handBack: AbortController;
  readonly revoke: () => void;
  readonly context: TaskContext;
}

const hang = (): Promise<never> => Promise.withResolvers<never>().promise;

test.each<[string, string, (attempt: Attempt) => unknown]>([
  ['returns', 'done', () => 'result'],
  ['throws', 'retried', () => Promise.reject(new Error('boom'))],
  ['commits', 'done', ({ context }) => context.commit('result')],
  ['snoozes', 'snoozed', ({ context }) => context.snooze('1h')],
  ['takes longer than its timeout', 'retried', hang],
  ['is handed back and hangs', 'released', ({ handBack }) => (handBack.abort(new HandedBackError('stop')), hang())],
  ['is cancelled and hangs', 'cancelled', ({ revoke }) => (revoke(), hang())],
])('an attempt that %s leaves no listener', async (_how, settled, act) => {
  const { tasks, client, clock, runtime } = openMemoryQueue();
  const sender = new Sender({ driver: simulatedDriver(memoryDynamo('sessions', () => clock.now())), runtime });
  const session = await openHolder(
    { timing: sessionTiming({ ttlMs: 600_000 }), name: 'test', node: 'test' },
    { store: createSessionStore(sender, 'sessions'), runtime },
  );
  const revocable = new Map<string, () => void>();
  const onRevoked = session.onRevoked.bind(session);
  session.onRevoked = (revocation, listener) => {
    const stop = onRevoked(revocation, listener);
    revocable.set(revocation, listener);
    return () => {
      stop();
      revocable.delete(revocation);
    };
  };
  const handBack = new AbortController();
  const listeners = () => [session.signal, handBack.signal].map((signal) => getEventListeners(signal, 'abort').length);
  const before = listeners();
  const revoke = (): void => {
    for (const listener of revocable.values()) listener();
  };
  const run = (_: never, context: TaskContext): unknown => act({ handBack, revoke, context });
  await client.enqueue('acts', null, { id: 'a' });
  const row = await tasks.get({ queue: QUEUE, id: 'a' });
  const claimed = row?.state === 'ready' ? await tasks.claim(row, session.id, stampOf(runtime)) : undefined;
  if (claimed?.kind !== 'applied') throw new Error('refused');

  const settlement = await clock.runUntil(
    runClaim(claimed.row, defineTask({ name: 'acts', timeout: '10s', run }), {
      tasks,
      session,
      runtime,
      log: silent,
      handBack: handBack.signal,
      deadlineMonotonicMs: Infinity,
      graceMs: 1_000,
      lifeMs: Infinity,
    }),
    () => true,
  );

  expect(settlement).toBe(settled);
  expect(listeners()).toEqual(before);
  expect([...revocable.keys()]).toEqual([]);
});
