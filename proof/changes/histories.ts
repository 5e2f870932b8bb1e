/**
 * In a separate process: runs histories with the change of the environment until a rule is violated, and prints a line of JSON. A seeded
 * bug has its own settings and the rules that are named for it; any other change meets the default mix and all rules.
 */
import { defined } from '../../shared/core/defined.ts';
import { watchSpins } from '../../test/support/spin-watch.ts';
import { makeTurnable } from '../simulation/knobs/turn.ts';
import { changeOfEnvironment, loadChanged } from './load.ts';

export interface Hunt {
  /** Histories until a rule was violated; null: all rules held. */
  readonly seeds: number | null;
  readonly killer: string | null;
  /** Other rules that were violated on the way. */
  readonly also: readonly string[];
  /** Time of a core that it took, which is what a machine with other work gives. */
  readonly coreMs: number;
  readonly error?: string;
}

Error.stackTraceLimit = 0;

const change = changeOfEnvironment();
const seeded = change !== undefined && 'killedBy' in change ? change : undefined;
// Before the hook that makes constants variables: that one adds to the source, and this one counts on it.
loadChanged();
if (seeded === undefined) makeTurnable();
const { runSeed } = await import('../simulation/run-seed.ts');

const [limit = '2000'] = process.argv.slice(2);
const also = new Set<string>();
const begins = watchSpins();
let hunt: Omit<Hunt, 'also' | 'coreMs'> = { seeds: null, killer: null };
for (let seed = 1; seed <= Number(limit) && hunt.seeds === null; seed++) {
  begins(`history ${seed}`);
  try {
    const { violations } = await (seeded === undefined
      ? runSeed(BigInt(seed), 'mix', { stopAtViolation: true })
      : runSeed(BigInt(seed), seeded.profile ?? 'swarm', {
          ...defined({ changes: seeded.changes }),
          stopAt: seeded.killedBy,
        }));
    for (const { invariant } of violations) also.add(invariant);
    const killer = violations.find(({ invariant }) => seeded === undefined || seeded.killedBy.includes(invariant));
    if (killer !== undefined) hunt = { ...hunt, seeds: seed, killer: killer.invariant };
  } catch (error) {
    // A change may also break the code so that it falls over. That is noticed, but is not the death that a seeded bug names.
    const name = error instanceof Error ? error.name : 'error';
    also.add(name);
    hunt = { ...hunt, error: String(error), ...(seeded === undefined && { seeds: seed, killer: name }) };
  }
}
const { user, system } = process.cpuUsage();
const found: Hunt = {
  ...hunt,
  also: [...also].filter((invariant) => invariant !== hunt.killer),
  coreMs: Math.round((user + system) / 1_000),
};
console.log(JSON.stringify(found));
