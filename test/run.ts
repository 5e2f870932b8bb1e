/**
 * `npm test`: types, style and format alongside the first tier of the tests, each with a separate verdict.
 *
 * The checks run in sequence, so they take one core and leave the others to the tests.
 * Arguments after `npm test --` go to vitest: a path, or `-t NAME`.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = path.resolve(import.meta.dirname, '..');
const require = createRequire(import.meta.url);

interface Step {
  readonly what: string;
  /** The command as typed by hand; the programs come from this repository. */
  readonly command: string;
}

const CHECKS: readonly Step[] = [
  // `typeCheck` in its configuration: rules that know types and the compiler's own errors come from one program, loaded once.
  { what: 'types and style', command: 'oxlint' },
  { what: 'format', command: 'oxfmt --check' },
];
const PROGRAMS: Readonly<Record<string, string>> = {
  oxlint: path.join(path.dirname(require.resolve('oxlint/package.json')), 'bin/oxlint'),
  oxfmt: path.join(path.dirname(require.resolve('oxfmt/package.json')), 'bin/oxfmt'),
  vitest: path.join(path.dirname(require.resolve('vitest/package.json')), 'vitest.mjs'),
};

const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exitCode = 130;
  });

const [mode = 'test', ...rest] = process.argv.slice(2);
const verdicts = await Promise.all(mode === 'check' ? [check()] : [check(), test(rest)]);
if (!verdicts.every(Boolean)) process.exitCode ??= 1;

async function check(): Promise<boolean> {
  let isGood = true;
  for (const step of CHECKS) if (process.exitCode === undefined && !(await passes(step))) isGood = false;
  return isGood;
}

async function passes({ what, command }: Step): Promise<boolean> {
  const begun = performance.now();
  const child = start(command.split(' '));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  if (code === 0) console.log(`ok     ${what} (${seconds} s)`);
  else console.log(`FAILED ${what} (${seconds} s): npx ${command}\n${said}`);
  return code === 0;
}

/** Line by line, so a verdict never lands in the middle of one. */
async function test(options: readonly string[]): Promise<boolean> {
  const child = start(['vitest', 'run', '--mode', 'first', ...options]);
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const)
    if (from !== null) createInterface({ input: from }).on('line', (line) => void to.write(`${line}\n`));
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

function start([program = '', ...args]: readonly string[]): ChildProcess {
  const colours = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const child = spawn(process.execPath, [PROGRAMS[program] ?? program, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...colours },
  });
  running.add(child);
  child.once('close', () => void running.delete(child));
  return child;
}
