import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import { runCommand, startCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { openLine } from '../support/line-to-engine.ts';

const endpoint = inject('embeddedEndpoint');
const ENTRY = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));
const SURROUNDED = fileURLToPath(new URL('../support/tasks-modules/surrounded.ts', import.meta.url));
const PATIENCE = { timeout: 300_000, interval: 50 };

describe.skipIf(endpoint === null)('leasehold work', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, ...argv);

  test('runs all waiting tasks, then exits', async () => {
    for (const n of [1, 2, 3]) await run('enqueue', 'fine', JSON.stringify({ n }), '--queue', 'drained');

    const end = await run('work', '--entry', ENTRY, '--queue', 'drained', '--until-drained', '--json');

    expect(end).toMatchObject({ exitCode: 0 });
    expect(JSON.parse(end.out)).toEqual({ done: 3, retried: 0, dead: 0, other: 0 });
  });

  test('runs a module with its exported middleware, and prints settled tasks as well as its events', async () => {
    await run('enqueue', 'greet', '"Ada"', '--queue', 'surrounded', '--id', 'ada');

    const end = await run('work', '--entry', SURROUNDED, '--queue', 'surrounded', '--until-drained');

    expect(end).toMatchObject({ exitCode: 0 });
    expect(end.err).toContain('done ada (greet, attempt 1)');
    expect(await table.leasehold.tasks.get('ada', 'surrounded')).toMatchObject({ result: '<hello Ada>' });
  });

  test('defines the schedules that the module exports, in the queue that it serves', async () => {
    const end = await run('work', '--entry', SURROUNDED, '--queue', 'recurring', '--until-drained');

    expect(end).toMatchObject({ exitCode: 0 });
    expect(await Array.fromAsync(schedulesOf(table.leasehold).list({ queue: 'recurring' }))).toMatchObject([
      { name: 'yearly', task: 'greet', input: 'Ada', cron: '0 3 1 1 *', zone: 'Europe/Berlin' },
    ]);
  });

  test('announces the names of its tasks, so that enqueue can refuse an unknown name', async () => {
    await run('work', '--entry', ENTRY, '--queue', 'announced', '--until-drained');

    const end = await run('enqueue', 'fin', '1', '--queue', 'announced', '--id', 'a');
    const known = await run('enqueue', 'fine', '1', '--queue', 'announced', '--id', 'b');

    const refusal =
      'error: no worker of queue announced defines a task named fin; did you mean fine? To add it anyway, pass --force';
    expect(end).toMatchObject({ exitCode: 2, out: '', err: `${refusal}\n` });
    expect(known).toMatchObject({ exitCode: 0, err: '' });
  });

  test.each([
    ['exits.well', /in the code of task a \(exits\.well\); at work: task a \(exits\.well\)/],
    ['rejects', /at work: task a \(rejects\)[^]*nobody waits for this/],
  ])('fails, and names the task at work, when the code of %s ends the process', async (name, said) => {
    const queue = `ended-${name}`;
    await run('enqueue', name, 'null', '--queue', queue, '--id', 'a');
    await run('enqueue', 'fine', '{"n": 1}', '--queue', queue, '--id', 'b');

    const end = await startCommand(table, 'work', '--entry', ENTRY, '--queue', queue, '--until-drained').ended;

    expect(end.exitCode).toBe(1);
    expect(end.err).toMatch(said);
  });

  test('exits with a failure if tasks died', async () => {
    await run('enqueue', 'gave.up', '--queue', 'deadly');
    await table.leasehold.tasks.enqueue('fine', { n: 0 }, { queue: 'deadly' });
    await table.leasehold.tasks.enqueue('fine', { n: 'text' }, { queue: 'deadly' });

    const end = await run('work', '--entry', ENTRY, '--queue', 'deadly', '--until-drained', '--json');

    expect(end).toMatchObject({ exitCode: 1, err: '' });
    expect(JSON.parse(end.out)).toEqual({ done: 1, retried: 0, dead: 2, other: 0 });
  });

  test('outlives an outage of the store', async () => {
    await using line = await openLine(table.endpoint);
    const through = { ...table, endpoint: line.endpoint };
    const working = startCommand(through, 'work', '--entry', ENTRY, '--queue', 'outage');
    await run('enqueue', 'fine', '{"n": 1}', '--queue', 'outage', '--id', 'before');
    await vi.waitFor(() => {
      expect(working.err()).toContain('done before');
    }, PATIENCE);

    await line.cut();
    await vi.waitFor(() => {
      expect(working.err()).toContain('store unavailable, retrying');
    }, PATIENCE);
    await line.join();
    await run('enqueue', 'fine', '{"n": 1}', '--queue', 'outage', '--id', 'after');
    await vi.waitFor(() => {
      expect(working.err()).toContain('done after');
    }, PATIENCE);
    working.process.kill('SIGINT');

    expect(await working.ended).toMatchObject({ exitCode: 0 });
    await line.cut();
    expect(await runCommand(through, 'work', '--entry', ENTRY)).toMatchObject({ exitCode: 3 });
  });

  test.each(['SIGINT', 'SIGHUP'] as const)('continues until %s, and hands back its running tasks', async (signal) => {
    const queue = ['--queue', `until ${signal}`];
    const working = startCommand(table, 'work', '--entry', ENTRY, ...queue);
    await run('enqueue', 'fine', '{"n": 1}', '--id', 'first', ...queue);
    await vi.waitFor(() => {
      expect(working.err()).toContain('done first');
    }, PATIENCE);
    // A minute of work, so that a poll on a busy machine cannot miss it.
    await run('enqueue', 'long', '600', '--id', 'second', ...queue);
    const show = async () => JSON.parse((await run('tasks', 'show', 'second', '--json', ...queue)).out) as object;
    await vi.waitFor(async () => {
      expect(await show()).toMatchObject({ state: 'running' });
    }, PATIENCE);
    working.process.kill(signal);

    expect(await working.ended).toMatchObject({ exitCode: 0, out: '1 done, 0 retried, 0 dead\n' });
    expect(await show()).toMatchObject({ state: 'ready', attempts: 0 });
  });

  test('exits when asked, even if task code left timers or listeners behind', async () => {
    const queue = ['--queue', 'littered'];
    await run('enqueue', 'litters', '{}', '--id', 'litter', ...queue);
    const working = startCommand(table, 'work', '--entry', ENTRY, ...queue);
    await working.said(/done litter/);

    working.process.kill('SIGTERM');

    expect(await working.ended).toMatchObject({ exitCode: 0, out: '1 done, 0 retried, 0 dead\n' });
  });

  test('is counted as a worker, though it takes no permit', async () => {
    const queue = ['--queue', 'by hand'];
    const workers = [1, 2].map(() => startCommand(table, 'work', '--entry', ENTRY, ...queue));
    const stats = async () => JSON.parse((await run('queues', 'stats', 'by hand', '--json')).out) as object;

    await vi.waitFor(async () => {
      expect(await stats()).toMatchObject({ workers: { live: 2, permits: 0, limit: 0 } });
    }, PATIENCE);
    expect((await run('queues', 'stats', 'by hand')).out).toMatch(/^workers +2$/m);
    const listed = JSON.parse((await run('queues', 'list', '--json')).out) as { readonly queue: string }[];
    expect(listed.filter(({ queue: each }) => each === 'by hand')).toMatchObject([{ workers: { live: 2 } }]);
    for (const { process } of workers) process.kill('SIGTERM');
    await Promise.all(workers.map(({ ended }) => ended));

    // It never had a task, but its workers have announced their names in its row.
    expect((await run('queues', 'stats', 'by hand')).out).toMatch(/^workers +0$/m);
  });

  test('goes on when the reader of its notes has gone', async () => {
    for (const n of [1, 2, 3]) await run('enqueue', 'fine', JSON.stringify({ n }), '--queue', 'unwatched');
    const working = startCommand(table, 'work', '--entry', ENTRY, '--queue', 'unwatched', '--until-drained');
    working.process.stderr?.destroy();

    expect(await working.ended).toMatchObject({ exitCode: 0, out: '3 done, 0 retried, 0 dead\n' });
  });
});
