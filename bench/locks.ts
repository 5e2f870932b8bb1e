/**
 * `npm run bench -- locks`: compares ours with the lock clients of npm, on one warmed engine, alternating in one process.
 *
 * Four questions:
 *   1. How many uncontended acquire-and-release cycles a second, on fresh and on old keys, alone and 16 in flight,
 *      at what charge per cycle, and with how much of our own CPU?
 *   2. How long after its death is a holder's key taken over, by a contender that comes early, late, or after the lease has expired?
 *   3. How many requests a second do 200 contenders make for one key?
 *   4. How late is a lock handed over that was held for 6 s, in simulated time and on the engine? What do 50 waiters read meanwhile?
 * Each contestant has the table from its own documentation:
 * the peers' tables have a key only, ours the two indexes of `leasehold up`, but not its stream (`silent-table.ts`).
 * Rates depend on the machine and its other load; compare the ratios, each within one round, and the counts.
 * `--latency 5ms` delays every response, and is the closest to a service across a network.
 */
import { Command } from 'commander';
import { startEngine } from '../local/engine.ts';
import { createLeasehold } from '../shared/client/leasehold.ts';
import type { BenchEngine } from './arguments.ts';
import { engineOption, milliseconds, wholeNumber } from './arguments.ts';
import type { Contestant } from './locks/contestants.ts';
import { openContestants } from './locks/contestants.ts';
import { requestsOfCrowd } from './locks/crowd.ts';
import type { SceneName, Spread, Turns } from './locks/cycles.ts';
import { SCENES, SCENE_NAMES, playRounds, rateOf, ratiosTo, spreadOf } from './locks/cycles.ts';
import { tableOf } from './figures.ts';
import { openDelayedLine } from './locks/delay.ts';
import type { Handover } from './locks/handover.ts';
import { handoversInSimulatedTime, handoversOnEngine, readsOfWaiters } from './locks/handover.ts';
import { installPeers } from './locks/installed.ts';
import type { Bill } from './locks/peers.ts';
import { takeovers } from './locks/takeover.ts';

interface Settings {
  readonly rounds: number;
  readonly roundMs: number;
  readonly engine: BenchEngine;
  /** Milliseconds. */
  readonly latency: number;
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
    await using line = await openDelayedLine(engine.endpoint, settings.latency);
    const endpoint = settings.latency === 0 ? engine.endpoint : line.endpoint;
    const figures = await figuresOf(endpoint, settings);
    console.log(report(figures, settings));
    if (settings.json === true) console.log(JSON.stringify(inJson(figures, settings), withThreeDigits));
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
    const handovers = await handoversOf(engine.endpoint);
    console.log(json === true ? JSON.stringify({ handovers }, withThreeDigits) : handoverText(handovers));
    return 0;
  } finally {
    await engine.stop();
  }
}

interface Figures {
  readonly entrants: readonly Entrant[];
  /** Ours relative to the best peer that takes over from a dead holder, and to the best of all. */
  readonly ratios: Readonly<Record<SceneName, Spread>>;
  readonly ratiosToAll: Readonly<Record<SceneName, Spread>>;
  readonly rescues?: Awaited<ReturnType<typeof takeovers>>;
  readonly crowdRequestsPerSecond?: number;
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
  const [ours, ...others] = entrants;
  if (ours === undefined) throw new Error('ours is the first contestant');
  const peers = others.filter(({ contestant }) => contestant.isPeer);
  const alike = peers.filter(({ contestant }) => contestant.takesOver);
  const figures = {
    entrants,
    ratios: ratiosTo(ours.turns, alike.map(turnsOf)),
    ratiosToAll: ratiosTo(ours.turns, peers.map(turnsOf)),
  };
  if (settings.onlyCycles === true) return figures;
  const rescues = await takeovers(endpoint);
  const handovers = await handoversOf(endpoint);
  return {
    ...figures,
    rescues,
    handovers,
    crowdRequestsPerSecond: await requestsOfCrowd(endpoint, { contenders: 200, seconds: 30 }),
  };
}

async function handoversOf(endpoint: string): Promise<Handovers> {
  return {
    simulated: await handoversInSimulatedTime(4_000),
    real: await handoversOnEngine(endpoint, 40),
    readUnitsOf50: await readsOfWaiters(50),
  };
}

const turnsOf = ({ turns }: Entrant): Turns => turns;

