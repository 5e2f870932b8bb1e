import { DeleteItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Finding } from '../../cli/doctor/finding.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { createStores } from '../../shared/client/stores.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { shardOf, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const JUST = ['--reason', 'a drill', '--by', 'ann'];
/** The indexes show what began so long ago. */
const SETTLED_MS = 60_000;

describe.skipIf(endpoint === null)('leasehold keys', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  const run = (...argv: string[]) => runCommand(table, ...argv);
  const json = async (...argv: string[]): Promise<unknown> => JSON.parse((await run(...argv, '--json')).out);
  const claim = async (queue: string, id: string, shards = 8): Promise<void> => {
    const { sender, close } = connectDynamo({ endpoint: table.endpoint }, systemRuntime);
    const { tasks } = createStores(sender, { table: table.table, shards });
    const task = await tasks.get({ queue, id });
    if (task?.state !== 'ready') throw new Error('not ready');
    const stamp = stampOf(systemRuntime);
    const { kind } = await tasks.claim({ ...task, readyAt: 0 }, 'a session', { ...stamp, now: stamp.now - SETTLED_MS });
    close();
    if (kind !== 'applied') throw new Error('refused');
  };
  const remove = async (queue: string, id: string): Promise<void> => {
    await table.client.send(
      new DeleteItemCommand({ TableName: table.table, Key: marshall({ ...taskKey(queue, id) }) }),
    );
  };
  const doctor = async (queue: string): Promise<Finding | undefined> => {
    const { findings } = (await json('doctor', '--queue', queue)) as { readonly findings: readonly Finding[] };
    return findings.find(({ check }) => check === `keys in ${queue}`);
  };

  test('shows a key, and recounts a key that has lost a slot, as the doctor advises', async () => {
    const queue = 'media';
    const options = { queue, key: 'customer-7', limit: 1, delay: new Date(1e12) };
    await table.leasehold.tasks.enqueue('resize', null, { id: 'a', ...options });
    await table.leasehold.tasks.enqueue('resize', null, { id: 'b', ...options });
    await claim(queue, 'a');
    expect((await run('keys', 'show', 'customer-7', '--queue', queue)).out).toMatch(
      /limit +1\ncount +1\nrunning +1\nwaiting +1\ndifference +none\n\nRUNNING TASK +NAME +SINCE +SESSION\na +resize +\d+s ago +a session/,
    );
    expect(await doctor(queue)).toMatchObject({
      health: 'ok',
      found: expect.stringContaining('1 compared') as unknown,
    });

    await remove(queue, 'a');

    const shown = await run('keys', 'show', 'customer-7', '--queue', queue);
    expect(shown.out).toContain(
      '1 slot taken without a running task; repair: leasehold keys recount customer-7 --queue media',
    );
    expect(await doctor(queue)).toMatchObject({
      health: 'warning',
      found: 'key customer-7 counts 1 running task, but 0 run',
      remedy: 'leasehold keys recount customer-7 --queue media',
    });
    const recount = ['keys', 'recount', 'customer-7', '--queue', queue, ...JUST];
    expect(await run(...recount)).toMatchObject({ exitCode: 2 });
    expect((await run(...recount, '--yes', 'customer-7')).out).toBe(
      'key customer-7 counts 0 running tasks now, and counted 1 before\n',
    );
    expect(await json(...recount, '--yes', 'customer-7')).toMatchObject({ kind: 'right', before: 0, after: 0 });
    expect(await json('audit')).toMatchObject([
      { verb: 'key.recount', target: 'media/customer-7', outcome: '0 was right' },
      { verb: 'key.recount', target: 'media/customer-7', by: 'ann', reason: 'a drill', outcome: '1 → 0' },
    ]);
    await claim(queue, 'b');
  });

  test('recounts the tasks in every given shard', async () => {
    const shards = 64;
    const id = Array.from({ length: shards }, (_, n) => `task-${n}`).find((each) => shardOf(each, shards) >= 8) ?? '';
    const wide = createLeasehold({ table: table.table, endpoint: table.endpoint, shards, queue: 'wide' });
    await wide.tasks.enqueue('resize', null, { id, key: 'customer-9', limit: 1, delay: new Date(1e12) });
    wide.close();
    await claim('wide', id, shards);

    const recount = ['keys', 'recount', 'customer-9', '--queue', 'wide', '--shards', `${shards}`, ...JUST];

    expect(await json(...recount, '--yes', 'customer-9')).toMatchObject({ kind: 'right', before: 1, after: 1 });
  });

  // Three keys side by side: each command waits for seconds, until the indexes show every task.
  test('passes the turn of a task whose row is gone, and of no other', async () => {
    const enqueue = (key: string, id: string) =>
      table.leasehold.tasks.enqueue('send', null, { id, key, queue: 'mail', ordered: true });
    const pass = (key: string) => ['keys', 'pass', key, '--queue', 'mail', ...JUST, '--yes', key];
    for (const key of ['alive', 'gone', 'last']) await enqueue(key, `first-${key}`);
    await enqueue('gone', 'second-gone');
    for (const key of ['gone', 'last']) await remove('mail', `first-${key}`);

    const [alive, gone, last] = await Promise.all([run(...pass('alive')), run(...pass('gone')), json(...pass('last'))]);

    expect(alive).toMatchObject({ exitCode: 5, out: '' });
    expect(alive.err).toContain('task first-alive in queue mail has the turn and is ready');
    expect(gone.out).toMatch(/^passed ticket \d+: it is the turn of task second-gone\n$/);
    expect(last).toMatchObject({ kind: 'passed', ticket: expect.any(Number) as number });
    expect(await run(...pass('last'))).toMatchObject({ exitCode: 4 });
  });
});
