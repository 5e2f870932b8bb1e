/**
 * `npm run simulate -- --seed N | --histories N | --minutes N [--profile NAME] [--from N]`
 *
 * One seed is replayed in full, with the timeline of what it violates; many are run on all cores, and end with a table.
 * Exit code 1: a violation, or a run that did not do enough to count.
 */
import { availableParallelism } from 'node:os';
import { print } from '../../bench/figures.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Profile, ProfileName } from './profile.ts';
import { PROFILE_NAMES } from './profile.ts';
import { makeTurnable } from './knobs/turn.ts';
import { runMany } from './run-many.ts';
import { summaryOf } from './summary.ts';

// Before anything imports the product.
makeTurnable();
const { wholeNumber } = await import('../../cli/arguments.ts');
const { minutes, seed } = await import('../../test/support/arguments.ts');
const { printFailure, replay } = await import('./replay.ts');

const FAILURES_SHOWN = 3;

interface Flags {
  readonly seed?: bigint;
  readonly histories?: number;
  readonly minutes?: number;
  readonly from: bigint;
  readonly profile: ProfileName;
  readonly workers: number;
  readonly json: boolean;
  /** Settings of the profile to change after drawing it: how a shrunk failure is replayed. */
  readonly changes: Partial<Profile>;
}

const command = new Command('npm run simulate --')
  .description('Runs the shipped code through histories full of faults, and judges each of them.')
  .addOption(
    new Option('--seed <n>', 'replay this history, and tell what it violates')
      .argParser(seed)
      .conflicts(['histories', 'minutes', 'from', 'workers']),
  )
  .option('--histories <n>', 'run so many', wholeNumber(1))
  .option('--minutes <n>', 'run for so long', minutes)
  .addOption(new Option('--from <n>', 'the first seed').argParser(seed).default(1n, '1'))
  .addOption(new Option('--profile <name>', 'what they are made of').choices(PROFILE_NAMES).default('mix'))
  .option('--workers <n>', 'histories side by side', wholeNumber(1), availableParallelism())
  .addOption(
    new Option('--json', 'the figures as one JSON object, as the last line').default(false).conflicts(['seed']),
  )
  .addOption(
    new Option('--changes <json>', 'settings to change in the profile that was drawn')
      .argParser(changes)
      .default({}, 'none'),
  );

async function main({ seed, ...flags }: Flags): Promise<number> {
  if (seed !== undefined) return (await replay({ ...flags, seed })) ? 0 : 1;
  if (flags.histories === undefined && flags.minutes === undefined)
    command.error('error: say which history (--seed), how many (--histories), or how long (--minutes)', {
      exitCode: 2,
    });
  const { histories = Infinity } = flags;
  const tally = await runMany({
    ...flags,
    histories,
    minutes: flags.minutes ?? Infinity,
    onProgress: (soFar) => {
      process.stderr.write(`${soFar.progress()}\n`);
    },
  });
  for (const failure of tally.failures.slice(0, FAILURES_SHOWN)) await printFailure(failure.seed, flags.profile);
  print(summaryOf(tally), flags.json);
  return tally.failures.length > 0 || tally.shortcomings().length > 0 ? 1 : 0;
}

function changes(text: string): Partial<Profile> {
  try {
    return JSON.parse(text) as Partial<Profile>;
  } catch {
    throw new InvalidArgumentError('must be a JSON object, as a failure prints it');
  }
}

process.exitCode = await main(command.parse().opts<Flags>());
