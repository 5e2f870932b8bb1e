/** One invocation of the worker function, in a separate process that its tasks may kill. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { bindToParent } from '../../local/bind-to-parent.ts';

export interface Died {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const PROGRAM = path.join(import.meta.dirname, 'programs', 'invocation.ts');

interface Invocation {
  /** As the stack sets it for the function. */
  readonly environment: Readonly<Record<string, string>>;
  /** Tasks that the lethal one waits for. */
  readonly others: number;
  readonly nodeOptions?: readonly string[];
}

export async function invokeInProcess({ environment, others, nodeOptions = [] }: Invocation): Promise<Died> {
  const child = spawn(process.execPath, [...nodeOptions, PROGRAM, String(others)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
    detached: true,
  });
  bindToParent(child);
  const ended = new Promise<Pick<Died, 'code' | 'signal'>>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const [stdout, stderr, how] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, ...how };
}
