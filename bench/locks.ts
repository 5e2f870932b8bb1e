/**
 * `npm run bench -- locks`: compares ours with the lock clients of npm, on one warmed engine, alternating in one process.
 *
 * Two questions:
 *   1. How many uncontended acquire-and-release cycles a second, on fresh and on old keys, alone and 16 in flight,
 *      at what charge per cycle, and with how much of our CPU?
 *   2. How late is a lock handed over that was held for 6 s, in simulated time and on the engine? What do 50 waiters read?
 * Each contestant has the table from its own documentation:
 * the peers' tables have a key only, ours the two indexes of `leasehold up`, but not its stream (`silent-table.ts`).
 * Rates depend on the machine and its other load; compare the ratios, each within one round, and the counts.
 */
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { createLeasehold } from '../shared/client/leasehold.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, wholeNumber } from './arguments.ts';
import type { Contestant } from './locks/contestants.ts';
import { openContestants } from './locks/contestants.ts';
import type { SceneName, Turns } from './locks/cycles.ts';
import { SCENE_NAMES, playRounds, rateOf, ratiosTo } from './locks/cycles.ts';
import { print, spreadOf } from './figures.ts';
import type { Spread } from './figures.ts';
import type { Handover } from './locks/handover.ts';
import { handoversInSimulatedTime, handoversOnEngine, readsOfWaiters } from './locks/handover.ts';
import { installPeers } from './locks/installed.ts';
import type { Bill } from './locks/peers.ts';

interface Settings {
  readonly rounds: number;
  readonly roundMs: number;
  readonly engine: BenchEngine;
  readonly onlyCycles?: boolean;
  readonly onlyHandovers?: boolean;
  readonly json?: boolean;
}

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  if (settings.onlyHandovers === true) return onlyHandovers(settings);
  const reason = installPeers();
  if (reason !== undefined) {
    console.error(`could not install the lock clients to compare with: ${reason}`);
    return 1;
  }
  const engine = await startEngine(
    settings.engine === 'dynamodb-local'
      ? { kind: settings.engine, compiler: 'full', isBare: true }
      : { kind: settings.engine, isBare: true },
  );
  try {
    const figures = await figuresOf(engine.endpoint, settings);
    print(inJson(figures, settings), settings.json);
    return 0;
  } finally {
    await engine.stop();
  }
}

async function onlyHandovers({ json }: Settings): Promise<number> {
  const engine = await startEngine({ kind: 'embedded' });
  try {
    using leasehold = createLeasehold({ endpoint: engine.endpoint });
    await leasehold.createTable();
    print({ handovers: await handoversOf(engine.endpoint) }, json);
    return 0;
  } finally {
    await engine.stop();
  }
}

interface Figures {
  readonly entrants: readonly Entrant[];
  /** Ours relative to the best peer that takes over from a dead holder. */
  readonly ratios: Readonly<Record<SceneName, Spread>>;
  readonly handovers?: Handovers;
}

interface Handovers {
  readonly simulated: Handover;
  readonly real: Handover;
  readonly readUnitsOf50: number;
}

interface Entrant {
  readonly contestant: Contestant;
  readonly turns: Turns;
  /** Cost of one cycle on an existing key. */
  readonly bill: Bill;
  readonly cpuMsPerCycle: Spread;
}

async function figuresOf(endpoint: string, settings: Settings): Promise<Figures> {
  const contestants = await openContestants(endpoint);
  const played = await playRounds(contestants, settings);
  const entrants: Entrant[] = [];
  for (const [contestant, turns] of played) {
    const bill = await contestant.costOfCycle('cost');
    await contestant.close();
    const cpuMsPerCycle = spreadOf(turns.sameAlone.map((turn) => turn.cpuMsPerCycle));
    entrants.push({ contestant, turns, bill, cpuMsPerCycle });
  }
  const [ours, ...peers] = entrants;
  if (ours === undefined) throw new Error('ours is the first contestant');
  const alike = peers.filter(({ contestant }) => contestant.takesOver).map(({ turns }) => turns);
  const figures = { entrants, ratios: ratiosTo(ours.turns, alike) };
  return settings.onlyCycles === true ? figures : { ...figures, handovers: await handoversOf(endpoint) };
}

async function handoversOf(endpoint: string): Promise<Handovers> {
  return {
    simulated: await handoversInSimulatedTime(4_000),
    real: await handoversOnEngine(endpoint, 40),
    readUnitsOf50: await readsOfWaiters(50),
  };
}

function inJson({ entrants, ratios, handovers }: Figures, { engine, rounds }: Settings): object {
  const contestants = entrants.map(({ contestant, turns, bill, cpuMsPerCycle }) => {
    const cyclesPerSecond = Object.fromEntries(SCENE_NAMES.map((scene) => [scene, rateOf(turns, scene)]));
    return [contestant.name, { cyclesPerSecond, cpuMsPerCycle, ...bill }];
  });
  return { ratios, engine, rounds, contestants: Object.fromEntries(contestants) as object, handovers };
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- locks')
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .option('--round-ms <ms>', 'how long each contestant runs in each scene of a round', wholeNumber(1), 1_000)
    .addOption(engineOption('dynamodb-local'))
    .option('--only-cycles', 'leave out the handovers')
    .option('--only-handovers', 'measure only how late a lock is handed over')
    .option('--json', 'the figures as one JSON object, as the last line')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
