import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

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

  test('refuses options of one task with a file of them', async () => {
    const options = ['--id', 'zz', '--priority', 'high', '--run-at', '2027-01-31T08:00:00Z', '--delay', '1h'];

    const end = await run('--file', '-', ...options, '--expires-in', '1h', '--on-duplicate', 'replace');

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain('--id, --priority, --run-at, --delay, --expires-in, --on-duplicate with --file: ');
  });

  test('speaks of no line when the task that was named conflicts', async () => {
    await run('fine', '1', '--id', 'one');

    const end = await run('fine', '2', '--id', 'one');
    const forPrograms = await run('fine', '2', '--id', 'one', '--json');

    expect(end).toMatchObject({ exitCode: 5, out: '' });
    expect(end.err).toMatch(/^error: task one of queue default is there already .*\n$/);
    expect(forPrograms).toMatchObject({ exitCode: 5, out: '' });
    expect(JSON.parse(forPrograms.err)).toMatchObject({ exitCode: 5 });
  });

  test.each(['1e400', '{"sum": [-1e999]}'])('refuses %s, which could not be stored', async (input) => {
    const end = await run('fine', input);

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain('a number in it is too large');
  });
});
