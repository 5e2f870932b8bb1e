/**
 * `npm run bench -- locks`: ours beside the lock clients of npm, on one warmed DynamoDB Local, taking turns in one process.
 *
 * Three questions:
 *   1. How many uncontended acquire-and-release cycles a second, on fresh and on old keys, alone and 16 in flight,
 *      what is a cycle charged, and how much of our own CPU does it take?
 *   2. How long after its death is a holder's key taken over, by a contender that comes early, late, or after the lease is over?
 *   3. How many requests a second do 200 contenders make for one key?
 * Rates depend on the machine and on who else uses it; their ratios and the counts are the figures.
 */
import Table from 'cli-table3';
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { systemClock as clock } from '../shared/runtime/clock.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import type { Contestant } from './locks/contestants.ts';
import { openContestants } from './locks/contestants.ts';
import { requestsOfCrowd } from './locks/crowd.ts';
import { installPeers } from './locks/installed.ts';
import { takeovers } from './locks/takeover.ts';
import { median } from './statistics.ts';

interface Settings {
  readonly rounds: number;
  readonly roundMs: number;
  readonly engine: BenchEngine;
}

const FLOWS = 16;
const SCENES = {
  'fresh, alone': { flows: 1, key: (_flow: number, cycle: number) => `fresh-${cycle}` },
  'fresh, 16': { flows: FLOWS, key: (flow: number, cycle: number) => `fresh-${flow}-${cycle}` },
  'same, alone': { flows: 1, key: (flow: number) => `same-${flow}` },
  'same, 16': { flows: FLOWS, key: (flow: number) => `same-${flow}` },
} as const;
type SceneName = keyof typeof SCENES;
const SCENE_NAMES = Object.keys(SCENES) as readonly SceneName[];

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const reason = installPeers();
  if (reason !== undefined) {
    console.error(`the lock clients to compare with cannot be had: ${reason}`);
    return 1;
  }
  const engine = await startEngine({ kind: settings.engine });
  try {
    const contestants = await openContestants(engine.endpoint);
    console.log(await cycles(contestants, settings));
    for (const contestant of contestants) await contestant.close();
    console.log(takeoverTable(await takeovers(engine.endpoint)));
    const perSecond = await requestsOfCrowd(engine.endpoint, { contenders: 200, seconds: 30 });
    console.log(
      `200 contenders, each with a client of its own, for one key: ${perSecond.toFixed(0)} requests a second together`,
    );
    return 0;
  } finally {
    await engine.stop();
  }
}

async function cycles(contestants: readonly Contestant[], { rounds, roundMs }: Settings): Promise<string> {
  const rates = new Map<Contestant, Record<SceneName, number[]>>();
  const cpuMs = new Map<Contestant, number[]>();
  for (const contestant of contestants) {
    rates.set(contestant, { 'fresh, alone': [], 'fresh, 16': [], 'same, alone': [], 'same, 16': [] });
    cpuMs.set(contestant, []);
  }
  // The first round warms the engine and the compiler, and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const scene of SCENE_NAMES) {
      for (const contestant of contestants) {
        const { rate, cpu } = await measure(contestant, scene, roundMs, `r${round}`);
        if (round === 0) continue;
        rates.get(contestant)?.[scene].push(rate);
        if (scene === 'same, alone') cpuMs.get(contestant)?.push(cpu);
      }
    }
    console.error(`round ${round} of ${rounds}${round === 0 ? ' (warm-up)' : ''}`);
  }
  const table = new Table({ head: ['cycles a second', ...SCENE_NAMES, 'requests', 'units (w/r)', 'client CPU'] });
  for (const contestant of contestants) {
    const { requests, writeUnits, readUnits } = await contestant.costOfCycle('cost');
    const figures = SCENE_NAMES.map((scene) => median(rates.get(contestant)?.[scene] ?? []).toFixed(0));
    const cpu = `${median(cpuMs.get(contestant) ?? []).toFixed(2)} ms`;
    table.push([contestant.name, ...figures, requests, `${writeUnits} / ${readUnits}`, cpu]);
  }
  return `${table.toString()}\n${ratios(contestants, rates)}`;
}

function ratios(
  contestants: readonly Contestant[],
  rates: ReadonlyMap<Contestant, Record<SceneName, number[]>>,
): string {
  const [ours, ...others] = contestants;
  const peers = others.filter(({ isPeer }) => isPeer);
  if (ours === undefined) return '';
  const lines = SCENE_NAMES.map((scene) => {
    const rateOf = (contestant: Contestant): number => median(rates.get(contestant)?.[scene] ?? []);
    const times = (of: readonly Contestant[]): string => (rateOf(ours) / Math.max(...of.map(rateOf))).toFixed(2);
    const alike = peers.filter(({ takesOver }) => takesOver);
    return `${scene}: ${times(alike)} times the best peer that takes over from the dead, ${times(peers)} times the best of all`;
  });
  return lines.join('\n');
}

/** Cycles a second, and milliseconds of this process's CPU per cycle. */
async function measure(
  contestant: Contestant,
  scene: SceneName,
  ms: number,
  prefix: string,
): Promise<{ readonly rate: number; readonly cpu: number }> {
  const { flows, key } = SCENES[scene];
  const startedAt = clock.monotonic();
  const cpuBefore = process.cpuUsage();
  let done = 0;
  const flow = async (index: number): Promise<void> => {
    for (let cycle = 0; clock.monotonic() - startedAt < ms; cycle++) {
      await contestant.cycle(`${prefix}-${key(index, cycle)}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: flows }, (_, index) => flow(index)));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { rate: (done / (clock.monotonic() - startedAt)) * 1_000, cpu: (user + system) / 1_000 / done };
}

function takeoverTable(rows: Awaited<ReturnType<typeof takeovers>>): string {
  const head = ['ms from death to the next grant, lease 2 s', 'arrives at 0.1 s', 'at 1.5 s', 'at 3 s'];
  const table = new Table({ head });
  for (const { name, ms } of rows) table.push([name, ...ms.map((value) => value.toFixed(0))]);
  return table.toString();
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- locks')
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .option('--round-ms <ms>', 'how long each contestant runs in each round', wholeNumber(1), 1_000)
    .addOption(engineOption('dynamodb-local'))
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
