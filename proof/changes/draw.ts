/** Draws changes: the same ones for the same seed, each equally likely. */
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import type { Drawn } from './change.ts';
import { spliced } from './change.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

interface Position {
  readonly line: number;
  readonly column: number;
}

/** A mutant as Stryker's instrumenter lists it. Lines begin at 0. */
interface Listed {
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status?: string | undefined;
  readonly location: { readonly start: Position; readonly end: Position };
}

type Instrumenter = new (logger: object) => {
  instrument(
    files: readonly { readonly name: string; readonly content: string; readonly mutate: boolean }[],
    options: object,
  ): Promise<{ readonly mutants: readonly Listed[] }>;
};

/** Stryker's packages are this folder's own, and are installed by the first draw: no other command needs them. */
const INSTRUMENTER = path.join(import.meta.dirname, 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js');

/** @param files patterns of sources */
export async function draw(count: number, seed: string, files: readonly string[]): Promise<readonly Drawn[]> {
  if (!existsSync(INSTRUMENTER)) install();
  const sources = new Map(
    globSync(files, { cwd: ROOT }).map((file) => [file, readFileSync(path.join(ROOT, file), 'utf8')]),
  );
  const { Instrumenter } = (await import(INSTRUMENTER)) as {
    readonly Instrumenter: Instrumenter;
  };
  const silent = { debug: () => undefined, info: () => undefined, isDebugEnabled: () => false };
  const listed = [...sources].map(([name, content]) => ({ name, content, mutate: true }));
  const options = { excludedMutations: ['StringLiteral'], ignorers: [], plugins: null, noHeader: true };
  const { mutants } = await new Instrumenter(silent).instrument(listed, options);
  const drawn: Drawn[] = [];
  for (const { rank: _, ...mutant } of ranked(mutants, seed, sources)) {
    if (drawn.length === count) break;
    if (isLoadable(sources.get(mutant.file) ?? '', mutant)) drawn.push(mutant);
  }
  return drawn;
}

function install(): void {
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts'], { cwd: import.meta.dirname, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm ci in proof/changes ended with ${String(status)}`);
}

function ranked(mutants: readonly Listed[], seed: string, sources: ReadonlyMap<string, string>) {
  return mutants
    .filter(({ status }) => status !== 'Ignored')
    .map(({ fileName: file, mutatorName: mutator, replacement, location: { start, end } }) => {
      const offset = offsetsOf(sources.get(file) ?? '');
      const isStatement = mutator === 'BlockStatement' || replacement === ';';
      const text = isStatement ? replacement : `(${replacement})`;
      const mutant = { file, line: start.line + 1, mutator, start: offset(start), end: offset(end), text };
      return {
        ...mutant,
        rank: createHash('sha256')
          .update(`${seed} ${JSON.stringify(mutant)}`)
          .digest('hex'),
      };
    })
    .toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
}

function isLoadable(source: string, drawn: Drawn): boolean {
  return ts.transpileModule(spliced(source, drawn), { reportDiagnostics: true }).diagnostics?.length === 0;
}

function offsetsOf(source: string): (at: Position) => number {
  const lines = source.split('\n');
  return ({ line, column }) => lines.slice(0, line).reduce((sum, { length }) => sum + length + 1, 0) + column;
}
