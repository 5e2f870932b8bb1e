/** `leasehold console` as a shell starts it. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand, startCommand } from '../../test/support/command.ts';
import type { RunningCommand } from '../../test/support/command.ts';
import type { CommandTable } from '../../test/support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('leasehold console', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  async function firstLine(command: RunningCommand): Promise<string> {
    await expect.poll(() => command.out().includes('\n')).toBe(true);
    return command.out().split('\n')[0] ?? '';
  }

  test('prints an address that lets one browser in, then the next one, and ends with Ctrl+C', async () => {
    const command = startCommand(table, 'console');
    const address = await firstLine(command);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{36}\/\?token=[\w-]{36}$/);

    expect((await fetch(address, { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(address, { redirect: 'manual' })).status).toBe(401);
    await expect.poll(() => command.err()).toMatch(/for another browser: http:\/\/127\.0\.0\.1/);

    command.process.kill('SIGINT');
    expect(await command.ended).toMatchObject({ exitCode: 0, out: `${address}\n` });
    await expect(fetch(address)).rejects.toThrow();
  });

  test('is read-only when told so, and speaks JSON', async () => {
    const command = startCommand(table, 'console', '--read-only', '--json', '--by', 'ann');
    const { address } = JSON.parse(await firstLine(command)) as { address: string };
    const entered = await fetch(address, { redirect: 'manual' });
    const [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');

    const connection = await fetch(new URL('api/connection', address), { headers: { cookie } });

    expect(await connection.json()).toMatchObject({ isReadOnly: true, by: 'ann', table: table.table });
    command.process.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ exitCode: 0, err: '' });
  });

  test('goes on when the reader of its address has read enough', async () => {
    const command = startCommand(table, 'console', '--json');
    const { address } = JSON.parse(await firstLine(command)) as { address: string };
    command.process.stdout?.destroy();

    expect((await fetch(address, { redirect: 'manual' })).status).toBe(303);
    expect((await fetch(address, { redirect: 'manual' })).status).toBe(401);

    command.process.kill('SIGTERM');
    expect(await command.ended).toMatchObject({ exitCode: 0, err: '' });
  });

  test('reports that its port is taken or invalid', async () => {
    const command = startCommand(table, 'console');
    const port = new URL(await firstLine(command)).port;

    const second = await runCommand(table, 'console', '--port', port);
    const impossible = await runCommand(table, 'console', '--port', '65536');

    expect(second).toMatchObject({ exitCode: 2, out: '' });
    expect(second.err).toContain(`cannot listen on 127.0.0.1 port ${port} (EADDRINUSE): choose another, or 0 for`);
    expect(impossible).toMatchObject({ exitCode: 2 });
    command.process.kill('SIGINT');
    await command.ended;
  });
});
