import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { createStores } from '../../shared/client/stores.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { Json } from '../../shared/tasks/task/task.ts';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { announceNames, closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('leasehold enqueue', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, 'enqueue', ...argv);

  /** Completes the task like a worker. */
  async function finish(id: string, result: Json): Promise<void> {
    const { tasks, claim } = await begin(id);
    if (claim.kind === 'applied') await tasks.complete(claim.row, result, stampOf(systemRuntime));
  }

  async function begin(id: string) {
    const stores = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    const sender = new Sender({ ...stores, runtime: systemRuntime });
    const tasks = createTaskStore(sender, { table: table.table, shards: 1 });
    const task = await tasks.get({ queue: 'default', id });
    if (task?.state !== 'ready') throw new Error('it is not there yet');
    return { tasks, claim: await tasks.claim(task, 'session', stampOf(systemRuntime)) };
  }

  test('puts tasks into the given number of shards', async () => {
    const ids = Array.from({ length: 4 }, (_, n) => `narrow ${n}`);
    for (const id of ids) await run('fine', '1', '--id', id, '--queue', 'narrow', '--shards', '1');

    const { sender } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    const { tasks } = createStores(sender, { table: table.table, shards: 1 });
    const partition = { queue: 'narrow', priority: 'normal', shard: 0 } as const;
    const { hints } = await tasks.page(partition, {
      now: Date.now(),
      limit: 10,
      after: undefined,
      onDamaged: () => expect.fail(),
    });
    expect(hints.map(({ id }) => id).sort()).toEqual(ids);
  });

  test('waits for its task if asked, and prints the result', async () => {
    const waiting = run('fine', '1', '--id', 'waited', '--wait', '60s');
    await vi.waitFor(() => finish('waited', { bytes: 7 }), { timeout: 300_000, interval: 100 });

    expect(await waiting).toMatchObject({ exitCode: 0, out: '{"bytes":7}\n', err: 'added waited\n' });
    const late = await run('fine', '1', '--delay', '1h', '--wait', '0s', '--json');
    expect(late.exitCode).toBe(1);
    expect(JSON.parse(late.out)).toMatchObject({ outcome: 'deadline', state: 'ready' });
    expect(await run('--file', '-', '--wait', '1s')).toMatchObject({ exitCode: 2 });
  });

  test('adds work that follows a running task, and the task shows it', async () => {
    await run('fine', '1', '--id', 'busy');
    await begin('busy');
    const before = await runCommand(table, 'tasks', 'show', 'busy');

    await run('publish', '2', '--id', 'busy', '--on-duplicate', 'replace');

    const after = await runCommand(table, 'tasks', 'show', 'busy');
    expect(before.out).not.toContain('followed by');
    expect(after.out).toMatch(/^followed by +publish, asked for 2.* ago\)?$/m);
  });

  test.each(['--delay', '--expires', '--window', '--wait'])(
    'refuses a span without its unit: %s 10',
    async (option) => {
      const end = await run('fine', '1', option, '10');

      expect(end).toMatchObject({ exitCode: 2, out: '' });
      expect(end.err).toContain('10s');
    },
  );

  test('refuses a name that no worker has announced, unless forced', async () => {
    expect(await run('gret', '1', '--queue', 'silent', '--id', 'a')).toMatchObject({ exitCode: 0, err: '' });
    await announceNames(table, 'told', ['greet', 'resize']);

    const end = await run('gret', '1', '--queue', 'told', '--id', 'a');
    const forced = await run('gret', '1', '--queue', 'told', '--id', 'a', '--force');
    const forPrograms = await run('publish', '1', '--queue', 'told', '--id', 'd', '--json', '--force');

    const note = 'no worker of queue told defines a task named';
    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain(`${note} gret; did you mean greet? To add it anyway, pass --force`);
    expect(forced).toMatchObject({ exitCode: 0, out: 'added a\n', err: `${note} gret; did you mean greet?\n` });
    expect(forPrograms).toMatchObject({ exitCode: 0, err: '' });
    expect(await run('greet', '1', '--queue', 'told', '--id', 'c')).toMatchObject({ exitCode: 0, err: '' });
  });

  test('only notes a name that no worker has announced, if they have more than they announce', async () => {
    await announceNames(table, 'cut', ['greet', '']);

    const end = await run('publish', '1', '--queue', 'cut', '--id', 'b');

    const err = 'workers of queue cut announce 1 of their names, and publish is not among these\n';
    expect(end).toMatchObject({ exitCode: 0, out: 'added b\n', err });
  });

  test.each(['1e400', '{"sum": [-1e999]}'])('refuses %s, which could not be stored', async (input) => {
    const end = await run('fine', input);

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain('a number in it is too large');
  });
});