function report(figures: Figures, { engine, latency, rounds }: Settings): string {
  const { rescues, crowdRequestsPerSecond, handovers } = figures;
  const sections = [
    `cycles a second, median of ${rounds} rounds (least to most); engine ` +
      `${engine}${latency === 0 ? '' : `, every answer ${latency} ms later`}`,
    cyclesTable(figures.entrants),
    ratiosTable(figures),
    ...(rescues === undefined ? [] : [takeoverTable(rescues)]),
    ...(crowdRequestsPerSecond === undefined
      ? []
      : [
          `200 contenders, each with a client of its own, for one key: ${crowdRequestsPerSecond.toFixed(0)} requests a second together`,
        ]),
    ...(handovers === undefined ? [] : [handoverText(handovers)]),
  ];
  return sections.join('\n');
}

function cyclesTable(entrants: readonly Entrant[]): string {
  const head = ['cycles a second', ...SCENE_NAMES.map(titleOf), 'requests', 'units (w/r)', 'client CPU, ms'];
  const rows = entrants.map(({ contestant, turns, bill, cpuMsPerCycle }) => [
    contestant.name,
    ...SCENE_NAMES.map((scene) => shown(rateOf(turns, scene), 0)),
    ...[bill.requests, `${bill.writeUnits} / ${bill.readUnits}`, shown(cpuMsPerCycle, 2)],
  ]);
  return tableOf(head, rows);
}

function ratiosTable({ ratios, ratiosToAll }: Figures): string {
  const row = (name: string, spreads: Figures['ratios']) => [
    name,
    ...SCENE_NAMES.map((scene) => shown(spreads[scene], 2)),
  ];
  return tableOf(
    ['leasehold, times the rate of', ...SCENE_NAMES.map(titleOf)],
    [row('the best client that takes over from the dead', ratios), row('the best client of all', ratiosToAll)],
  );
}

function takeoverTable(rows: NonNullable<Figures['rescues']>): string {
  const head = ['ms from death to the next grant, lease 2 s', 'arrives at 0.1 s', 'at 1.5 s', 'at 3 s'];
  return tableOf(
    head,
    rows.map(({ name, ms }) => [name, ...ms.map((value) => value.toFixed(0))]),
  );
}

function handoverText({ simulated, real, readUnitsOf50 }: Handovers): string {
  const figures = ({ handovers, p50, p90 }: Handover): string =>
    `p50 ${p50.toFixed(0)}, p90 ${p90.toFixed(0)} of ${handovers}`;
  return (
    `ms from a release after about 6 s to the acquisition in another process: ${figures(simulated)} in simulated time, ` +
    `${figures(real)} here; 50 waiters of one key read ${readUnitsOf50.toFixed(0)} units a second together`
  );
}

const titleOf = (scene: SceneName): string => SCENES[scene].name;

function shown({ median, least, most }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`;
}

function inJson(figures: Figures, { engine, latency, rounds }: Settings): object {
  const ofScenes = <T>(value: (scene: SceneName) => T): Record<string, T> =>
    Object.fromEntries(SCENE_NAMES.map((scene) => [scene, value(scene)]));
  return {
    ratios: ofScenes((scene) => figures.ratios[scene].median),
    ratiosToAll: ofScenes((scene) => figures.ratiosToAll[scene].median),
    ranges: { ratios: figures.ratios, ratiosToAll: figures.ratiosToAll },
    engine,
    latencyMs: latency,
    rounds,
    contestants: Object.fromEntries(
      figures.entrants.map(({ contestant, turns, bill, cpuMsPerCycle }) => [
        contestant.name,
        { cyclesPerSecond: ofScenes((scene) => rateOf(turns, scene)), cpuMsPerCycle, ...bill },
      ]),
    ),
    takeoverMs: figures.rescues?.map(({ name, ms }) => ({ name, ms })),
    crowdRequestsPerSecond: figures.crowdRequestsPerSecond,
    handovers: figures.handovers,
  };
}

function withThreeDigits(_name: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(3)) : value;
}

function parse(argv: readonly string[]): Settings {
  return new Command('npm run bench -- locks')
    .option('--rounds <n>', 'rounds that count', wholeNumber(1), 5)
    .option('--round-ms <ms>', 'how long each contestant runs in each scene of a round', wholeNumber(1), 1_000)
    .addOption(engineOption('dynamodb-local'))
    .option('--latency <duration>', 'delay every answer by so much, such as 5ms', milliseconds, 0)
    .option('--only-cycles', 'leave out takeovers and the crowd')
    .option('--only-handovers', 'measure only how late a lock is handed over')
    .option('--json', 'the figures as one JSON object, as the last line')
    .parse([...argv], { from: 'user' })
    .opts<Settings>();
}
