import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('leasehold tasks, of tasks in bulk', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('shows a pack and its items, and cancels one of them', async () => {
    await table.leasehold.tasks.enqueueBulk('fine', [{ n: 0 }, { n: 1 }, { n: 2 }], { id: 'b' });

    const cancelled = await runCommand(table, 'tasks', 'cancel', 'b/0/1', '--yes', 'b/0/1', '--reason', 'test');
    const pack = await runCommand(table, 'tasks', 'show', 'b/0');
    const item = await runCommand(table, 'tasks', 'show', 'b/0/1', '--json');
    const missing = await runCommand(table, 'tasks', 'show', 'b/0/7');

    expect(cancelled.exitCode, cancelled.err).toBe(0);
    expect(pack.out).toMatch(/items +3: 0 done, 2 open, 0 tasks of their own, 1 cancelled/);
    expect(JSON.parse(item.out)).toMatchObject({ id: 'b/0/1', state: 'cancelled', pack: 'b/0', input: { n: 1 } });
    expect(missing.exitCode).not.toBe(0);
  });
});
