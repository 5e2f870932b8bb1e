/** The worker process of `leasehold dev`, and its state according to its messages. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { bindToParent } from '../../local/bind-to-parent.ts';
import { packageModule } from '../../shared/core/package-files.ts';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';
import type { Environment } from '../context.ts';
import type { WorkerMessage } from './messages.ts';
import { MESSAGES_FD } from './messages.ts';
import type { DevWorkerSettings } from './worker.ts';

export type Ready = Extract<WorkerMessage, { kind: 'ready' }>;
type Refused = Extract<WorkerMessage, { kind: 'refused' }>;
type Blocked = Extract<WorkerMessage, { kind: 'blocked' }>;

/** The used part of a worker's process. */
export interface WorkerChild extends Pick<ChildProcess, 'kill' | 'stdio'> {
  once(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'close', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}

export function spawnWorker(settings: DevWorkerSettings, environment: Environment): WorkerChild {
  const isPosix = process.platform !== 'win32';
  const child = spawn(process.execPath, [packageModule('cli/dev/worker'), JSON.stringify(settings)], {
    env: environment,
    // With --json, standard output contains only the result.
    stdio: ['ignore', settings.settings.json === true ? 2 : 'inherit', 'inherit', 'pipe'],
    // A separate process group, so that Ctrl+C reaches only the supervisor.
    detached: isPosix,
  });
  if (isPosix) bindToParent(child);
  return child;
}

export class WorkerProcess {
  readonly #child: WorkerChild;
  readonly #atWork = new Map<string, CurrentTask>();
  readonly #handedBack: CurrentTask[] = [];
  /** Resolves when it has begun to work. */
  readonly ready: Promise<Ready>;
  /** Resolves when it has acknowledged the request to stop. */
  readonly stopping: Promise<void>;
  /** Resolves when it has ended and all its messages were read: with `exit 3`, or `killed by SIGKILL`. */
  readonly ended: Promise<string>;
  session: string | undefined;
  refused: Refused | undefined;
  blocked: Blocked | undefined;
  isInspected = false;
  /** The task whose code ended the process. */
  culprit: CurrentTask | undefined;

  /** @param child the process, as `spawnWorker` starts it */
  constructor(child: WorkerChild, onMessage: (message: WorkerMessage) => void) {
    this.#child = child;
    const ready = Promise.withResolvers<Ready>();
    const stopping = Promise.withResolvers<undefined>();
    this.ready = ready.promise;
    this.stopping = stopping.promise;
    const lines = createInterface({ input: this.#child.stdio[MESSAGES_FD] as Readable });
    lines.on('line', (line) => {
      const message = JSON.parse(line) as WorkerMessage;
      this.#hear(message);
      if (message.kind === 'ready') ready.resolve(message);
      if (message.kind === 'stopping') stopping.resolve(undefined);
      onMessage(message);
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(`cannot be started: ${error.message}`));
      this.#child.once('close', (code, signal) => {
        lines.close();
        resolve(signal === null ? `exit ${code ?? 0}` : `killed by ${signal}`);
      });
    });
  }

  /** Tasks whose code it runs, according to its messages. */
  get atWork(): readonly CurrentTask[] {
    return [...this.#atWork.values()];
  }

  /** Tasks that it handed back. */
  get handedBack(): readonly CurrentTask[] {
    return this.#handedBack;
  }

  askToStop(): void {
    this.#child.kill('SIGTERM');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #hear(message: WorkerMessage): void {
    switch (message.kind) {
      case 'session':
        this.session = message.id;
        break;
      case 'claimed':
        this.#atWork.set(message.task.id, message.task);
        break;
      case 'settled':
        this.#atWork.delete(message.task.id);
        if (message.isHandedBack) this.#handedBack.push(message.task);
        break;
      case 'refused':
        this.refused = message;
        break;
      case 'blocked':
        this.blocked = message;
        break;
      case 'unblocked':
        this.blocked = undefined;
        break;
      case 'inspected':
        this.isInspected = message.isInspected;
        break;
      case 'exits':
        this.culprit = message.task;
        break;
      case 'loads':
      case 'ready':
      case 'stopping':
        break;
    }
  }
}
