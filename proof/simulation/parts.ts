/**
 * Run time of histories, by part of the system.
 *
 * The run time of the code under test bounds the speed of any simulation of it: `bound` is the speed if everything else cost nothing.
 */
import { Session } from 'node:inspector/promises';
import type { Profiler } from 'node:inspector';
import Table from 'cli-table3';
import type { ProfileName } from './profile.ts';
import { runSeed } from './run-seed.ts';

interface Run {
  readonly histories: number;
  readonly from: bigint;
  readonly profile: ProfileName;
}

/** Path prefixes of each part; the first that fits counts. */
const PARTS: readonly (readonly [part: string, prefixes: readonly string[]])[] = [
  ['simulated DynamoDB', ['shared/testing/simulated-dynamo/']],
  ['checker', ['proof/simulation/invariants/', 'proof/simulation/checker.ts', 'proof/simulation/liveness.ts']],
  ['workloads, faults, record', ['shared/testing/', 'proof/', 'test/']],
  ['code under test', ['shared/']],
];
const ENGINE = 'Node: memory, promises, timers, hashes';
const ROOT = new URL('../../', import.meta.url).href;
const SAMPLE_EVERY_US = 500;

export async function printParts(run: Run): Promise<void> {
  Error.stackTraceLimit = 0;
  // The first time through compiles; the second is without the profiler, which costs time itself.
  const shares = await profiled(run);
  print(shares, await stepsPerSecond(run));
}

/** Self time of each part, of all. */
async function profiled(run: Run): Promise<ReadonlyMap<string, number>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US });
  await session.post('Profiler.start');
  await runAll(run);
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  return sharesOf(profile);
}

async function stepsPerSecond(run: Run): Promise<number> {
  const startedAt = process.cpuUsage();
  const steps = await runAll(run);
  const { user, system } = process.cpuUsage(startedAt);
  return steps / ((user + system) / 1e6);
}

async function runAll({ histories, from, profile }: Run): Promise<number> {
  let steps = 0;
  for (let index = 0; index < histories; index++)
    steps += (await runSeed(from + BigInt(index), profile, { stopAtViolation: true })).steps;
  return steps;
}

function sharesOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): ReadonlyMap<string, number> {
  const parts = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame.url)]));
  const total = timeDeltas.reduce((sum, delta) => sum + delta, 0);
  const shares = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const part = parts.get(id) ?? ENGINE;
    shares.set(part, (shares.get(part) ?? 0) + (timeDeltas[index] ?? 0) / total);
  }
  return shares;
}

function partOf(url: string): string {
  const file = url.startsWith(ROOT) ? url.slice(ROOT.length) : '';
  return PARTS.find(([, prefixes]) => prefixes.some((prefix) => file.startsWith(prefix)))?.[0] ?? ENGINE;
}

function print(shares: ReadonlyMap<string, number>, speed: number): void {
  const table = new Table({
    head: ['part', 'share of the time'],
    style: { head: [], border: [] },
    colAligns: ['left', 'right'],
  });
  for (const [part, share] of [...shares].sort(([, one], [, other]) => other - one))
    table.push([part, `${(share * 100).toFixed(1)} %`]);
  console.log(table.toString());
  const bound = speed / (shares.get(PARTS[0]![0]) ?? 1);
  console.log(
    `${thousands(speed)} steps per second of one core; ${thousands(bound)} if all but the code under test cost nothing`,
  );
}

function thousands(value: number): string {
  return Math.round(value / 1000).toLocaleString('en') + ',000';
}
