/** Parked tasks: the command, doctor and the console count them alike, next to due tasks. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Overview } from '../model.ts';
import type { Finding } from '../../cli/doctor/finding.ts';
import { judgeParked } from '../../cli/doctor/parked.ts';
import type { TaskAndPackStore } from '../../shared/tasks/bulk/pack-store.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { runCommand } from '../../test/support/command.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';
import type { ConsoleVisitor } from './support/console.ts';
import { CONSOLE_SHARDS, enter, newsOf, openConsole } from './support/console.ts';
import { stamp } from '../../test/support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const HOUR_MS = 3_600_000;

async function firstNews(visitor: ConsoleVisitor): Promise<Overview> {
  for await (const overview of newsOf(visitor)) return overview;
  throw new Error('the feed ended without news');
}

describe.skipIf(endpoint === null)('parked tasks', () => {
  let table: CommandTable;
  let tasks: TaskAndPackStore;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
    const { sender } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    tasks = createTaskStore(sender, { table: table.table, shards: CONSOLE_SHARDS });
    const client = new TaskClient({ store: tasks, runtime: systemRuntime }, { queue: 'media' });
    const read = async (id: string) => (await tasks.get({ queue: 'media', id })) as ReadyTask;
    for (const id of ['a', 'b', 'c', 'd']) await client.enqueue('work', {}, { id, key: 'one', limit: 1 });
    await tasks.claim(await read('a'), 'somebody', stamp());
    const waiting = await Promise.all(['b', 'c'].map(read));
    await tasks.parking.park(
      waiting.map((task) => ({ task, write: stamp() })),
      'one',
    );
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('are counted apart from due tasks, by the command and the console', async () => {
    const { out } = await runCommand(table, 'queues', 'stats', 'media', '--json');
    const running = await openConsole(table, { queues: ['media'] });
    await using _console = { [Symbol.asyncDispose]: () => running.close() };
    const { queues } = await firstNews(await enter(running));
    const figures = queues.find(({ queue }) => queue === 'media');

    expect(JSON.parse(out)).toMatchObject({ parked: 2, due: { high: 0, normal: 2, low: 0 } });
    expect(figures).toMatchObject({ parked: { count: 2, isMore: false }, due: { high: 0, normal: 2, low: 0 } });
    expect(figures?.parked.oldestAgeMs).toBeGreaterThanOrEqual(0);
  });

  test('keep a queue from being called drained', async () => {
    const drain = await runCommand(table, 'queues', 'drain', 'media', '--timeout', '1ms');

    expect(drain).toMatchObject({ exitCode: 1, err: expect.stringContaining('4 tasks due or running') as string });
  });

  test('are reported by doctor, with a warning once the oldest has waited for an hour', async () => {
    const { out } = await runCommand(table, 'doctor', '--queue', 'media', '--json');
    const { findings } = JSON.parse(out) as { readonly findings: readonly Finding[] };
    const found = expect.stringMatching(/^2 tasks wait for places of their keys/) as string;
    expect(findings.find(({ check }) => check === 'parked in media')).toMatchObject({ health: 'ok', found });

    const later = { now: () => systemRuntime.clock.now() + HOUR_MS };

    const remedy = expect.stringContaining('limit or rate') as string;
    expect(await judgeParked({ queue: 'media', store: tasks }, later)).toMatchObject({
      health: 'warning',
      found,
      remedy,
    });
  });
});
