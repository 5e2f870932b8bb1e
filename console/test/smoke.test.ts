import { expect, inject, test } from 'vitest';
import { startCommand } from '../../test/support/command.ts';
import { closeCommandTable, openCommandTable } from '../../test/support/command-table.ts';

const endpoint = inject('embeddedEndpoint');

test.skipIf(endpoint === null)('the command serves until it is interrupted', async () => {
  const table = await openCommandTable(endpoint ?? '');
  try {
    const command = startCommand(table, 'console');
    await command.said(/^http:\/\/127\.0\.0\.1:\d+\/\S+\/\?token=/);

    command.process.kill('SIGINT');
    command.process.stdin?.end();

    expect(await command.ended).toMatchObject({ exitCode: 0 });
  } finally {
    closeCommandTable(table);
  }
});
