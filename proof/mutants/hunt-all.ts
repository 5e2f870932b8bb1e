/** Hunts seeded bugs, each in a separate process, so that one bug's changes cannot affect another. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Hunt } from './hunt.ts';
import type { Mutant } from './mutation.ts';

const HUNT = fileURLToPath(new URL('./hunt.ts', import.meta.url));
/** Most of what a hunt loads is the same in each. */
const COMPILED = fileURLToPath(new URL('../../.leasehold/compile-cache', import.meta.url));

export async function huntAll(
  mutants: readonly Mutant[],
  options: { readonly seeds: number; readonly workers: number; readonly onFound?: (hunt: Hunt) => void },
): Promise<ReadonlyMap<string, Hunt>> {
  const found = new Map<string, Hunt>();
  const queue = [...mutants];
  await Promise.all(
    Array.from({ length: options.workers }, async () => {
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const result = await hunt(mutant, options.seeds);
        found.set(mutant.id, result);
        options.onFound?.(result);
      }
    }),
  );
  return found;
}

function hunt({ id }: Mutant, seeds: number): Promise<Hunt> {
  return new Promise((resolve) => {
    const env = { NODE_COMPILE_CACHE: COMPILED, ...process.env };
    execFile(process.execPath, [HUNT, id, String(seeds)], { env }, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as Hunt);
      else resolve({ id, seeds: null, killer: null, also: [], coreMs: 0, error: error.message });
    });
  });
}

/** Seeds that it took, sorted; mutants that survived are not among them. */
export function seedsTaken(found: ReadonlyMap<string, Hunt>): readonly number[] {
  return [...found.values()].flatMap(({ seeds }) => seeds ?? []).sort((one, other) => one - other);
}
