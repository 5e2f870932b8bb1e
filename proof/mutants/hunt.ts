/** In a separate process: runs seeds against one mutant until its named invariant is violated. Prints one line of JSON. */
import { defined } from '../../shared/core/defined.ts';
import { MUTANTS } from './all.ts';
import { swapped } from '../blind/swap.ts';
import { loadWith } from '../matrix/load.ts';

export interface Hunt {
  readonly id: string;
  /** Histories until the named invariant was violated; null: it never was. */
  readonly seeds: number | null;
  readonly killer: string | null;
  /** Other invariants that were violated on the way. */
  readonly also: readonly string[];
  /** Time of a core that it took, which is what a machine with other work gives. */
  readonly coreMs: number;
  readonly error?: string;
}

Error.stackTraceLimit = 0;

const [id, limit = '2000'] = process.argv.slice(2);
const mutant = MUTANTS.find((candidate) => candidate.id === id);
if (mutant === undefined) throw new Error(`no mutant is named ${id}`);
loadWith((source, file) => swapped(source, file, mutant));
const { runSeed } = await import('../simulation/run-seed.ts');

const also = new Set<string>();
let hunt: Omit<Hunt, 'also' | 'coreMs'> = { id: mutant.id, seeds: null, killer: null };
for (let seed = 1; seed <= Number(limit) && hunt.seeds === null; seed++) {
  try {
    const { violations } = await runSeed(BigInt(seed), mutant.profile ?? 'swarm', {
      ...defined({ changes: mutant.changes }),
      stopAt: mutant.killedBy,
    });
    for (const { invariant } of violations) also.add(invariant);
    const killer = violations.find(({ invariant }) => mutant.killedBy.includes(invariant));
    if (killer !== undefined) hunt = { ...hunt, seeds: seed, killer: killer.invariant };
  } catch (error) {
    // A mutant may also break the code so that it falls over; that is noticed, and is not the death that was named.
    also.add(error instanceof Error ? error.name : 'error');
    hunt = { ...hunt, error: String(error) };
  }
}
const { user, system } = process.cpuUsage();
const found: Hunt = {
  ...hunt,
  also: [...also].filter((invariant) => invariant !== hunt.killer),
  coreMs: Math.round((user + system) / 1_000),
};
console.log(JSON.stringify(found));
