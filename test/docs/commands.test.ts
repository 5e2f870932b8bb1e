/** Commands that documents tell a reader to type: each is there, with the options that are named, and a whole one has all that it needs. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command, Option } from 'commander';
import { describe, expect, test } from 'vitest';
import { SATELLITES } from '../../api/satellites.ts';
import { createProgram } from '../../cli/program.ts';
import type { Document } from '../support/documents.ts';
import { ROOT, codeBlocks, documents, inlineCode, isOfDeletedSatellite } from '../support/documents.ts';

/** Our scripts, and the scripts of a project that `leasehold init` creates. */
const scripts = ['package.json', 'examples/project/package.template.json'].flatMap((file) =>
  Object.keys((JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as { readonly scripts: object }).scripts),
);
const program = await createProgram((command) => command, SATELLITES);
const SHELLS = ['sh', 'bash', 'shell', 'console'];

/** Returns each command of a line: the parts between pipes and similar operators, without comments, prompts and leading variables. */
function commandsOf(line: string): string[][] {
  return line
    .replace(/(^|\s)#.*$/, '')
    .split(/\|\||&&|[|;]/)
    .map((part) =>
      part
        .trim()
        .replace(/^\$ /, '')
        .split(/\s+/)
        .filter((word) => word !== ''),
    )
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))
    .filter((words) => words.length > 0);
}

interface ShellCommand {
  readonly words: readonly string[];
  /** To be typed as it stands; a sentence may leave out what it does not speak of. */
  readonly isWhole: boolean;
}

function shellCommands(document: Document): ShellCommand[] {
  const lines = codeBlocks(document)
    .filter(({ language }) => SHELLS.includes(language))
    .flatMap(({ code }) => code.replace(/\\\n/g, ' ').split('\n'));
  const inSentences = inlineCode(document).filter((code) =>
    /^(?:npm (?:run|start|test)|npx leasehold|leasehold|node) ?/.test(code),
  );
  return [
    ...lines.flatMap(commandsOf).map((words) => ({ words, isWhole: true })),
    ...inSentences.flatMap(commandsOf).map((words) => ({ words, isWhole: false })),
  ];
}

function complaint({ words, isWhole }: ShellCommand): string | undefined {
  const [first, second = '', ...rest] = words;
  if (first === 'npm') return npmComplaint(second, rest);
  if (first === 'npx' && second === 'leasehold') return leaseholdComplaint(rest, isWhole);
  if (first === 'leasehold') return leaseholdComplaint(words.slice(1), isWhole);
  if (first === 'node' && /\.[cm]?[jt]s$/.test(second) && /^(?:examples|test|bench|local|release|cli)\//.test(second))
    return existsSync(path.join(ROOT, second)) ? undefined : `there is no ${second}`;
  return undefined;
}

function npmComplaint(verb: string, rest: readonly string[]): string | undefined {
  const script = verb === 'run' ? rest[0] : ['start', 'test'].includes(verb) ? verb : undefined;
  if (script === undefined || scripts.includes(script)) return undefined;
  return `package.json has no script ${script}`;
}

function leaseholdComplaint(words: readonly string[], isWhole: boolean): string | undefined {
  if (isOfDeletedSatellite(words[0] ?? '')) return undefined;
  let command: Command = program;
  for (const word of words) {
    if (word === '--') break;
    if (word.startsWith('-')) {
      const [option = ''] = word.split('=', 1);
      if (!knowsOption(command, option)) return `${nameOf(command)} has no option ${option}`;
      continue;
    }
    const below = command.commands.find((one) => one.name() === word);
    if (below !== undefined) command = below;
    else if (command.commands.length > 0 && /^[a-z]+$/.test(word) && command.registeredArguments.length === 0)
      return `${nameOf(command)} has no command ${word}`;
  }
  const isMissing = ({ mandatory, long }: Option): boolean => mandatory && !words.includes(long ?? '');
  const missing = isWhole && !words.includes('--help') ? command.options.find(isMissing) : undefined;
  return missing === undefined ? undefined : `${nameOf(command)} needs ${missing.flags}`;
}

function knowsOption(command: Command, option: string): boolean {
  if (['--help', '-h'].includes(option)) return true;
  const isHere = command.options.some(({ long, short }) => option === long || option === short);
  return isHere || (command.parent !== null && knowsOption(command.parent, option));
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function complaints(document: Document): string[] {
  return shellCommands(document).flatMap((command) => {
    const found = complaint(command);
    return found === undefined ? [] : [`${document.path}: ${command.words.join(' ')}: ${found}`];
  });
}

describe('commands in documents', () => {
  const all = documents();

  test('are there, and so are their options', () => {
    expect(all.flatMap(complaints)).toEqual([]);
  });

  test('are found at all', () => {
    expect(all.flatMap(shellCommands).length).toBeGreaterThan(20);
  });
});
