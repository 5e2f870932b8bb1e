/** Runs the `leasehold` command in a pseudo-terminal: made by `script`, which comes with util-linux. */
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../api/command.ts', import.meta.url));

/** Why no pseudo-terminal can be made here; undefined if one can. With CI=true it is not asked: then a missing one fails the test. */
export function missingTerminal(): string | undefined {
  if (process.env.CI === 'true') return undefined;
  const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
  return (stdout as string | null)?.includes('util-linux') === true
    ? undefined
    : 'it needs `script` of util-linux, which makes a pseudo-terminal';
}

export class TerminalCommand {
  readonly #child: ChildProcess;
  readonly #more = new EventEmitter();
  #said = '';
  /** Up to here, everything was waited for. */
  #read = 0;
  /** Resolves with the command's exit code. */
  readonly ended: Promise<number | null>;

  constructor(argv: readonly string[]) {
    const words = [process.execPath, PROGRAM, ...argv].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
    const env = { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'xterm', AWS_EC2_METADATA_DISABLED: 'true' };
    const command = ['--quiet', '--flush', '--return', '--command', `exec ${words.join(' ')}`, '/dev/null'];
    const child = spawn('script', command, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text;
      this.#more.emit('more');
    });
    this.ended = once(child, 'close').then(() => {
      this.#more.emit('more');
      return child.exitCode;
    });
  }

  /** All of it, without colours. */
  get text(): string {
    return stripVTControlCharacters(this.#said).replaceAll('\r', '');
  }

  /** Resolves when something is said that fits, after what was waited for before. @throws when the command ends before */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    const found = await this.#find(pattern, this.#read);
    this.#read = endOf(found, this.#read);
    return found;
  }

  /** The same for several, in any order. */
  async saidAll(...patterns: readonly RegExp[]): Promise<void> {
    const from = this.#read;
    const ends: number[] = [];
    for (const pattern of patterns) ends.push(endOf(await this.#find(pattern, from), from));
    this.#read = Math.max(...ends);
  }

  async #find(pattern: RegExp, from: number): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.text.slice(from));
      if (found !== null) return found;
      if (this.#child.exitCode !== null)
        throw new Error(`the command ended before it said ${String(pattern)}:\n${this.text}`);
      await once(this.#more, 'more');
    }
  }

  pressCtrlC(): void {
    this.#child.stdin?.write('\x03');
  }

  /** After a test that failed. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}

function endOf(found: RegExpExecArray, from: number): number {
  return from + found.index + found[0].length;
}
