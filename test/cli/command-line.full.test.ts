/** Common parts of all commands: global options, the environment, and streams. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runHere, spawnCommand } from '../support/command.ts';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';

const endpoint = inject('embeddedEndpoint');
const ROOT = new URL('../../', import.meta.url);
const PROGRAM = fileURLToPath(new URL('api/command.ts', ROOT));

async function without(environment: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const command = spawnCommand(environment, argv);
  command.process.stdin?.end();
  return command.ended;
}

describe('leasehold', () => {
  test.each([
    ['a table whose name cannot be one', ['--table', 'a b'], /--table <name>.* 3 to 255 letters/],
    ['a table whose name is too short', ['--table', 'ab'], /--table <name>.* 3 to 255 letters/],
    ['an ARN that is no table', ['--table', 'arn:aws:s3:::bucket'], /--table <name>.* 3 to 255 letters/],
    ['a region without a name', ['--region', ''], /--region <name>.*such as eu-west-1/],
    ['a region that is no name', ['--region', 'eu west'], /--region <name>.*such as eu-west-1/],
  ])('refuses %s, in a line', async (_what, options, message) => {
    const end = await runHere(['--endpoint', endpoint ?? 'http://127.0.0.1:9', 'up', ...options]);

    expect(end).toMatchObject({ exitCode: 2, out: '' });
    expect(end.err).toMatch(message);
    expect(end.err).not.toMatch(/^\s+at /m);
  });

  test('takes the ARN of a table', async () => {
    const arn = 'arn:aws:dynamodb:eu-west-1:123456789012:table/jobs';

    const end = await runHere(['--endpoint', 'http://127.0.0.1:9', 'up', '--table', arn]);

    expect(end).toMatchObject({ exitCode: 3 });
  });

  test('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { version: string };

    expect(await without({}, '--version')).toMatchObject({ exitCode: 0, out: `${version}\n`, err: '' });
  });
});

describe.skipIf(endpoint === null)('leasehold, on a table', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => {
    closeCommandTable(table);
  });

  test('treats an empty variable as unset', async () => {
    const empty = {
      LEASEHOLD_ENDPOINT: '',
      LEASEHOLD_TABLE: '',
      LEASEHOLD_MAX_CLOCK_SKEW_MS: '',
      LEASEHOLD_SHARDS: '',
    };

    const end = await without(empty, 'queues', 'list', '--table', table.table, '--endpoint', table.endpoint);
    const elsewhere = await without(empty, 'queues', 'list');

    expect(end).toMatchObject({ exitCode: 0, err: '' });
    expect(elsewhere).toMatchObject({ exitCode: 2, err: expect.stringContaining('no AWS region is known') as string });
  });

  test('ends as it would when the reader of its notes has gone', async () => {
    const command = spawnCommand({ LEASEHOLD_ENDPOINT: table.endpoint, LEASEHOLD_TABLE: table.table }, [
      ...['run', '--lock', 'unread', '--verbose', '--', 'sh', '-c', 'sleep 0.5; echo done'],
    ]);
    command.process.stderr?.destroy();

    expect(await command.ended).toMatchObject({ exitCode: 0, out: 'done\n' });
  });

  test.skipIf(process.platform !== 'linux').each([
    ['a sentence', [], /^error: the output cannot be written: .*ENOSPC.*\n$/],
    ['a JSON object', ['--json'], /^\{"error":"the output cannot be written: .*","exitCode":1\}\n$/],
  ])('says in %s that its output cannot be written', async (_form, options, message) => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [PROGRAM, 'tasks', 'list', ...options], {
      env: { ...process.env, LEASEHOLD_ENDPOINT: table.endpoint, LEASEHOLD_TABLE: table.table, NO_COLOR: '1' },
      stdio: ['ignore', full, 'pipe'],
    });
    let err = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    await once(child, 'close');

    expect(child.exitCode).toBe(1);
    expect(err).toMatch(message);
  });
});
