/** Runs the `leasehold` command as a process, as a shell does. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

export interface CommandEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningCommand {
  readonly process: ChildProcess;
  readonly ended: Promise<CommandEnd>;
  /** What standard output has said so far. */
  out(): string;
  err(): string;
}

export interface CommandSettings {
  readonly endpoint: string;
  readonly table: string;
}

export function startCommand({ endpoint, table }: CommandSettings, ...argv: readonly string[]): RunningCommand {
  return spawnCommand({ LEASEHOLD_ENDPOINT: endpoint, LEASEHOLD_TABLE: table }, argv);
}

export function spawnCommand(environment: Readonly<Record<string, string>>, argv: readonly string[]): RunningCommand {
  // Nothing of the machine's own: neither credentials nor a region nor a wish for colours may decide a test.
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true', ...environment };
  const child = spawn(process.execPath, [PROGRAM, ...argv], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(() => ({ exitCode: child.exitCode, signal: child.signalCode, out, err }));
  return { process: child, ended, out: () => out, err: () => err };
}

export async function runCommand(settings: CommandSettings, ...argv: readonly string[]): Promise<CommandEnd> {
  const command = startCommand(settings, ...argv);
  command.process.stdin?.end();
  return command.ended;
}
