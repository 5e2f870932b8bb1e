/** Commands for tasks that need a separate process: streams, interruptions, and tasks that run at the same time. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand, startCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const HOSTILE = fileURLToPath(new URL('../support/tasks-modules/hostile.ts', import.meta.url));

describe.skipIf(endpoint === null)('leasehold enqueue, tasks and queues, in separate processes', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, ...argv);

  test('reads standard input', async () => {
    const command = startCommand(table, 'enqueue', '--file', '-', '--queue', 'piped');
    command.process.stdin?.end(
      '{"name": "fine", "id": "p1"}\n{"name": "fine", "id": "p2"}\n{"name": "fine", "id": "p1"}\n',
    );

    expect(await command.ended).toMatchObject({
      exitCode: 0,
      out: '2 added, 1 existed already, 0 replaced, 0 refused\n',
    });
  });

  test('waits for running tasks of a paused queue, and leaves its waiting tasks', async () => {
    const queue = ['--queue', 'stopping'];
    // For longer than it takes to see that a queue is at rest.
    await run('enqueue', 'long', '120', '--id', 'runs', ...queue);
    const running = startCommand(table, 'tasks', 'run', 'runs', '--entry', HOSTILE, ...queue);
    const stateOf = async () => (await table.leasehold.tasks.get('runs', 'stopping'))?.state;
    await expect.poll(stateOf).toBe('running');
    await run('enqueue', 'fine', '--id', 'waits', ...queue);
    await run('queues', 'pause', 'stopping', '--reason', 'maintenance');

    expect(await run('queues', 'drain', 'stopping')).toMatchObject({
      exitCode: 0,
      out: 'queue stopping is paused: of 1 task due none runs\n',
    });

    expect(await stateOf()).toBe('done');
    expect(await running.ended).toMatchObject({ exitCode: 0 });
    // Sooner than workers are sure to have seen the pause.
    expect(await run('queues', 'drain', 'stopping', '--timeout', '2s')).toMatchObject({ exitCode: 1, out: '' });
  });

  test('shows a queue until it is interrupted', async () => {
    await run('enqueue', 'fine', '--queue', 'draining');
    const watcher = startCommand(table, 'watch', '--queue', 'draining', '--every', '100ms', '--json');
    await expect.poll(() => watcher.out().split('\n').length).toBeGreaterThan(2);

    watcher.process.kill('SIGINT');

    const end = await watcher.ended;
    expect(end.exitCode).toBe(0);
    expect(JSON.parse(end.out.split('\n')[0] ?? '')).toMatchObject({ queue: 'draining', due: { normal: 1 } });
  });
});
