/** Runs an example like a reader does: a separate process, whose output can be awaited. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';

export interface Example extends AsyncDisposable {
  readonly output: string;
  readonly isRunning: boolean;
  /** Resolves when it has said something that fits. */
  said(pattern: RegExp): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code; `null` when a signal ended it. */
  ended(): Promise<number | null>;
}

const ROOT = path.resolve(import.meta.dirname, '../..');

export function startExample(file: string, args: readonly string[]): Example {
  const child = spawn(process.execPath, [path.join(ROOT, file), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  bindToParent(child);
  let output = '';
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      tell();
    });
  }
  let code: number | null | undefined;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (exitCode) => {
      code = exitCode;
      resolve(exitCode);
      tell();
    });
  });
  return {
    get output() {
      return output;
    },
    get isRunning() {
      return code === undefined;
    },
    said(pattern) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(output)) resolve();
          else if (code === undefined) return;
          else reject(new Error(`${file} ended (${code}) before it said ${String(pattern)}:\n${output}`));
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      });
    },
    kill(signal) {
      signalGroup(child, signal);
    },
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      signalGroup(child, 'SIGKILL');
      await ended;
    },
  };
}
