/** Commands for operators that need a separate process: interruptions, and an environment without credentials. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runCommand, spawnCommand, startCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('leasehold, looking and acting in separate processes', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('shows each change of a lock until it is interrupted', async () => {
    const watcher = startCommand(table, 'locks', 'watch', 'watched', '--json');
    await using session = await table.leasehold.session();
    const lock = await session.lock('watched');
    const changes = () =>
      watcher
        .out()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line || '{}') as { holder?: { session: string } });
    await expect.poll(() => changes().at(-1)?.holder?.session).toBe(session.id);

    await lock.release();

    await expect.poll(() => changes().length > 1 && changes().at(-1)?.holder === undefined).toBe(true);
    watcher.process.kill('SIGINT');
    expect(await watcher.ended).toMatchObject({ exitCode: 0 });
  });

  test('names the missing table, endpoint, region or credentials', async () => {
    const elsewhere = await runCommand({ endpoint: table.endpoint, table: 'nowhere' }, 'locks', 'list');
    const silent = await runCommand({ endpoint: 'http://127.0.0.1:2', table: 'jobs' }, 'locks', 'list');
    const noUrl = await runCommand({ endpoint: 'localhost', table: 'jobs' }, 'locks', 'list');
    const noRegion = await spawnCommand({}, ['locks', 'list']).ended;
    const noCredentials = await spawnCommand({ AWS_REGION: 'eu-west-1' }, ['locks', 'list']).ended;

    expect([elsewhere, silent, noUrl, noRegion, noCredentials].map(({ exitCode }) => exitCode)).toEqual([
      2, 3, 2, 2, 2,
    ]);
    expect(elsewhere.err).toContain(
      "there is no table nowhere in this account and region: create it with 'leasehold up'",
    );
    expect(silent.err).toContain('did not answer (ECONNREFUSED)');
    expect(noRegion.err).toContain('no AWS region is known');
    expect(noCredentials.err).toContain('no AWS credentials were found');
  });
});
