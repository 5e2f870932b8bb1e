/**
 * What each command takes, without the satellites: its help, and which values its options accept and what they make of them.
 *
 * After an intended change: `npx vitest run test/unit/cli/help.test.ts -u`, and read the difference.
 */
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { everyCommand } from '../../../cli/command-tree.ts';
import { createProgram } from '../../../cli/program.ts';
import { ROOT } from '../../support/documents.ts';
import { runHere } from '../../support/command.ts';

const commands = everyCommand(await createProgram((command) => command, {}));

function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

test('the help of every command', async () => {
  const pages: string[] = [];
  for (const command of commands) {
    const path = pathOf(command);
    const { out, exitCode } = await runHere([...path, '--help'], '', {});
    expect(exitCode).toBe(0);
    pages.push(`$ leasehold ${[...path, '--help'].join(' ')}`, out);
  }

  const text = pages
    .join('\n')
    .replaceAll(ROOT, '')
    .replaceAll(/[^\S\n]+$/gm, '');
  await expect(text).toMatchFileSnapshot('./printed/help.txt');
});
