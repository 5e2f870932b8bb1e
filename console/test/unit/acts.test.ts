/** Operator actions through the console: with the observed state and a reason, recorded, or not at all. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import type { Overview } from '../../model.ts';
import type { RunningConsole } from '../../server/server.ts';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { createTaskStore } from '../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { ReadyTask } from '../../../shared/tasks/task/task.ts';
import type { TaskStore } from '../../../shared/tasks/task/task-store.ts';
import type { CommandTable } from '../../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../../test/support/command-table.ts';
import type { ConsoleVisitor } from '../support/console.ts';
import { CONSOLE_SHARDS, enter, newsOf, openConsole } from '../support/console.ts';
import { SOON_TOLD } from '../../../test/support/patient.ts';
import { claimed, enqueued, stamp } from '../../../test/support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const reason = 'a drill';

describe.skipIf(endpoint === null)('acts of the console', () => {
  let table: CommandTable;
  let running: RunningConsole;
  let visitor: ConsoleVisitor;
  let tasks: TaskStore;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    running = await openConsole(table);
    visitor = await enter(running);
    const { sender } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    tasks = createTaskStore(sender, { table: table.table, shards: CONSOLE_SHARDS });
  });
  afterAll(async () => {
    await running.close();
    closeCommandTable(table);
  });

  async function perform(act: object): Promise<{ status: number; kind?: string; message?: string; error?: string }> {
    const response = await visitor.act(act);
    return { status: response.status, ...((await response.json()) as object) };
  }

  async function acts(): Promise<
    readonly { verb: string; target: string; outcome: string; by: string; reason: string }[]
  > {
    const page = (await (await visitor.get('api/audit')).json()) as { acts: [] };
    return page.acts;
  }

  test('refuses an action that is too large, with a reason', async () => {
    const large = { verb: 'lock.release', key: 'reports/nightly', leaseCounter: 1, reason: 'a'.repeat(50_000) };

    expect(await perform(large)).toEqual({ status: 413, error: 'an act has at most 40960 bytes: nothing was done' });
  });

  test('shows where a task failed', async () => {
    const task = await enqueued(tasks, { id: 'failing' });
    const claimed = await tasks.claim(task, 'a session', stamp());
    if (claimed.kind !== 'applied') throw new Error('it should be claimed');
    await tasks.discard(claimed.row, { name: 'TypeError', message: 'x is not a function', at: 1 }, stamp());
    await tasks.keepFailure(claimed.row, 'TypeError: x is not a function\n    at resize (tasks.ts:7:3)', stamp());

    const view = (await (await visitor.get(`api/task?queue=${task.queue}&id=failing`)).json()) as object;

    expect(view).toMatchObject({ failure: { stack: expect.stringContaining('at resize') as string } });
  });

  test('takes a lock away with the counter that was seen, and leaves another tenure alone', async () => {
    await using session = await table.leasehold.session(SOON_TOLD);
    const lock = await session.lock('reports/nightly');
    const act = { verb: 'lock.release', key: 'reports/nightly', reason };

    const wrong = await perform({ ...act, leaseCounter: lock.fencingToken - 1 });
    expect(wrong).toMatchObject({ status: 409, kind: 'refused' });
    expect(wrong.message).toContain(`it is held with token ${lock.fencingToken}`);
    expect((await table.leasehold.locks.get('reports/nightly'))?.holder?.session).toBe(session.id);

    expect(await perform({ ...act, leaseCounter: lock.fencingToken })).toMatchObject({ status: 200, kind: 'done' });
    expect((await table.leasehold.locks.get('reports/nightly'))?.holder).toBeUndefined();
    await expect.poll(() => lock.signal.aborted).toBe(true);
    expect((await acts()).slice(0, 2)).toMatchObject([
      {
        verb: 'lock.release',
        target: `reports/nightly ${lock.fencingToken}`,
        by: 'ann@desk',
        reason,
        outcome: 'released',
      },
      { verb: 'lock.release', target: `reports/nightly ${lock.fencingToken - 1}`, outcome: 'superseded' },
    ]);
  });

  test('evicts the permit whose token was seen, and no other', async () => {
    await using session = await table.leasehold.session(SOON_TOLD);
    const permit = await session.permit('uploads', { limit: 3 });
    const act = { verb: 'semaphore.evict', name: 'uploads', reason };

    expect(await perform({ ...act, leaseCounter: permit.fencingToken + 1 })).toMatchObject({ status: 409 });
    expect(await perform({ ...act, leaseCounter: permit.fencingToken })).toMatchObject({ status: 200 });

    const state = await table.leasehold.semaphores.get('uploads');
    expect(state?.lastEviction).toMatchObject({ by: 'ann@desk', reason, token: permit.fencingToken });
  });

  test('ends a session once', async () => {
    await using session = await table.leasehold.session(SOON_TOLD);
    const act = { verb: 'session.destroy', id: session.id, reason };

    expect(await perform(act)).toMatchObject({ status: 200 });
    expect(await perform(act)).toMatchObject({ status: 409, kind: 'refused' });
    expect(await table.leasehold.sessions.get(session.id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
  });

  test('pauses a queue and resumes it', async () => {
    expect(await perform({ verb: 'queue.pause', queue: 'media', reason })).toMatchObject({ status: 200 });
    expect(await perform({ verb: 'queue.resume', queue: 'media', reason: 'over' })).toMatchObject({
      message: 'queue media is active',
    });
  });

  test('pauses a tenant, counts its tasks, cancels them, and resumes it', async () => {
    for (const id of ['one', 'two', 'three']) await enqueued(tasks, { queue: 'shop', id, tenant: 'acme' });
    const other = await enqueued(tasks, { queue: 'shop', id: 'other', tenant: 'zoo' });
    await using session = await table.leasehold.session();
    await tasks.claim((await tasks.get({ queue: 'shop', id: 'one' })) as ReadyTask, session.id, stamp());
    const act = { queue: 'shop', tenant: 'acme', reason };

    expect(await perform({ ...act, verb: 'queue.pause' })).toMatchObject({
      message: 'tenant acme of queue shop is paused: what runs goes on to its end',
    });
    const counted = await visitor.get('api/selected?queue=shop&tenant=acme');
    expect(await counted.json()).toEqual({ waiting: 2, running: 1, isMore: false });
    expect(await perform({ ...act, verb: 'queue.cancel' })).toMatchObject({
      message: 'cancelled 2 waiting tasks of tenant acme in queue shop; 1 run, and are told by their next heartbeats',
    });
    expect(await perform({ ...act, tenant: 'nobody', verb: 'queue.cancel' })).toMatchObject({
      status: 409,
      message: 'queue shop has no unfinished task of tenant nobody: nothing was done',
    });
    expect(await tasks.get(other)).toMatchObject({ state: 'ready' });
    expect((await acts())[1]).toMatchObject({ verb: 'queue.cancel', target: 'shop/* tenant acme' });
    expect(await perform({ ...act, verb: 'queue.resume' })).toMatchObject({
      message: 'tenant acme of queue shop is active',
    });
  });

  test('runs a schedule now, pauses it and resumes it', async () => {
    const key = { queue: 'default', name: 'by hand', reason };
    await schedulesOf(table.leasehold).define(key.name, 'report', null, { cron: '0 0 1 1 *', overlap: 'skip' });

    expect(await perform({ ...key, verb: 'schedule.run' })).toMatchObject({ status: 200 });
    expect(await perform({ ...key, verb: 'schedule.run' })).toMatchObject({ status: 409 });
    expect(await perform({ ...key, verb: 'schedule.pause' })).toMatchObject({ status: 200 });
    expect(await schedulesOf(table.leasehold).get(key.name)).toMatchObject({ nextAt: Infinity });
    expect(await perform({ ...key, verb: 'schedule.resume' })).toMatchObject({
      message: 'schedule by hand is active',
    });
    await schedulesOf(table.leasehold).remove(key.name);
    expect(await perform({ ...key, verb: 'schedule.pause' })).toMatchObject({ status: 409 });
  });

  test('cancels a task that has not been claimed since, and brings it back', async () => {
    const { queue, id, leaseCounter } = await enqueued(tasks, { queue: 'default' });
    const key = { queue, id, reason };

    expect(await perform({ ...key, verb: 'task.cancel', leaseCounter: leaseCounter + 1 })).toMatchObject({
      status: 409,
    });
    expect(await tasks.get({ queue, id })).toMatchObject({ state: 'ready' });
    expect(await perform({ ...key, verb: 'task.cancel', leaseCounter })).toMatchObject({ status: 200 });
    expect(await tasks.get({ queue, id })).toMatchObject({ state: 'cancelled', cancellation: { reason } });
    expect(await perform({ ...key, verb: 'task.run-now', leaseCounter })).toMatchObject({ status: 409 });
    expect(await perform({ ...key, verb: 'task.retry', leaseCounter })).toMatchObject({ status: 200 });
    expect(await tasks.get({ queue, id })).toMatchObject({ state: 'ready', generation: 1 });
  });

  test('makes a task due that waits for its time', async () => {
    const later = await enqueued(tasks, { queue: 'default', runAt: systemRuntime.clock.now() + 3_600_000 });
    const { queue, id, leaseCounter } = later;

    expect(await perform({ verb: 'task.run-now', queue, id, leaseCounter, reason })).toMatchObject({ status: 200 });

    const now = await tasks.get(later);
    expect(now?.state === 'ready' && now.readyAt <= systemRuntime.clock.now()).toBe(true);
  });

  test('finds ended tasks by a part of their ids and the beginning of their names', async () => {
    for (const [id, name] of [
      ['b1', 'send'],
      ['ab1', 'send'],
      ['b2', 'resend'],
    ] as const)
      await tasks.complete(await claimed(tasks, 'a session', { queue: 'ended', id, name }), null, stamp());

    const page = await visitor.get('api/finished?queue=ended&id=b&name=send&units=1000');

    expect(await page.json()).toMatchObject({ found: 2, tasks: [{ id: 'ab1' }, { id: 'b1' }] });
  });

  test('adds a task that runs later', async () => {
    const act = { verb: 'task.enqueue', queue: 'default', name: 'send', id: 'in a minute', delayMs: 60_000, reason };

    expect(await perform(act)).toMatchObject({ status: 200, id: 'in a minute' });

    const task = (await tasks.get({ queue: 'default', id: 'in a minute' })) as ReadyTask;
    expect(task.readyAt).toBeGreaterThan(task.createdAt + 30_000);
  });

  test('tells a page each reading once', async () => {
    const told: Overview[] = [];
    for await (const overview of newsOf(visitor)) if (told.push(overview) === 3) break;

    const at = told.flatMap(({ readings }) => readings.map((reading) => reading.at));
    expect(at.length).toBeGreaterThan(1);
    expect(at).toEqual([...new Set(at)].sort((one, other) => one - other));
  });

  test('polls the table while a page is open: not before, not after, and not once it is closed', async () => {
    const other = await openConsole(table);
    const watcher = await enter(other);
    const open = async (leave: AbortController) => {
      const news = newsOf(watcher, leave.signal);
      await news.next();
      return news;
    };
    expect(other.isLooking()).toBe(false);
    const leave = new AbortController();

    await open(leave);
    expect(other.isLooking()).toBe(true);
    leave.abort();
    await expect.poll(() => other.isLooking()).toBe(false);

    const stay = new AbortController();
    const staying = await open(stay);
    expect(other.isLooking()).toBe(true);
    const rest = staying.next().catch((error: unknown) => error);
    await other.close();
    expect(other.isLooking()).toBe(false);
    stay.abort();
    await rest;
  });

  test('leaves a task alone that was claimed after it was seen', async () => {
    const seen = await enqueued(tasks, { queue: 'default' });
    await using session = await table.leasehold.session();
    const claimed = await tasks.claim(seen, session.id, stamp());
    const { queue, id, leaseCounter } = seen;

    const answer = await perform({ verb: 'task.cancel', queue, id, leaseCounter, reason });

    expect(answer).toMatchObject({ status: 409, kind: 'refused' });
    expect(answer.message).toContain('has been claimed since');
    expect(await tasks.get(seen)).toMatchObject({ state: 'running', cancellation: undefined });
    expect(claimed.kind).toBe('applied');
  });

  test.each([
    ['no reason', { verb: 'queue.pause', queue: 'default' }],
    ['an empty reason', { verb: 'queue.pause', queue: 'default', reason: '' }],
    ['no counter', { verb: 'lock.release', key: 'k', reason }],
    ['a counter that is text', { verb: 'lock.release', key: 'k', leaseCounter: '1', reason }],
    ['a counter that is no whole number', { verb: 'task.cancel', queue: 'q', id: 'i', leaseCounter: 1.5, reason }],
    ['no name', { verb: 'semaphore.evict', leaseCounter: 1, reason }],
    ['nothing that is selected', { verb: 'queue.cancel', queue: 'default', reason }],
    ['an act that there is not', { verb: 'table.drop', reason }],
    ['no object', 'queue.pause'],
    ['nothing', null],
  ])('refuses %s, and writes nothing down', async (_what, act) => {
    const before = (await acts()).length;

    expect(await visitor.act(act).then(({ status }) => status)).toBe(400);
    expect(await acts()).toHaveLength(before);
  });

  test('refuses everything when it is read-only', async () => {
    const readOnly = await openConsole(table, { isReadOnly: true });
    const reader = await enter(readOnly);

    const response = await reader.act({ verb: 'queue.pause', queue: 'default', reason });

    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ error: 'this console is read-only: nothing was done' });
    expect((await reader.get('api/audit')).status).toBe(200);
    await readOnly.close();
  });
});
