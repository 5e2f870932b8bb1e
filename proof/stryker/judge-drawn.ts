/** Judges drawn mutants by three notations, each in processes of its own: unit tests, conformance tests, simulated histories. */
import path from 'node:path';
import type { Drawn } from './drawn.ts';
import { DRAWN_MUTANT } from './drawn.ts';
import { conformanceOf, testsOf } from './tests-of.ts';
import { ended } from '../matrix/judge.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { startTestEngines } from '../../test/support/engines.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const VITEST = path.join(ROOT, 'node_modules/vitest/vitest.mjs');
const SIMULATE = path.join(import.meta.dirname, 'simulate-drawn.ts');
/** A history of the default mix takes half a second. */
const HISTORIES = 8;

/** By notation: the tests of a file; none if it runs no tests. */
const NOTATIONS = { unit: testsOf, conformance: conformanceOf, simulation: () => [] } as const satisfies Record<
  string,
  (file: string) => readonly string[]
>;
type Notation = keyof typeof NOTATIONS;

/** Prints what kills each, and the figures. */
export async function judgeDrawn(
  mutants: readonly Drawn[],
  { workers, json }: { readonly workers: number; readonly json: boolean },
): Promise<void> {
  const engines = await startTestEngines({ required: false });
  const limit = sideBySide(workers);
  const judge = (notation: Notation, file: string, drawn?: Drawn): Promise<boolean> =>
    limit(() => isKilled(notation, NOTATIONS[notation](file), { embedded: engines.embedded?.endpoint, drawn }));
  const names = Object.keys(NOTATIONS) as Notation[];
  try {
    await ensureSound(mutants, names, judge);
    const verdicts = await Promise.all(
      mutants.map(async (mutant) => {
        const found = await Promise.all(names.map((notation) => judge(notation, mutant.file, mutant)));
        const killers = names.filter((_, at) => found[at]);
        const { file, line, mutator, text } = mutant;
        const change = `${file}:${line} ${mutator} ${text.replaceAll(/\s+/g, ' ').slice(0, 60)}`;
        console.log(`${change}: ${killers.length === 0 ? 'LIVES' : killers.join(', ')}`);
        return killers;
      }),
    );
    const killed = Object.fromEntries(names.map((name) => [name, verdicts.filter((by) => by.includes(name)).length]));
    const lives = verdicts.filter(({ length }) => length === 0).length;
    const figures = names.map((name) => `${killed[name]} are killed by ${name}`).join(', ');
    console.log(`of ${mutants.length} drawn, ${figures}; ${lives} live`);
    if (json) console.log(JSON.stringify({ drawn: mutants.length, killed, lives }));
  } finally {
    await engines.stop();
  }
}

/** @throws if a notation fails without a mutant, because it would kill every one */
async function ensureSound(
  mutants: readonly Drawn[],
  names: readonly Notation[],
  judge: (notation: Notation, file: string) => Promise<boolean>,
): Promise<void> {
  const runs = new Map(
    mutants.flatMap(({ file }) =>
      names.map((notation) => [`${notation} ${NOTATIONS[notation](file).join(' ')}`, { notation, file }] as const),
    ),
  );
  await Promise.all(
    [...runs].map(async ([what, { notation, file }]) => {
      if (await judge(notation, file)) throw new Error(`${what} fails without a mutant`);
    }),
  );
}

async function isKilled(
  notation: Notation,
  places: readonly string[],
  { embedded, drawn }: { readonly embedded: string | undefined; readonly drawn: Drawn | undefined },
): Promise<boolean> {
  const mutant = drawn === undefined ? {} : { [DRAWN_MUTANT]: JSON.stringify(drawn) };
  if (notation === 'simulation') return endsBadly([SIMULATE, String(HISTORIES)], mutant);
  const engine = embedded === undefined ? {} : { PLAIN_ENGINE: embedded };
  const env = { ...mutant, ...engine, PLAIN_TESTS: places.join(',') };
  return endsBadly([VITEST, 'run', '--config', 'proof/plain-vitest.config.ts', '--reporter=dot'], env);
}

async function endsBadly(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<boolean> {
  const { code } = await ended(argv, env);
  return code !== 0;
}
