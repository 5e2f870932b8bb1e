/**
 * `node test/simulation/simulate.ts --seed N | --histories N | --minutes N [--profile NAME] [--from N]`
 *
 * One seed is replayed in full, with the timeline of what it violates; many are run on all cores, and end with a table.
 * Exit code 1: a violation, or a run that did not do enough to count.
 */
import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import type { Profile, ProfileName } from './profile.ts';
import { PROFILE_NAMES } from './profile.ts';
import { printFailure, replay } from './replay.ts';
import { runMany } from './run-many.ts';
import { printSummary } from './summary.ts';

const USAGE = `usage: simulate.ts --seed N [--changes JSON] | --histories N | --minutes N  [--profile ${PROFILE_NAMES.join('|')}] [--from N] [--workers N]`;

interface Options {
  readonly seed: bigint | undefined;
  readonly histories: number;
  readonly minutes: number;
  readonly from: bigint;
  readonly profile: ProfileName;
  readonly workers: number;
  /** Settings of the profile to change after drawing it: how a shrunk failure is replayed. */
  readonly changes: Partial<Profile>;
}

function optionsOf(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      histories: { type: 'string' },
      minutes: { type: 'string' },
      from: { type: 'string', default: '1' },
      profile: { type: 'string', default: 'swarm' },
      workers: { type: 'string' },
      changes: { type: 'string', default: '{}' },
    },
  });
  const profile = PROFILE_NAMES.find((name) => name === values.profile);
  if (profile === undefined) throw new Error(`no profile is named ${values.profile}\n${USAGE}`);
  if (values.seed === undefined && values.histories === undefined && values.minutes === undefined)
    throw new Error(USAGE);
  return {
    seed: values.seed === undefined ? undefined : BigInt(values.seed),
    histories: Number(values.histories ?? Infinity),
    minutes: Number(values.minutes ?? Infinity),
    from: BigInt(values.from),
    profile,
    workers: Number(values.workers ?? availableParallelism()),
    changes: JSON.parse(values.changes) as Partial<Profile>,
  };
}

async function main(): Promise<number> {
  const options = optionsOf(process.argv.slice(2));
  if (options.seed !== undefined) return (await replay({ ...options, seed: options.seed })) ? 0 : 1;
  const tally = await runMany({
    ...options,
    onProgress: (soFar) => {
      process.stderr.write(`${soFar.progress()}\n`);
    },
  });
  printSummary(tally);
  for (const failure of tally.failures.slice(0, 3)) await printFailure(failure.seed, options.profile);
  return tally.failures.length > 0 || tally.shortcomings().length > 0 ? 1 : 0;
}

process.exitCode = await main();
