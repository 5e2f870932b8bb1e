/** Terminals of a new user: a folder, an environment, and what earlier blocks have exported. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { bindToParent, signalGroup } from '../../local/bind-to-parent.ts';

/** A program that is silent for this long is stuck, however busy the machine is. */
const SILENT_FOR_MS = 20 * 60_000;
const END_WITHIN_MS = 120_000;

export interface Ended {
  readonly code: number | string;
  readonly said: string;
}

export class Terminal {
  readonly #cwd: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #exports: string;

  /** @param exports a file for what blocks export */
  constructor(cwd: string, env: NodeJS.ProcessEnv, exports: string) {
    this.#cwd = cwd;
    this.#env = env;
    this.#exports = exports;
    rmSync(exports, { force: true });
  }

  /** Runs a block as it stands, and keeps what it exports for the next one. */
  async run(block: string): Promise<Ended> {
    const running = this.start(`${block}\nexport -p > ${quoted(this.#exports)}`);
    return running.ended;
  }

  /** Runs a block that stays. */
  start(block: string): Running {
    const known = existsSync(this.#exports) ? `. ${quoted(this.#exports)}\n` : '';
    return new Running(
      spawn('bash', ['-e', '-c', `${known}${block}`], {
        cwd: this.#cwd,
        env: this.#env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      }),
    );
  }
}

export class Running {
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  #said = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    bindToParent(child);
    let silence = setTimeout(() => signalGroup(child, 'SIGKILL'), SILENT_FOR_MS);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said += text;
        clearTimeout(silence);
        silence = setTimeout(() => signalGroup(child, 'SIGKILL'), SILENT_FOR_MS);
      });
    this.ended = once(child, 'close').then(() => {
      clearTimeout(silence);
      return { code: child.exitCode ?? child.signalCode ?? 'no code', said: this.#said };
    });
  }

  get said(): string {
    return this.#said;
  }

  /** Waits until what it said fits. @returns whether it did before its end */
  async until(fits: (said: string) => boolean): Promise<boolean> {
    while (!fits(this.#said)) {
      const more = [this.#child.stdout, this.#child.stderr].flatMap((stream) =>
        stream === null ? [] : [once(stream, 'data')],
      );
      const isOver = await Promise.race([...more.map((one) => one.then(() => false)), this.ended.then(() => true)]);
      if (isOver) return fits(this.#said);
    }
    return true;
  }

  /** As Ctrl+C does. */
  async interrupt(): Promise<Ended> {
    signalGroup(this.#child, 'SIGINT');
    const kill = setTimeout(() => signalGroup(this.#child, 'SIGKILL'), END_WITHIN_MS);
    try {
      return await this.ended;
    } finally {
      clearTimeout(kill);
    }
  }
}

function quoted(file: string): string {
  return `'${path.resolve(file).replaceAll("'", String.raw`'\''`)}'`;
}
