/**
 * The operating system's side of an environment: one process, its pipes, its signals, its end.
 * It knows nothing of invocations; `environment-process.ts` gives it meaning.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import path from 'node:path';
import { assert } from '../../../shared/core/errors.ts';
import { systemClock } from '../../../shared/core/runtime/clock.ts';
import { bindToParent, signalGroup } from '../../../local/bind-to-parent.ts';
import { forEachLine } from './log-lines.ts';
import type { EnvironmentMessage, PlatformMessage } from './messages.ts';

export interface SandboxExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the process could not start: too many processes, no memory. */
  readonly failure?: string;
}

export interface SandboxOptions {
  /** Shown by `ps`. */
  readonly label: readonly string[];
  readonly memoryMb: number;
  readonly workingDirectory: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly onMessage: (message: EnvironmentMessage) => void;
  readonly onLine: (stream: 'stdout' | 'stderr', line: string) => void;
}

const ENVIRONMENT_PROGRAM = path.join(import.meta.dirname, 'environment.ts');
/** A grandchild that left the process group may keep the pipes open forever; stop waiting for it after this time. */
const LAST_WORDS_MS = 200;

export class Sandbox {
  readonly #child: ChildProcess;
  /** Resolves when the process has ended and its last output and messages have been handed on. */
  readonly exited: Promise<SandboxExit>;

  constructor(options: SandboxOptions) {
    this.#child = fork(ENVIRONMENT_PROGRAM, options.label, {
      execPath: process.execPath,
      execArgv: [
        `--max-old-space-size=${options.memoryMb}`,
        '--enable-source-maps',
        // Node.js 22 warns that running TypeScript is experimental; a function's log should not contain that.
        '--disable-warning=ExperimentalWarning',
      ],
      cwd: options.workingDirectory,
      env: options.variables,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    bindToParent(this.#child);
    this.#child.on('message', (message) => options.onMessage(message as EnvironmentMessage));
    const { stdout, stderr } = this.#child;
    assert(stdout !== null && stderr !== null, 'an environment was forked without pipes');
    forEachLine(stdout, (line) => options.onLine('stdout', line));
    forEachLine(stderr, (line) => options.onLine('stderr', line));
    this.exited = whenExited(this.#child);
  }

  /** 0 when the process could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  send(message: PlatformMessage): void {
    // A failure means that the process is ending, and `exited` reports that.
    this.#child.send(message, () => undefined);
  }

  /** SIGSTOP: not a single instruction more, its children included, until `resume`. */
  stop(): void {
    signalGroup(this.#child, 'SIGSTOP');
  }

  resume(): void {
    signalGroup(this.#child, 'SIGCONT');
  }

  /** SIGKILL, which also reaches a stopped process: no warning, no clean-up. */
  kill(): void {
    signalGroup(this.#child, 'SIGKILL');
  }
}

/** Opens a process, or in tests something that behaves like one. */
export type OpenSandbox = (options: SandboxOptions) => Pick<Sandbox, keyof Sandbox>;

async function whenExited(child: ChildProcess): Promise<SandboxExit> {
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  const exit = await new Promise<SandboxExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, failure: error.message });
    });
  });
  const waited = new AbortController();
  await Promise.race([closed, systemClock.sleep(LAST_WORDS_MS, waited.signal)]);
  waited.abort();
  return exit;
}
