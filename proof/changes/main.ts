/**
 * `npm run changes -- seeded | blind | drawn`
 *
 * Puts one change after the other into the shipped code, each in separate processes, and prints who noticed it. Exit code 1: a seeded bug
 * survived its histories, or a blind one its test. Drawn changes may survive: they are listed.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { sideBySide } from '../../shared/core/runtime/in-flight.ts';
import { startTestEngines } from '../../test/support/engines.ts';
import { EQUIVALENT } from '../conjuncts/equivalent.ts';
import { BLIND_BUGS } from './blind/all.ts';
import type { BlindBug, Bug, Drawn, Mutant } from './change.ts';
import { draw } from './draw.ts';
import { failedTests, hunt, seedsTaken } from './judge.ts';
import { MUTANTS } from './seeded/all.ts';
import { conformanceOf, testsOf } from './tests-of.ts';

interface Shared {
  readonly workers: number;
  readonly json: boolean;
}

/** A history of the default mix takes half a second. */
const MIXED_HISTORIES = 8;

const program = new Command('npm run changes --').description('Breaks the code on purpose, and tells what noticed.');

withShared('seeded', 'bugs that each rule must notice, in histories')
  .addOption(only(MUTANTS))
  .option('--seeds <n>', 'histories until one counts as unnoticed', wholeNumber(1), 2_000)
  .action(seeded);
withShared('blind', 'bugs of readers who had not read the tests, each with its test')
  .addOption(only(BLIND_BUGS))
  .action(blind);
withShared('drawn', 'changes that nobody chose: by the nearest unit tests, conformance tests and eight histories')
  .argument('[files...]', 'draw from these instead of all of shared/')
  .option('--count <n>', 'how many', wholeNumber(1), 100)
  .option('--seed <text>', 'draw by this instead of the hash of the commit')
  .action(drawn);

async function seeded({
  only,
  seeds,
  workers,
  json,
}: Shared & { readonly only: readonly Mutant[]; readonly seeds: number }) {
  const found = await Promise.all(
    eachOf(only, workers, async (mutant) => {
      const result = await hunt(mutant, seeds);
      const { killer, also, error = '' } = result;
      const verdict = killer === null ? `SURVIVED ${error}` : `${killer} after ${String(result.seeds)}`;
      console.log(`${mutant.id}: ${verdict}${also.length > 0 ? `, also ${also.join(' ')}` : ''} (${mutant.what})`);
      return result;
    }),
  );
  const counts = seedsTaken(found);
  const coreSeconds = found.reduce((sum, { coreMs }) => sum + coreMs, 0) / 1_000;
  console.log(
    `${counts.length} of ${only.length} killed by the invariant named; median ${counts[Math.floor(counts.length / 2)] ?? '–'} seeds, ` +
      `worst ${counts.at(-1) ?? '–'}; ${coreSeconds.toFixed(0)} s of core time`,
  );
  for (const { id, what, proof } of EQUIVALENT) console.log(`\n${id} is equivalent: ${what}\n  ${proof}`);
  if (json) console.log(JSON.stringify({ mutants: only.length, killed: counts.length, each: found }));
  if (counts.length < only.length) process.exitCode = 1;
}

async function blind({ only, workers, json }: Shared & { readonly only: readonly BlindBug[] }) {
  const engines = await startTestEngines({ required: false });
  try {
    const found = await Promise.all(
      eachOf(only, workers, async (bug) => {
        const failed = await failedTests(bug, {
          tests: [bug.test],
          title: bug.title,
          engine: engines.embedded?.endpoint,
        });
        console.log(`${bug.id}: ${failed.length > 0 ? failed.join('; ') : 'SURVIVED'} (${bug.what})`);
        return failed.some((title) => title.includes(bug.title));
      }),
    );
    const killed = found.filter(Boolean).length;
    if (json) console.log(JSON.stringify({ blind: only.length, killed }));
    if (killed < only.length) process.exitCode = 1;
  } finally {
    await engines.stop();
  }
}

async function drawn(
  files: readonly string[],
  { count, seed, workers, json }: Shared & { readonly count: number; readonly seed?: string },
) {
  const by = seed ?? execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  console.log(`drawn by ${by}`);
  const changes = await draw(count, by, files.length > 0 ? files : ['shared/**/*.ts']);
  const engines = await startTestEngines({ required: false });
  const engine = engines.embedded?.endpoint;
  const killersOf = async (change: Drawn | undefined, file: string): Promise<readonly string[]> => {
    const killers: string[] = [];
    if ((await failedTests(change, { tests: testsOf(file), engine })).length > 0) killers.push('unit');
    if ((await failedTests(change, { tests: conformanceOf(file), engine })).length > 0) killers.push('conformance');
    if ((await hunt(change, MIXED_HISTORIES)).killer !== null) killers.push('histories');
    return killers;
  };
  try {
    // A test that fails without a change would notice every change.
    const rooms = [
      ...new Map(changes.map(({ file }) => [`${testsOf(file).join()} ${conformanceOf(file).join()}`, file])).values(),
    ];
    for (const killers of await Promise.all(eachOf(rooms, workers, (file) => killersOf(undefined, file))))
      if (killers.length > 0) throw new Error(`${killers.join(' and ')} fail without a change`);
    const verdicts = await Promise.all(
      eachOf(changes, workers, async (change) => {
        const killers = await killersOf(change, change.file);
        const { file, line, mutator, text } = change;
        const what = `${file}:${line} ${mutator} ${text.replaceAll(/\s+/g, ' ').slice(0, 60)}`;
        console.log(`${what}: ${killers.length === 0 ? 'LIVES' : killers.join(', ')}`);
        return killers;
      }),
    );
    const lives = verdicts.filter(({ length }) => length === 0).length;
    console.log(`of ${changes.length} drawn, ${lives} live`);
    if (json) console.log(JSON.stringify({ drawn: changes.length, lives }));
  } finally {
    await engines.stop();
  }
}

function eachOf<Item, Result>(
  items: readonly Item[],
  workers: number,
  work: (item: Item) => Promise<Result>,
): readonly Promise<Result>[] {
  const limit = sideBySide(workers);
  return items.map((item) => limit(() => work(item)));
}

function withShared(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--workers <n>', 'changes side by side', wholeNumber(1), availableParallelism())
    .option('--json', 'the figures as one JSON object, as the last line', false);
}

function only(all: readonly Bug[]): Option {
  return new Option('--only <ids>', 'some of them, separated by commas').default(all, 'all').argParser((ids: string) =>
    ids.split(',').map((id) => {
      const bug = all.find((known) => known.id === id);
      if (bug === undefined) throw new InvalidArgumentError(`no bug is named ${JSON.stringify(id)}`);
      return bug;
    }),
  );
}

await program.parseAsync();
