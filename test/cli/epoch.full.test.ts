/** The drill of a restore on two tables: every number issued after it is new. */
import { PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { stamp } from '../support/tasks.ts';

const endpoint = inject('embeddedEndpoint');
const PATIENCE = { timeout: 300_000, interval: 200 };

describe.skipIf(endpoint === null)('leasehold epoch raise', () => {
  let old: CommandTable;
  let restored: CommandTable;
  beforeAll(async () => {
    old = await openCommandTable(endpoint ?? '');
    restored = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(old);
    closeCommandTable(restored);
  });

  const raise = (...more: string[]) =>
    runCommand(
      restored,
      ...[
        'epoch',
        'raise',
        '--old-table',
        old.table,
        '--reason',
        'a drill',
        '--yes',
        restored.table,
        '--json',
        ...more,
      ],
    );

  test('lets no token be given twice, after it has refused for as long as anything is at work', async () => {
    const given = await giveOut(old, 3);
    const forgotten = await old.leasehold.session({ ttl: '3s', lockDelay: 0 });
    await forgotten.lock('held when it was restored');
    await copy(old, restored.table);
    for (let round = 0; round < 4; round++) merge(given, await giveOut(old, 3));

    expect(await raise()).toMatchObject({ exitCode: 5, out: '' });
    expect((await raise()).err).toMatch(/session .* is live in table .*nothing was done/);
    // As from a restored table without this command: the old table has already issued the next number.
    const next = (await restored.leasehold.locks.get('reports'))!.leaseCounter + 1;
    expect(given.get('lock')).toContain(next);

    await forgotten.end();
    const done = await vi.waitFor(async () => {
      const end = await raise();
      expect(end).toMatchObject({ exitCode: 0 });
      return JSON.parse(end.out) as { raised: number; ended: number; changed: number };
    }, PATIENCE);
    expect(done).toMatchObject({ changed: 0, ended: 1 });
    expect(done.raised).toBeGreaterThanOrEqual(5);

    const after = await giveOut(restored, 2);
    for (const [kind, tokens] of after) {
      expect(tokens.length, kind).toBeGreaterThan(0);
      expect(Math.min(...tokens), kind).toBeGreaterThan(Math.max(...given.get(kind)!));
    }
    await using session = await restored.leasehold.session({ ttl: '30s' });
    expect((await session.lock('held when it was restored')).fencingToken).toBeGreaterThan(0);
    const [act] = JSON.parse((await runCommand(restored, 'audit', '--json')).out) as object[];
    expect(act).toMatchObject({ verb: 'epoch.raise', outcome: 'raised', reason: 'a drill' });
  });

  test('resumes after an interruption with the same counters', async () => {
    for (let n = 0; n < 150; n++) await restored.leasehold.locks.put(`settings/${n}`, 'on');
    const text = ['epoch', 'raise', '--reason', 'a drill', '--yes', restored.table];
    const { err, out } = await runCommand(restored, ...text);
    const [, place = ''] = /^at (\S+)$/m.exec(err) ?? [];
    const [, checked, lifted, floor] = /(\d+) rows read, counters of (\d+) lifted to (\d+)/.exec(out) ?? [];

    const rest = JSON.parse((await raise('--resume', place)).out) as { checked: number };

    expect(Number(lifted)).toBeGreaterThanOrEqual(150);
    expect(rest).toMatchObject({ floor: Number(floor), raised: 0, changed: 0 });
    expect(rest.checked).toBeLessThan(Number(checked));
    expect(await raise('--resume', 'nonsense')).toMatchObject({ exitCode: 2, out: '' });
  });
});

type Tokens = Map<string, number[]>;

/** Everything that counts, a few times each. @returns what was given out, by kind */
async function giveOut({ leasehold, table, endpoint: at }: CommandTable, times: number): Promise<Tokens> {
  const { sender, close } = connectDynamo({ endpoint: at }, systemRuntime);
  const tasks = createTaskStore(sender, { table, shards: 1 });
  const given: Tokens = new Map([
    ['lock', []],
    ['permit', []],
    ['task', []],
    ['group', []],
  ]);
  const session = await leasehold.session({ ttl: '30s', lockDelay: 0 });
  await leasehold.tasks.enqueue('any', {}, { id: 't' });
  for (let n = 0; n < times; n++) {
    const lock = await session.lock('reports');
    given.get('lock')!.push(lock.fencingToken);
    await lock.release();
    const permit = await session.permit('database', { limit: 2 });
    given.get('permit')!.push(permit.fencingToken);
    await permit.release();
    const task = await tasks.get({ queue: 'default', id: 't' });
    if (task?.state !== 'ready') throw new Error('the task should wait');
    const claim = await tasks.claim(task, session.id, stamp());
    if (claim.kind !== 'applied') throw new Error('the task should be claimed');
    given.get('task')!.push(claim.row.leaseCounter);
    await tasks.release(claim.row, stamp());
    given.get('group')!.push(await completeGeneration(leasehold));
  }
  await session.end();
  close();
  return given;
}

/** Begins a generation of a group, or the first, and leaves it complete, as a restore most often finds one. */
async function completeGeneration(leasehold: Leasehold): Promise<number> {
  const there = await leasehold.waitGroup('import');
  const group = await there.add(['part']).then(
    () => there,
    () => there.next(),
  );
  if (group !== there) await group.add(['part']);
  await group.seal();
  await group.done('part');
  await group.wait({ wait: '30s' });
  return group.generation;
}

function merge(into: Tokens, more: Tokens): void {
  for (const [kind, tokens] of more) into.get(kind)!.push(...tokens);
}

/** As a restore to this moment leaves it. */
async function copy({ client, table }: CommandTable, to: string): Promise<void> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  for (const Item of Items) await client.send(new PutItemCommand({ TableName: to, Item }));
}
