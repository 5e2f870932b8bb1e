/** Names that would control a terminal: no command prints them raw, as text or as JSON, in its output or in an error. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CommandTable } from '../support/command-table.ts';
import { closeCommandTable, openCommandTable } from '../support/command-table.ts';
import { endCommand, runCommand } from '../support/command.ts';

const endpoint = inject('embeddedEndpoint');
/** An escape sequence, its 8-bit form, a change of direction, a line separator, and an Arabic letter mark. */
const NAME = 'a\u001b]0;b\u0007\u009b31mc\u202ed\u2028e\u061cf';
const STEERING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe.skipIf(endpoint === null)('a name with control characters', () => {
  let table: CommandTable;
  beforeAll(async () => {
    table = await openCommandTable(endpoint ?? '');
  });
  afterAll(() => closeCommandTable(table));

  const COMMANDS: readonly (readonly string[])[] = [
    ['locks', 'list'],
    ['locks', 'show', NAME],
    ['sessions', 'list'],
    ['tasks', 'list'],
    ['tasks', 'show', NAME],
    ['tasks', 'list', '--state', NAME],
    ['enqueue', NAME, '{}', '--id', `${NAME}2`],
    ['enqueue', NAME, `{"${NAME}`],
    ['locks', 'release', NAME, '--counter', '999', '--reason', NAME, '--yes', NAME],
    ['tasks', 'list', `--${NAME}`],
    [NAME],
    ['audit'],
  ];

  test('is printed with escapes, and says the same as JSON', async () => {
    await using session = await table.leasehold.session({ name: NAME });
    await session.lock(NAME);
    await table.leasehold.tasks.enqueue(NAME, { [NAME]: NAME }, { id: NAME, delay: '1h' });
    const raw: string[] = [];
    for (const command of COMMANDS)
      for (const options of [[], ['--json']]) {
        const { out, err } = await runCommand(table, ...options, ...command);
        if (STEERING.test(out + err)) raw.push([...options, ...command].join(' '));
      }

    expect(raw).toEqual([]);
    const { out } = await runCommand(table, '--json', 'locks', 'list');
    expect(JSON.parse(out)).toMatchObject([{ key: NAME }]);
  });

  test('is printed with escapes by `run --verbose`', async () => {
    const { out, err } = await endCommand(table, 'run', '--verbose', '--lock', `${NAME}3`, '--', 'true');

    expect(err).toContain('acquired');
    expect(out + err).not.toMatch(STEERING);
  });
});
