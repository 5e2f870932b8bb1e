/** The CDK's own command lines, and programs for Node, as children that end with this process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';

const root = path.resolve(import.meta.dirname, '../..');

type Environment = Readonly<Record<string, string | undefined>>;

/** A program that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** @throws Error with all that it said when it fails, and the signal's reason when that aborts */
export async function cdk(environment: Environment, args: readonly string[], signal?: AbortSignal): Promise<void> {
  const { code, said } = await runNode(environment, [path.join(root, 'node_modules', '.bin', 'cdk'), ...args], signal);
  signal?.throwIfAborted();
  if (code !== 0) throw new Error(`cdk ${args.join(' ')} ended with ${code}:\n${said}`);
}

/** Runs a program until it ends; the signal kills it. */
export async function runNode(environment: Environment, args: readonly string[], signal?: AbortSignal): Promise<Ended> {
  signal?.throwIfAborted();
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH, HOME, CDK_DISABLE_CLI_TELEMETRY: '1', ...environment },
  });
  bindToParent(child);
  const kill = (): void => signalGroup(child, 'SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  let said = '';
  const listen = (chunk: Buffer): void => {
    said += chunk.toString();
  };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', listen);
  const [code] = (await once(child, 'close')) as [number | null];
  signal?.removeEventListener('abort', kill);
  return { code, said };
}
