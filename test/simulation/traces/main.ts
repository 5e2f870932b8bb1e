/**
 * `npm run spec:traces -- [--histories N] [--from N] [--mutants [IDS...]] [--json] [--jar FILE]`
 *
 * Runs histories of the shipped code, and holds the life of each task row in them to the specification; with `--mutants` those of code that
 * was broken on purpose, which must be rejected.
 */
import { Command, Option } from 'commander';
import { wholeNumber } from '../../../cli/arguments.ts';
import { findTlc } from '../../../spec/tlc.ts';
import { seed } from '../../support/arguments.ts';
import { runSeed } from '../run-seed.ts';
import { rejectedOf } from './check.ts';
import { exportTraces } from './export.ts';
import { NOTICED_BY_TRACES, checkMutants } from './mutants.ts';

interface Flags {
  readonly histories: number;
  readonly from: bigint;
  readonly json: boolean;
  readonly mutants?: readonly string[] | true;
  readonly jar?: string;
}

/** What one run of the checker reads. */
const TRACES_A_FILE = 400;
const SHOWN = 5;

const command = new Command('npm run spec:traces --')
  .description('Holds recorded histories of the shipped code to the specification.')
  .option('--histories <n>', 'so many', wholeNumber(1), 20)
  .addOption(new Option('--from <n>', 'the first seed').argParser(seed).default(1n, '1'))
  .option('--mutants [ids...]', 'instead, seeded bugs of the code, each in so many histories at most')
  .option('--json', 'one JSON object at the end', false)
  .option('--jar <file>', 'a jar of TLC that is here already');

async function main({ histories, from, json, mutants, jar }: Flags): Promise<number> {
  const tlc = findTlc(jar);
  if (typeof tlc === 'string') {
    console.log(`skipped: ${tlc}`);
    return process.env.CI === 'true' ? 1 : 0;
  }
  if (mutants !== undefined)
    return (await checkMutants(mutants === true ? NOTICED_BY_TRACES : mutants, histories, json)) === 0 ? 0 : 1;
  const [verbs, leftOut] = [new Map<string, number>(), new Map<string, number>()];
  const rejected: string[] = [];
  const counts = { histories, traces: 0, events: 0, rejected: 0 };
  let waiting: string[] = [];
  const check = async (): Promise<void> => {
    rejected.push(...(await rejectedOf(tlc, waiting)));
    waiting = [];
  };
  for (let index = 0; index < histories; index++) {
    const exported = exportTraces(await runSeed(from + BigInt(index), 'swarm', { keepHistory: true }));
    counts.traces += exported.traces.length;
    counts.events += exported.events;
    for (const [name, count] of exported.verbs) verbs.set(name, (verbs.get(name) ?? 0) + count);
    for (const [why, count] of exported.leftOut) leftOut.set(why, (leftOut.get(why) ?? 0) + count);
    waiting.push(...exported.traces);
    if (waiting.length >= TRACES_A_FILE) await check();
  }
  await check();
  counts.rejected = rejected.length;
  for (const line of rejected.slice(0, SHOWN)) console.log(line);
  const sorted = (counted: ReadonlyMap<string, number>) =>
    Object.fromEntries([...counted].sort(([, a], [, b]) => b - a));
  console.log(JSON.stringify({ ...counts, leftOut: sorted(leftOut), verbs: sorted(verbs) }, undefined, json ? 0 : 2));
  return rejected.length === 0 ? 0 : 1;
}

command.parse();
process.exitCode = await main(command.opts<Flags>());
