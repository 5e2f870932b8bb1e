/**
 * A satellite can be deleted: without its folder and its lines in the registrations, a tree still passes everything.
 * Each is deleted from a copy of this tree, and the copy runs types, style, format, the first tier and the build of the package.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.ts';

/** A line in them names a part of a satellite that it registers: its command, or its construct. */
const REGISTRATIONS = ['api/satellites.ts', 'api/cdk.ts'];
const ENTRY = 'test/support/tasks-modules/hostile.ts';

interface Ended {
  readonly exitCode: number | null;
  readonly said: string;
}

describe.each([
  { satellite: 'console', lines: 1 },
  { satellite: 'consul', lines: 2 },
])('a tree without $satellite', ({ satellite, lines }) => {
  let tree: string;
  let deletedLines: readonly string[];
  beforeAll(() => {
    tree = copyWithout(satellite);
    deletedLines = unregister(tree, satellite);
  });
  afterAll(() => rmSync(tree, { recursive: true, force: true }));

  test('has lost its folder, and a line in each registration', () => {
    expect(existsSync(path.join(tree, satellite))).toBe(false);
    expect(deletedLines).toHaveLength(lines);
  });

  test.each([
    ['types, style, format and the first tier', ['test/run.ts', 'test']],
    ['the build of the package', ['release/build.ts']],
  ])('passes %s', async (_what, program) => {
    const { exitCode, said } = await run(tree, program);

    expect(exitCode, said).toBe(0);
  });

  test.each([
    ['dev', ['api/command.ts', 'dev', ENTRY, '--engine', 'memory', '--port', '0', '--console-port', '0'], /^console /m],
    ['the demonstration', ['examples/demonstration/start.ts'], undefined],
  ])('says in %s whether a console is installed', async (_what, program, interruptedAfter) => {
    const { exitCode, said } = await run(tree, program, interruptedAfter);

    expect(said).toMatch(satellite === 'console' ? /^console +no console installed$/m : /^console +http:/m);
    expect(exitCode, said).toBe(0);
  });
});

/** Copies files that git knows or would add, without results and packages. */
function copyWithout(satellite: string): string {
  const tree = mkdtempSync(path.join(tmpdir(), `leasehold-without-${satellite}-`));
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of new Set(listed.toString().split('\0'))) {
    const source = path.join(ROOT, file);
    if (file !== '' && !file.startsWith(`${satellite}/`) && existsSync(source)) cpSync(source, path.join(tree, file));
  }
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(tree, 'node_modules'));
  return tree;
}

/** Deletes the lines that import the satellite, and returns them. */
function unregister(tree: string, satellite: string): string[] {
  return REGISTRATIONS.flatMap((registration) => {
    const file = path.join(tree, registration);
    const lines = readFileSync(file, 'utf8').split('\n');
    const isOfSatellite = (line: string): boolean => line.includes(`'../${satellite}/`);
    writeFileSync(file, lines.filter((line) => !isOfSatellite(line)).join('\n'));
    return lines.filter(isOfSatellite);
  });
}

/** Runs a program in the tree: to its end, or until it says what fits, when it is interrupted as by Ctrl+C. */
async function run(tree: string, program: readonly string[], until?: RegExp): Promise<Ended> {
  // The variables of this test run must not reach the one in the copy.
  const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|NODE_ENV$|FORCE_COLOR$|MODE$)/.test(name));
  const child = spawn(process.execPath, program, { cwd: tree, env: Object.fromEntries(own) });
  let said = '';
  let isInterrupted = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (isInterrupted || until?.test(said) !== true) return;
      isInterrupted = true;
      child.kill('SIGINT');
    });
  await once(child, 'close');
  return { exitCode: child.exitCode, said };
}
