/**
 * `npm run spec:traces -- [--histories N] [--from SEED] [--profile NAME] [--sum FILE] [--json] [--jar FILE]`
 *
 * Runs histories of the shipped code, and checks the lives of their task, lock and session rows against the specification.
 */
import { Command, Option } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import type { Tlc } from '../spec/tlc.ts';
import { findTlc } from '../spec/tlc.ts';
import { seed } from '../../test/support/arguments.ts';
import type { ProfileName } from '../simulation/profile.ts';
import { PROFILE_NAMES, isLasting } from '../simulation/profile.ts';
import { runSeed } from '../simulation/run-seed.ts';
import { rejectedOf } from './check.ts';
import type { Exported } from './export.ts';
import { exportTraces } from './export.ts';
import type { Sum } from './sum.ts';
import { nothingFrom, readSum, rowsOf, unseenIn, withHistory, writeSum } from './sum.ts';

interface Flags {
  readonly histories: number;
  readonly from: bigint;
  readonly profile: ProfileName;
  readonly json: boolean;
  readonly sum?: string;
  readonly jar?: string;
}

/** Histories per run of the checker: its start takes as long as three histories. */
const HISTORIES_A_FILE = 25;
/** Lasting histories have ten times the events. */
const LASTING_A_FILE = 2;
const SHOWN = 5;

const command = new Command('npm run spec:traces --')
  .description('Holds recorded histories of the shipped code to the specification.')
  .option('--histories <n>', 'so many', wholeNumber(1), 20)
  .addOption(new Option('--from <n>', 'the first seed').argParser(seed).default(1n, '1'))
  .addOption(new Option('--profile <name>', 'what a history is made of').choices(PROFILE_NAMES).default('swarm'))
  .option('--sum <file>', 'go on where the last sitting ended, and add this one to the file')
  .option('--json', 'one JSON object at the end', false)
  .option('--jar <file>', 'a jar of TLC that is here already');

async function main({ histories, from, profile, json, sum: file, jar }: Flags): Promise<number> {
  const tlc = findTlc(jar);
  if (typeof tlc === 'string') {
    console.log(`skipped: ${tlc}`);
    return process.env.CI === 'true' ? 1 : 0;
  }
  let sum = (file === undefined ? undefined : readSum(file)) ?? nothingFrom(Number(from));
  const atOnce = isLasting(profile) ? LASTING_A_FILE : HISTORIES_A_FILE;
  for (let left = histories; left > 0; left -= atOnce) {
    sum = await sumWith(tlc, sum, profile, Math.min(left, atOnce));
    // After each, so that a run can be interrupted.
    if (file !== undefined) writeSum(file, sum);
  }
  print(sum, json);
  return sum.rejected.length === 0 ? 0 : 1;
}

/** The histories that come next, run and checked. */
async function sumWith(tlc: Tlc, before: Sum, profile: ProfileName, histories: number): Promise<Sum> {
  const startedAt = performance.now();
  const first = before.from + before.histories;
  const exported: Exported[] = [];
  for (let index = 0; index < histories; index++)
    exported.push(exportTraces(await runSeed(BigInt(first + index), profile, { keepHistory: true })));
  const rejected = await rejectedOf(tlc, exported);
  const sum = exported.reduce((so, one) => withHistory(so, one), before);
  const seconds = before.seconds + (performance.now() - startedAt) / 1000;
  return { ...sum, rejected: [...before.rejected, ...rejected], seconds: Math.round(seconds) };
}

function print(sum: Sum, isJson: boolean): void {
  for (const line of sum.rejected.slice(0, SHOWN)) console.log(line);
  const rows = rowsOf(sum);
  if (isJson) {
    console.log(JSON.stringify({ ...sum, rejected: sum.rejected.length, rows, unseen: unseenIn(sum) }));
    return;
  }
  const { histories, from, events, traces, leftOut, verbs } = sum;
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  console.log(`${histories} histories from seed ${from}: ${rows.checked} traces (${list(traces)}), ${events} events`);
  console.log(`${sum.rejected.length} rejected; rows left out: ${rows.leftOut === 0 ? 'none' : list(leftOut)}`);
  console.log(`events: ${list(verbs)}`);
  console.log(`operators without an event: ${unseenIn(sum).join(', ') || 'none'}`);
}

command.parse();
process.exitCode = await main(command.opts<Flags>());
