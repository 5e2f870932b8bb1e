/**
 * What each command takes, without the satellites: its help, and which values its options accept and what they make of them.
 */
import type { Command } from 'commander';
import { expect } from 'vitest';
import { everyCommand } from '../../../../cli/command-tree.ts';
import { createProgram } from '../../../../cli/program.ts';
import { ROOT } from '../../../support/documents.ts';
import { runHere } from '../../../support/command.ts';

const commands = everyCommand(await createProgram((command) => command, {}));

function pathOf(command: Command): string[] {
  return command.parent === null ? [] : [...pathOf(command.parent), command.name()];
}

export async function help(): Promise<string> {
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
  return text;
}
