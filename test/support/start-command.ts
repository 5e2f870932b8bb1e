/** Runs `npm start`'s program as a process and reads what it says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../../examples/demonstration/verdict.ts';

const PROGRAM = fileURLToPath(new URL('../../examples/demonstration/start.ts', import.meta.url));

interface StartRun {
  readonly exitCode: number | null;
  /** The last line, where it was JSON. */
  readonly verdict: Verdict | undefined;
  /** Everything that was said to people. */
  readonly said: string;
}

export function runStart(...flags: readonly string[]): Promise<StartRun> {
  return runStartUntil(undefined, ...flags);
}

/** Sends the interrupt of Ctrl+C when it has said what fits. */
export async function runStartUntil(pattern: RegExp | undefined, ...flags: readonly string[]): Promise<StartRun> {
  const child = spawn(process.execPath, [PROGRAM, '--json', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  let hasSaidIt = false;
  let output = '';
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (hasSaidIt || pattern?.test(said) !== true) return;
    // Once: a second one would end it at once, whatever it says after the first.
    hasSaidIt = true;
    child.kill('SIGINT');
  });
  await once(child, 'close');
  const last = output.trim().split('\n').at(-1) ?? '';
  return {
    exitCode: child.exitCode,
    verdict: last.startsWith('{') ? (JSON.parse(last) as Verdict) : undefined,
    said,
  };
}
