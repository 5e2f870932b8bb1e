/**
 * `node test/simulation/mutants.ts [--only M1,M7] [--seeds 2000] [--workers 2]`
 *
 * Hunts every seeded bug, each in a process of its own, and prints what killed it. Exit code 1: one survived.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { MUTANTS } from './mutations/all.ts';
import { EQUIVALENT, KILLED_ELSEWHERE } from './mutations/equivalent.ts';
import type { Hunt } from './mutations/hunt.ts';
import { huntAll, seedsTaken } from './mutations/hunt-all.ts';
import type { Mutant } from './mutations/mutation.ts';

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      seeds: { type: 'string', default: '2000' },
      workers: { type: 'string', default: String(availableParallelism()) },
    },
  });
  const only = values.only?.split(',');
  const waiting = MUTANTS.filter(({ id }) => only?.includes(id) ?? true);
  const found = await huntAll(waiting, {
    seeds: Number(values.seeds),
    workers: Number(values.workers),
    onFound: ({ id, seeds, killer, error = '' }) => {
      process.stderr.write(`${id}: ${seeds === null ? `SURVIVED ${error}` : `${killer} after ${seeds}`}\n`);
    },
  });
  print(waiting, found);
  return [...found.values()].some(({ seeds }) => seeds === null) ? 1 : 0;
}

function print(mutants: readonly Mutant[], found: ReadonlyMap<string, Hunt>): void {
  const table = new Table({
    head: ['mutant', 'what', 'named', 'killed by', 'seeds', 'also'],
    colWidths: [8, 70, 10, 11, 7, 24],
    wordWrap: true,
  });
  for (const { id, what, killedBy } of mutants) {
    const result = found.get(id);
    table.push([
      id,
      what,
      killedBy.join(' '),
      result?.killer ?? 'SURVIVED',
      result?.seeds ?? '–',
      result?.also.join(' ') ?? '',
    ]);
  }
  console.log(table.toString());
  const counts = seedsTaken(found);
  const coreSeconds = [...found.values()].reduce((sum, { coreMs }) => sum + coreMs, 0) / 1_000;
  const median = counts[Math.floor(counts.length / 2)];
  console.log(
    `${counts.length} of ${mutants.length} killed by the invariant named; median ${median ?? '–'} seeds, worst ${counts.at(-1) ?? '–'}; ${coreSeconds.toFixed(0)} s of core time`,
  );
  for (const { id, what, by } of KILLED_ELSEWHERE) console.log(`\n${id} is killed by a test: ${what}\n  ${by}`);
  for (const { id, what, proof } of EQUIVALENT) console.log(`\n${id} is equivalent: ${what}\n  ${proof}`);
}

process.exitCode = await main();
