/** Options of schedules' tasks, their knowledge of their occurrences, and the overlap policies. */
import { beforeEach, describe, expect, test } from 'vitest';
import { enqueueDueOccurrences } from '../../../shared/tasks/dispatch/recur.ts';
import { createScheduleStore } from '../../../shared/tasks/rows/dynamo-schedule-store.ts';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { Runtime } from '../../../shared/core/runtime/runtime.ts';
import { stampOf } from '../../../shared/core/lease/write.ts';
import type { ScheduleOptions } from '../../../shared/tasks/schedule/declaration.ts';
import { ScheduleClient } from '../../../shared/tasks/schedule/schedule-client.ts';
import type { ScheduleStore } from '../../../shared/tasks/schedule/schedule.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { SharedTaskOptions } from '../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { CancelledTask, ReadyTask, RunningTask } from '../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../shared/tasks/task/task.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { waitsInLine } from '../../support/tasks.ts';

const BEGINNING = '2026-03-28T12:00:00.000Z';
const HOUR = 3_600_000;

describeOnStore('the tasks of a schedule', (open) => {
  let q: QueueUnderTest;
  let clock: ManualClock;
  let runtime: Runtime;
  let schedules: ScheduleStore;
  let client: ScheduleClient;

  beforeEach(() => {
    q = openQueue(open());
    clock = new ManualClock(BEGINNING);
    // The senders and workers keep real time: only the schedules live in the past.
    runtime = { ...systemRuntime, clock };
    schedules = createScheduleStore(open().openSender().sender, { table: open().table, shards: 2 });
    client = new ScheduleClient({ schedules, runtime }, { queue: q.queue });
  });

  const tick = () =>
    enqueueDueOccurrences(q.queue, { schedules, runtime }, (error) => {
      throw error;
    });
  const define = (options: Partial<ScheduleOptions> = {}) =>
    client.define('hourly', 'report', null, { cron: '0 * * * *', missed: 'all', ...options });
  const at = (hour: number) => Date.parse(`2026-03-28T${hour}:00:00.000Z`);
  const occurrence = (hour: number) => q.tasks.get({ queue: q.queue, id: `hourly@2026-03-28T${hour}:00:00.000Z` });
  const isHeld = async (hour: number) => waitsInLine(q.tasks, await occurrence(hour));
  const claim = async (hour: number): Promise<RunningTask> => {
    const session = await q.session();
    const task = (await occurrence(hour)) as ReadyTask;
    const outcome = await q.tasks.claim(task, session.id, stampOf(systemRuntime));
    if (outcome.kind !== 'applied') throw new Error(`${task.id} was not claimed`);
    return outcome.row;
  };
  const complete = (task: RunningTask) => q.tasks.complete(claimOf(task), null, stampOf(systemRuntime));

  test('have the same fields as an enqueued task with the same options', async () => {
    const options: SharedTaskOptions = {
      priority: 'high',
      key: 'warehouse',
      limit: 3,
      rate: { count: 5, per: '1m' },
      tenant: 'acme',
      timeout: '5m',
      maxAttempts: 7,
      expires: '30m',
    };
    await define(options);
    clock.step(HOUR);
    await tick();

    const made = (await occurrence(13)) as ReadyTask;
    const asked = await q.client.validate('report', null, { ...options, delay: new Date(at(13)) });
    const { priority, policy, tenant, expiresAt, links } = asked;
    expect(made).toMatchObject({ priority, policy, tenant, expiresAt, readyAt: at(13) });
    expect(made.links?.concurrency).toEqual(links?.concurrency);
    expect(made.expiresAt).toBe(at(13) + HOUR / 2);
  });

  test('know their occurrence and the last occurrence with a task, across occurrences that were left out', async () => {
    await define({ missed: 'last' });
    clock.step(HOUR);
    await tick();
    clock.step(3 * HOUR);
    await tick();

    expect((await occurrence(13))?.schedule).toEqual({ name: 'hourly', at: at(13), since: undefined });
    expect((await occurrence(16))?.schedule).toEqual({ name: 'hourly', at: at(16), since: at(13) });
    expect(await occurrence(15)).toBeUndefined();
  });

  test('keep their interval when they are retried', async () => {
    const seen: unknown[] = [];
    await define();
    clock.step(2 * HOUR);
    await tick();
    const report = defineTask({
      name: 'report',
      retry: { maxAttempts: 1 },
      run(_: unknown, { schedule }) {
        seen.push(schedule);
        if (seen.length === 1) throw new Error('not yet');
      },
    });

    await q.work({ report });
    expect(await q.operator.retry('hourly@2026-03-28T13:00:00.000Z')).toMatchObject({ kind: 'retried' });
    await q.work({ report });

    const [thirteen, fourteen] = [new Date(at(13)), new Date(at(14))];
    expect(seen).toEqual([
      { name: 'hourly', at: thirteen, since: undefined },
      { name: 'hourly', at: fourteen, since: thirteen },
      { name: 'hourly', at: thirteen, since: undefined },
    ]);
  });

  describe('with overlap', () => {
    test('queue, the default: the next waits until the last has ended, a retry and children included', async () => {
      const order: string[] = [];
      await define();
      clock.step(3 * HOUR);
      expect(await tick()).toBe(3);
      const report = defineTask({
        name: 'report',
        retry: { backoff: 1 },
        run(_: unknown, task) {
          const { schedule, attempt, children } = task;
          const hour = schedule?.at.getUTCHours();
          order.push(`${hour}: ${attempt}${children === undefined ? '' : ' again'}`);
          if (hour === 13 && attempt === 1) throw new Error('once more');
          if (hour === 14 && children === undefined) return task.waitFor([spawn('child', null)]);
          return undefined;
        },
      });
      const child = defineTask({ name: 'child', run: () => void order.push('child') });

      await q.work({ report, child }, { concurrency: 4 });

      expect(order).toEqual(['13: 1', '13: 2', '14: 1', 'child', '14: 1 again', '15: 1']);
    });

    test('queue: a retried task waits for the running one', async () => {
      await define();
      clock.step(2 * HOUR);
      await tick();
      const dying = await claim(13);
      const error = { name: 'Error', message: 'no', at: 1 };
      await q.tasks.discard(claimOf(dying), error, stampOf(systemRuntime));
      const running = await claim(14);
      await q.operator.retry(dying.id);

      expect([(await occurrence(13))?.state, await isHeld(13)]).toEqual(['ready', true]);
      await complete(running);
      expect([(await occurrence(13))?.state, await isHeld(13)]).toEqual(['ready', false]);
    });

    test('skip: leaves an occurrence out while the last task has not ended, and records it', async () => {
      await define({ overlap: 'skip' });
      clock.step(HOUR);
      expect(await tick()).toBe(1);
      const running = await claim(13);
      clock.step(HOUR);
      expect(await tick()).toBe(0);
      await complete(running);
      clock.step(HOUR);
      expect(await tick()).toBe(1);

      expect(await occurrence(14)).toBeUndefined();
      expect((await occurrence(15))?.schedule).toMatchObject({ since: at(13) });
      expect((await client.get('hourly'))?.leftOut).toEqual([{ at: at(14), why: 'overlap' }]);
    });

    test('skip: a retried task counts as well', async () => {
      await define({ overlap: 'skip' });
      clock.step(HOUR);
      await tick();
      await q.operator.cancel('hourly@2026-03-28T13:00:00.000Z');
      clock.step(HOUR);
      await tick();
      const running = await claim(14);
      await q.operator.retry('hourly@2026-03-28T13:00:00.000Z');
      expect(await isHeld(13)).toBe(true);
      await complete(running);
      clock.step(HOUR);

      expect(await tick()).toBe(0);
    });

    test('replace: asks the running task to stop, cancels waiting ones, and begins the new one afterwards', async () => {
      await define({ overlap: 'replace' });
      clock.step(HOUR);
      await tick();
      const running = await claim(13);
      clock.step(2 * HOUR);
      expect(await tick()).toBe(2);

      expect(await occurrence(13)).toMatchObject({
        state: 'running',
        cancellation: { reason: 'replaced by hourly@2026-03-28T14:00:00.000Z' },
      });
      expect(await occurrence(14)).toMatchObject({ state: 'cancelled' });
      expect([(await occurrence(15))?.state, await isHeld(15)]).toEqual(['ready', true]);
      await q.tasks.giveUp(claimOf(running), 'replaced', stampOf(systemRuntime));
      await q.tasks.passTurn((await occurrence(14)) as CancelledTask, stampOf(systemRuntime));
      expect([(await occurrence(15))?.state, await isHeld(15)]).toEqual(['ready', false]);
    });

    test('replace: one whose session has ended is cancelled, and its place goes to the new one', async () => {
      await define({ overlap: 'replace' });
      clock.step(HOUR);
      await tick();
      const session = await q.session();
      await q.tasks.claim((await occurrence(13)) as ReadyTask, session.id, stampOf(systemRuntime));
      await session.end();
      clock.step(HOUR);
      await tick();

      expect(await occurrence(13)).toMatchObject({ state: 'cancelled' });
      expect([(await occurrence(14))?.state, await isHeld(14)]).toEqual(['ready', false]);
    });

    test('replace: a dispatcher that read before another made the occurrence does not stop the new task', async () => {
      await define({ overlap: 'replace' });
      clock.step(HOUR);
      const late = await schedules.get({ queue: q.queue, name: 'hourly' });
      expect(await tick()).toBe(1);

      const stale = { ...schedules, due: () => Promise.resolve([late as Awaited<ReturnType<typeof client.define>>]) };
      expect(await enqueueDueOccurrences(q.queue, { schedules: stale, runtime }, () => {})).toBe(0);

      expect(await occurrence(13)).toMatchObject({ state: 'ready', cancellation: undefined });
    });

    test('allow: they run side by side', async () => {
      await define({ overlap: 'allow' });
      clock.step(2 * HOUR);
      await tick();

      await claim(13);
      expect(await claim(14)).toMatchObject({ state: 'running' });
    });

    test.each(['queue', 'skip', 'replace', 'allow'] as const)(
      '%s: tasks of a key keep to its limit as well',
      async (overlap) => {
        await define({ overlap, key: 'warehouse', limit: 2 });
        clock.step(HOUR);
        await tick();

        const { links } = (await occurrence(13)) ?? {};
        expect(links?.concurrency).toMatchObject({ key: 'warehouse', limit: 2 });
        expect(links?.line?.key).toBe(overlap === 'allow' ? undefined : 'schedule/hourly');
        await complete(await claim(13));
        expect(await occurrence(13)).toMatchObject({ state: 'done' });
      },
    );

    test('queue: ordered tasks stand in the line of their own key', async () => {
      await define({ key: 'ledger', ordered: true });
      clock.step(HOUR);
      await tick();

      expect((await occurrence(13))?.links?.line?.key).toBe('ledger');
    });

    test.each([
      ['ordered tasks and skip', { key: 'k', ordered: true, overlap: 'skip' }, 'ordered tasks wait for each other'],
      ['an unknown policy', { overlap: 'twice' }, 'must be one of queue, skip, replace, allow'],
      ['a limit without a key', { limit: 2 }, 'limit and rate require a key'],
      ['an option of one task', { delay: '1s' }, 'unknown option "delay"'],
      ['an end before its start', { startAt: 2e12, endAt: 1.9e12 }, 'no occurrence from startAt'],
      ['a jitter of two days', { jitter: '2d' }, 'at most a day'],
    ] as const)('%s are refused, with the reason', async (_what, options, message) => {
      const defining = define(options as Partial<ScheduleOptions>);
      await expect(defining).rejects.toThrow(ConfigurationError);
      await expect(defining).rejects.toThrow(message);
    });
  });

  describe('asked for by hand', () => {
    test('is an occurrence of now: it waits its turn, covers what came since, and the next occurrence covers what comes then', async () => {
      await define();
      clock.step(HOUR);
      await tick();
      clock.step(HOUR / 2);
      const now = clock.now();
      const report = await client.run('hourly');
      clock.step(HOUR / 2);
      await tick();

      if (report.kind !== 'enqueued') throw new Error(`it was ${report.kind}`);
      const made = await q.tasks.get(report.task);
      expect(await waitsInLine(q.tasks, made)).toBe(true);
      expect(made).toMatchObject({
        readyAt: now,
        schedule: { name: 'hourly', at: now, since: at(13) },
      });
      expect((await occurrence(14))?.schedule).toMatchObject({ at: at(14), since: now });
    });

    test('covers no time twice: missed occurrences that follow it have an empty interval', async () => {
      await define();
      clock.step(2 * HOUR + 1);
      await client.run('hourly');
      await tick();

      expect((await occurrence(13))?.schedule).toEqual({ name: 'hourly', at: at(13), since: at(13) });
      expect((await client.get('hourly'))?.lastAt).toBe(at(14) + 1);
    });

    test('skips a run while one has not ended, and reports a missing schedule', async () => {
      await define({ overlap: 'skip' });
      clock.step(HOUR);
      await tick();

      expect(await client.run('hourly')).toEqual({ kind: 'skipped' });
      expect(await client.run('other')).toEqual({ kind: 'missing' });
    });
  });

  describe('while it is paused', () => {
    test('leaves out occurrences that pass, and continues with the next; stays paused when defined again', async () => {
      await define();
      expect(await client.pause('hourly')).toMatchObject({ pausedAt: clock.now(), nextAt: Infinity });
      clock.step(2 * HOUR);
      await define({ priority: 'low' });
      expect(await tick()).toBe(0);
      clock.step(HOUR / 2);

      expect(await client.resume('hourly')).toMatchObject({ pausedAt: undefined, nextAt: at(15) });
      expect(await tick()).toBe(0);
      clock.step(HOUR / 2);
      expect(await tick()).toBe(1);
      expect(await occurrence(15)).toMatchObject({ priority: 'low' });
    });

    test('creates a manually requested task, and stays paused', async () => {
      await define();
      await client.pause('hourly');

      expect(await client.run('hourly')).toMatchObject({ kind: 'enqueued' });
      expect(await client.get('hourly')).toMatchObject({ nextAt: Infinity });
      clock.step(HOUR);
      expect(await tick()).toBe(0);
    });
  });

  test('come only from startAt on and before endAt', async () => {
    await define({ startAt: at(14), endAt: at(16) });
    clock.step(5 * HOUR);

    expect(await tick()).toBe(2);
    expect([await occurrence(13), await occurrence(16)]).toEqual([undefined, undefined]);
    expect(await client.get('hourly')).toMatchObject({ nextAt: Infinity });
    // A deployment defines it each time, also when it is over.
    expect(await define({ startAt: at(14), endAt: at(16) })).toMatchObject({ nextAt: Infinity });
  });

  test('are due within the jitter after their occurrence, at a fixed offset for each schedule', async () => {
    const names = Array.from({ length: 20 }, (_, nth) => `s${nth}`);
    for (const name of names) await client.define(name, 'report', null, { cron: '0 * * * *', jitter: '10m' });
    clock.step(HOUR);
    await tick();

    const rows = await Promise.all(
      names.map((name) => q.tasks.get({ queue: q.queue, id: `${name}@2026-03-28T13:00:00.000Z` })),
    );
    const due = rows.map((row) => (row as ReadyTask).readyAt - at(13));
    expect(due.filter((ms) => ms < 0 || ms >= 600_000)).toEqual([]);
    expect(new Set(due).size).toBeGreaterThan(15);
    expect(rows[0]?.schedule?.at).toBe(at(13));
  });

  test('units: define 3; an occurrence is one transaction; and a tick with nothing due reads half a unit', async () => {
    const overlap = 'queue';
    const { sender, meter } = open().openSender();
    const store = createScheduleStore(sender, { table: open().table, shards: 2 });
    await new ScheduleClient({ schedules: store, runtime }, { queue: q.queue }).define(
      's',
      'report',
      {},
      { cron: '0 * * * *', overlap },
    );
    await enqueueDueOccurrences(q.queue, { schedules: store, runtime }, () => {});
    expect(meter.read().byVerb['schedule.due']).toMatchObject({ requests: 1, readUnits: 0.5 });
    clock.step(HOUR);
    await enqueueDueOccurrences(q.queue, { schedules: store, runtime }, () => {});

    const { byVerb } = meter.read();
    expect(byVerb['schedule.put']?.writeUnits).toBe(3);
    expect(byVerb['schedule.make']).toMatchObject({ requests: 1 });
    expect(byVerb['line.get']).toMatchObject({ requests: 1 });
  });
});
