/** Judges bugs by every notation, each in processes of its own. A file keeps what is judged, and a later run goes on from it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { conformanceOf, testsOf } from '../stryker/tests-of.ts';
import type { Cell } from './cell.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const IN_PROCESS = path.join(import.meta.dirname, 'judge-in-process.ts');
/** With a bug in it, code may never end. */
const LONGEST_MS = 600_000;

export interface Bug {
  readonly id: string;
  readonly files: readonly string[];
  /** By which other processes know it. */
  readonly env: Readonly<Record<string, string>>;
}

/** By notation: the tests of a bug; none if it has none. */
const TESTS = {
  unit: ({ files }) => union(files.map(testsOf)),
  conformance: ({ files }) => union(files.filter(isShared).map(conformanceOf)),
  text: ({ files }) =>
    files.some((file) => /-(?:statements|expressions)\.ts$/.test(file)) ? ['test/unit/dynamo/statements.test.ts'] : [],
} as const satisfies Record<string, (bug: Bug) => readonly string[]>;

/** Each of these is judged by one process. */
export const NOTATIONS = ['in process', 'unit', 'conformance', 'text'] as const;
type Notation = (typeof NOTATIONS)[number];

interface Judged {
  readonly id: string;
  readonly notation: Notation;
  readonly cells: readonly Cell[];
  /** At which it was judged. */
  readonly commit: string;
}

export class Judge {
  readonly #file: string;
  readonly #engine: string | undefined;
  readonly #judged = new Map<string, readonly Cell[]>();
  readonly #sound = new Set<string>();
  readonly commits = new Set<string>();

  /** @param engine endpoint of an embedded engine */
  constructor(file: string, engine: string | undefined) {
    this.#file = file;
    this.#engine = engine;
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    for (const line of lines) {
      const { id, notation, cells, commit } = JSON.parse(line) as Judged;
      this.commits.add(commit);
      this.#judged.set(`${notation} ${id}`, cells);
    }
  }

  /** The cells of this bug so far. */
  cells({ id }: Bug): readonly Cell[] {
    return NOTATIONS.flatMap((notation) => this.#judged.get(`${notation} ${id}`) ?? []);
  }

  /** Whether every notation has judged this bug. */
  isComplete({ id }: Bug): boolean {
    return NOTATIONS.every((notation) => this.#judged.has(`${notation} ${id}`));
  }

  async judge(bug: Bug, notation: Notation): Promise<void> {
    const { id } = bug;
    if (this.#judged.has(`${notation} ${id}`)) return;
    const cells = notation === 'in process' ? await inProcess(bug) : await this.#tested(bug, notation);
    if (cells === undefined) return;
    this.#judged.set(`${notation} ${id}`, cells);
    const commit = head();
    this.commits.add(commit);
    const line: Judged = { id, notation, cells, commit };
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  /** @returns undefined if no test can judge it */
  async #tested(bug: Bug, column: keyof typeof TESTS): Promise<readonly Cell[] | undefined> {
    const places = TESTS[column](bug);
    if (places.length === 0) return [];
    const isKilled = await this.#fails(places, bug.env);
    if (isKilled === true && !(await this.#areSound(places))) return undefined;
    return [{ column, kind: isKilled === undefined ? 'undecided' : isKilled ? 'killed' : 'lives' }];
  }

  /** Whether these tests pass without a bug. If they do not, they would seem to notice every bug. */
  async #areSound(places: readonly string[]): Promise<boolean> {
    const what = places.join(',');
    if (this.#sound.has(what)) return true;
    const areSound = (await this.#fails(places, {})) === false;
    if (areSound) this.#sound.add(what);
    else console.error(`${what} fails without a bug`);
    return areSound;
  }

  /** @returns undefined: it did not end */
  async #fails(places: readonly string[], env: Bug['env']): Promise<boolean | undefined> {
    const engine = this.#engine === undefined ? {} : { PLAIN_ENGINE: this.#engine };
    const { code } = await ended([VITEST, 'run', '--config', 'proof/plain-vitest.config.ts', '--reporter=dot'], {
      ...env,
      ...engine,
      PLAIN_TESTS: places.join(','),
    });
    return code === null ? undefined : code !== 0;
  }
}

function head(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** Cells that a process which never ended has not told are undecided. */
async function inProcess({ env }: Bug): Promise<readonly Cell[]> {
  const { code, output } = await ended(['--max-semi-space-size=32', IN_PROCESS], env);
  const cells = output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Cell);
  if (cells.length === 0 && code !== null) throw new Error(`no code can be loaded with ${JSON.stringify(env)}`);
  return cells;
}

/** A process of this project. @returns no code if it had to be killed */
export async function ended(argv: readonly string[], env: Bug['env']) {
  const child = spawn(process.execPath, argv, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // The workers of a run that hangs do not end with it, but its process group does.
  const limit = setTimeout(() => {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  }, LONGEST_MS);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const output = await text(child.stdout);
  const [code] = await closed;
  clearTimeout(limit);
  return { code, output };
}

function union(places: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(places.flat())];
}

function isShared(file: string): boolean {
  return file.startsWith('shared/');
}
