/**
 * `npm run mutants -- [--only M1,M7] [--seeds 2000] [--workers 2]`
 * `npm run mutants -- --matrix FILE [--minutes 60] [--workers 1]` writes `proof/matrix.md` instead, and keeps in FILE what is judged.
 *
 * Hunts every seeded bug, each in a separate process, and prints the invariant that killed it. Exit code 1: one survived.
 */
import { availableParallelism } from 'node:os';
import Table from 'cli-table3';
import { Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { minutes } from '../../test/support/arguments.ts';
import { MUTANTS } from './all.ts';
import { EQUIVALENT } from '../conjuncts/equivalent.ts';
import type { Hunt } from './hunt.ts';
import { huntAll, seedsTaken } from './hunt-all.ts';
import { writeMatrix } from '../matrix/matrix.ts';
import type { Mutant } from './mutation.ts';

interface Flags {
  readonly only: readonly Mutant[];
  readonly seeds: number;
  readonly workers: number;
  readonly json: boolean;
  readonly matrix?: string;
  readonly minutes: number;
}

const command = new Command('npm run mutants --')
  .description('Breaks the protocol on purpose, one line at a time, and tells what noticed.')
  .addOption(new Option('--only <ids>', 'some of them, separated by commas').argParser(mutants).default(MUTANTS, 'all'))
  .option('--seeds <n>', 'histories until one counts as unnoticed', wholeNumber(1), 2_000)
  .option('--workers <n>', 'hunts side by side', wholeNumber(1), availableParallelism())
  .option(
    '--matrix <file>',
    'judge these and the blind bugs by every notation instead, and keep in this file what is judged',
  )
  .option('--minutes <n>', 'of a matrix: begin nothing more after these', minutes, Infinity)
  .option('--json', 'what killed each as one JSON object, as the last line', false);

async function main({ only, seeds, workers, json, matrix, minutes }: Flags): Promise<number> {
  if (matrix !== undefined) {
    await writeMatrix(matrix, { workers, minutes });
    return 0;
  }
  const found = await huntAll(only, {
    seeds,
    workers,
    onFound: ({ id, seeds, killer, error = '' }) => {
      process.stderr.write(`${id}: ${seeds === null ? `SURVIVED ${error}` : `${killer} after ${seeds}`}\n`);
    },
  });
  print(only, found);
  if (json)
    console.log(JSON.stringify({ mutants: only.length, killed: seedsTaken(found).length, each: [...found.values()] }));
  return [...found.values()].some(({ seeds }) => seeds === null) ? 1 : 0;
}

function mutants(ids: string): readonly Mutant[] {
  return ids.split(',').map((id) => {
    const mutant = MUTANTS.find((known) => known.id === id);
    if (mutant === undefined) throw new InvalidArgumentError(`no seeded bug is named ${JSON.stringify(id)}`);
    return mutant;
  });
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
  for (const { id, what, proof } of EQUIVALENT) console.log(`\n${id} is equivalent: ${what}\n  ${proof}`);
}

process.exitCode = await main(command.parse().opts<Flags>());
