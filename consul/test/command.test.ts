/** `leasehold consul`, a process. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand, runHere } from '../../test/support/command.ts';
import { GatewayTable, startGatewayCommand } from './support.ts';

const endpoint = inject('embeddedEndpoint');
describe.skipIf(endpoint === null)('the command', () => {
  let table: GatewayTable;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
  });
  afterAll(() => table.close());

  test('refuses to be open to others', async () => {
    const end = await runCommand(table.table, 'consul', '--port', '0', '--host', '0.0.0.0');

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toContain('is not loopback, and there are no tokens');
  });

  test('serves until it is interrupted; a second one reports that the port is taken', async () => {
    const { url, command } = await startGatewayCommand(table.table);
    const { port } = new URL(url);

    expect(await runCommand(table.table, 'consul', '--port', port)).toMatchObject({ exitCode: 2 });
    command.process.kill('SIGINT');
    command.process.stdin?.end();

    expect(await command.ended).toMatchObject({ exitCode: 0 });
  });

  test('says when its tokens are wrong or given twice', async () => {
    expect((await runCommand(table.table, 'consul', '--tokens', '/nowhere')).err).toContain(
      'the tokens cannot be read',
    );
    const twice = await runHere(['consul', '--tokens', '/nowhere'], '', undefined, { LEASEHOLD_CONSUL_TOKENS: '{}' });
    expect(twice.exitCode).toBe(2);
    expect(twice.err).toContain('--tokens and LEASEHOLD_CONSUL_TOKENS are both given: omit one of them');
  });
});
