/** A table with one of everything that the console shows, some of it hostile. */
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { AuditStore } from '../../../shared/operate/audit/audit-store.ts';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { createTaskStore } from '../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { Session } from '../../../shared/client/session.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import { createWorker } from '../../../shared/client/create-worker.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { CommandTable } from '../../../test/support/command-table.ts';
import { CONSOLE_SHARDS } from './console.ts';
import { enqueued, newTask, stamp } from '../../../test/support/tasks.ts';

export const MARKUP = `<img src=x onerror="alert('it ran')"><script>alert('it ran')</script>`;

const MINUTE_MS = 60_000;

const DEEDS = [
  ['queue.pause', 'media', 'the thumbnail store is down'],
  ['lock.release', 'imports/customers 1795235086952', 'the import hangs'],
  ['task.cancel', `default/${MARKUP} 1795235086917`, MARKUP],
] as const;

export interface Scene extends AsyncDisposable {
  readonly workers: readonly Session[];
}

export async function stageScene({ endpoint, table, leasehold }: CommandTable): Promise<Scene> {
  using connection = connectionOf(endpoint);
  const tasks = createTaskStore(connection.sender, { table, shards: CONSOLE_SHARDS });
  const now = systemRuntime.clock.now();
  const workers = await Promise.all(
    ['host-1', 'host-2', 'host-3'].map((node) => leasehold.session({ name: 'worker/default', node, ttl: '20s' })),
  );
  const [first, second, third] = workers as [Session, Session, Session];
  await Promise.all(workers.map((worker) => worker.permit(workersSemaphore('default'), { limit: 6 })));
  const lost = await leasehold.session({ name: 'worker/default', node: 'host-4', ttl: '20s' });
  await lost.permit(workersSemaphore('default'), { limit: 6 });
  await leasehold.sessions.destroy(lost.id);
  await third.permit(workersSemaphore('media'), { limit: 4 });

  const names = ['resize', 'transcode', 'index', MARKUP];
  for (let n = 0; n < 46; n++) {
    const priority = n % 9 === 0 ? 'high' : n % 5 === 0 ? 'low' : 'normal';
    const task = {
      id: `photos/2026/11/${String(n).padStart(4, '0')}.jpg`,
      name: names[n % names.length]!,
      priority,
    } as const;
    const runAt = n % 11 === 10 ? now + n * MINUTE_MS : now - (n + 1) * 7_000;
    const input = { bucket: 'photos', key: task.id, width: 640, note: MARKUP };
    const outcome = await tasks.enqueue(newTask({ ...task, queue: 'default', runAt, input }), stamp());
    if (outcome.kind === 'refused' || n % 4 !== 1) continue;
    const worker = workers[n % workers.length]!;
    const claimed = await tasks.claim(outcome.row, worker.id, stamp());
    if (claimed.kind === 'refused') continue;
    const claim = { ...claimed.row };
    const error = { name: 'TypeError', message: `cannot read ${MARKUP} of undefined`, at: now };
    if (n % 12 === 5) await tasks.discard(claim, error, stamp());
    else if (n % 12 === 9) await tasks.complete(claim, { bytes: 48_213 }, stamp());
  }
  await enqueueTroubled(tasks, first.id);
  await endOrders({ endpoint, table });
  await leasehold.operator.pause({ queue: 'media', reason: 'the thumbnail store is down' });
  await enqueued(tasks, { queue: 'media', id: 'clips/7', name: 'transcode', runAt: now });

  await first.lock('reports/nightly', { value: 'page 14 of 90' });
  await second.lock(`reports/${MARKUP}`);
  const briefly = await second.lock('reports/weekly');
  await briefly.release();
  const forced = await second.lock('imports/customers');
  await leasehold.locks.forceRelease('imports/customers', {
    by: 'bob@desk',
    reason: 'the import hangs',
    leaseCounter: forced.fencingToken,
    lockDelay: '60s',
  });
  const audit = new AuditStore({ sender: connection.sender, runtime: systemRuntime }, table);
  for (const [verb, target, reason] of DEEDS)
    await audit.record(
      { verb, target, reason, by: 'bob@desk' },
      async () => undefined,
      () => 'done',
    );
  await first.campaign('scheduler', { value: '10.0.0.7:8080' });
  for (const worker of workers) await worker.permit('uploads', { limit: 12, permits: 2 });
  await second.permit('licences', { limit: 1 });

  const nightly = defineTask({ name: 'nightly-report', run: () => undefined });
  await schedulesOf(leasehold).define('nightly', nightly, {}, { cron: '15 2 * * *', zone: 'Europe/Berlin' });
  await schedulesOf(leasehold).define('every-minute', nightly, {}, { cron: '* * * * *', missed: 'all' });
  for (const minutes of [1, 2, 4]) {
    const occurrence = Math.floor(now / MINUTE_MS) * MINUTE_MS - minutes * MINUTE_MS;
    await tasks.enqueue(
      newTask({
        queue: 'default',
        id: `every-minute@${new Date(occurrence).toISOString()}`,
        name: 'nightly-report',
        runAt: now - 1_000,
      }),
      stamp(),
    );
  }
  return {
    workers,
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map((worker) => worker.end()));
    },
  };
}

/** A queue that lists its finished tasks: one has ended at once, one after a failure, and one is dead. */
export async function endOrders({ endpoint, table }: Pick<CommandTable, 'endpoint' | 'table'>): Promise<void> {
  const charge = defineTask({
    name: 'charge',
    retry: { backoff: '1ms' },
    run(id: string, { attempt }) {
      if (id === 'o-3') throw new DoNotRetry('the card is unknown');
      if (id === 'o-2' && attempt === 1) throw new Error('the bank does not answer');
    },
  });
  using leasehold = createLeasehold({ endpoint, table, queue: 'orders' });
  for (const id of ['o-1', 'o-2', 'o-3'])
    await leasehold.tasks.enqueue(charge, id, { id: `charge/${id}`, label: `order ${id} ${MARKUP.slice(0, 40)}` });
  const options = { endpoint, table, queue: 'orders', listFinished: true, untilDrained: true, log: silent };
  await createWorker({ charge }, { ...options, codeVersion: 'a1b2c3' }).run();
}

/** One that failed twice and runs again. */
async function enqueueTroubled(tasks: ReturnType<typeof createTaskStore>, session: string): Promise<void> {
  const now = systemRuntime.clock.now();
  const first = await tasks.enqueue(
    newTask({ queue: 'default', id: 'troubled', name: 'transcode', runAt: now - 60_000, input: { clip: MARKUP } }),
    { ...stamp(), now: now - 60_000 },
  );
  let row = first.kind === 'applied' ? first.row : undefined;
  for (const [from, took] of [
    [50_000, 9_000],
    [30_000, 14_000],
  ] as const) {
    if (row === undefined) return;
    const claimed = await tasks.claim(row, session, { ...stamp(), now: now - from });
    if (claimed.kind === 'refused') return;
    const error = { name: 'Error', message: `exit code 1: ${MARKUP}`, at: now - from + took };
    const settled = await tasks.retry(
      claimed.row,
      { error, readyAt: now - from + took },
      { ...stamp(), now: now - from + took },
    );
    const found = settled.kind === 'applied' ? await tasks.get(claimed.row) : undefined;
    row = found?.state === 'ready' ? found : undefined;
  }
  if (row !== undefined) await tasks.claim(row, session, { ...stamp(), now: now - 8_000 });
}

function connectionOf(endpoint: string) {
  const connection = connectDynamo({ endpoint }, systemRuntime);
  return { ...connection, [Symbol.dispose]: () => connection.close() };
}
