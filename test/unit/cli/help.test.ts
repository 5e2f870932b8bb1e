/**
 * What each command takes, without the satellites: its help, and which values its options accept and what they make of them.
 *
 * After an intended change: `npx vitest run test/unit/cli/help.test.ts -u`, and read the difference.
 */
import type { Command, Option } from 'commander';
import { expect, test } from 'vitest';
import { everyCommand } from '../../../cli/command-tree.ts';
import { createProgram } from '../../../cli/program.ts';
import { messageOf } from '../../../shared/core/errors.ts';
import { ROOT } from '../../support/documents.ts';
import { runHere } from '../../support/command.ts';

/** On both sides of bounds, with and without units, and of every form that some option wants. */
const VALUES = [
  '',
  '0',
  '1',
  '-1',
  '1.5',
  '100',
  '101',
  '1000',
  '1001',
  '1e9',
  '65536',
  '0s',
  '1500ms',
  '2m',
  '36500d',
];
const ARN = 'arn:aws-cn:dynamodb:cn-north-1:1:table/leases';
const FORMS = ['a b', 'a=3', '=3', 'a=0', '10/1m', '0/1m', '2027-01-31', 'soon', 'eu-west-1', 'ab', 'a/b/c', ARN];

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

test('the values that options accept', async () => {
  const lines = new Map<string, string[]>();
  for (const command of commands)
    for (const option of command.options.filter(
      ({ parseArg, argChoices }) => parseArg !== undefined && argChoices === undefined,
    )) {
      const line = `${option.flags}\n  takes ${taken(option).join(', ')}`;
      lines.set(line, [...(lines.get(line) ?? []), pathOf(command).join(' ')]);
    }

  const text = [...lines].map(([line, paths]) => `${line}\n  of ${paths.join(', ')}\n`).sort();
  await expect(text.join('\n')).toMatchFileSnapshot('./printed/values.txt');
});

function taken({ parseArg }: Option): string[] {
  return [...VALUES, ...FORMS].flatMap((value) => {
    try {
      const parsed: unknown = (parseArg as ((text: string) => unknown) | undefined)?.(value);
      return [`${value || "''"} as ${JSON.stringify(parsed)}`];
    } catch (error) {
      expect(messageOf(error)).not.toBe('');
      return [];
    }
  });
}
