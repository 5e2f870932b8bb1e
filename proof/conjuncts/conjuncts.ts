/**
 * `npm run conjuncts -- [--only <part>] [--seeds 100]`
 *
 * Drops each conjunct of each guard in turn from the sent statements, and prints the invariant that notices.
 * A missing conjunct matters only for a write that no other conjunct refuses. So the program first watches all short flows,
 * with every placement of one fault, and some histories; then it drops each conjunct in some of the histories that it decided.
 * The verdicts are in `conjunct-verdicts.ts`. Exit code 1: a conjunct has no verdict there, or decides a write although it is redundant.
 */
import { Command } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import type { Violation } from '../simulation/invariants/rule.ts';
import { FLOWS } from '../simulation/placement/flows.ts';
import type { Placement } from '../simulation/placement/stage.ts';
import { placementsAt, play } from '../simulation/placement/stage.ts';
import { runSeed } from '../simulation/run-seed.ts';
import { allConjuncts, rewriteWrites, watchDecisions, withoutConjunct } from './conjunct.ts';
import { verdictOf } from './conjunct-verdicts.ts';
import { decidedByScenes } from './late-copies.ts';

interface Flags {
  readonly only: string;
  readonly seeds: number;
}

/** A history that can be played again. */
interface Place {
  readonly name: string;
  play(): Promise<readonly Violation[]>;
}

/** A conjunct that decides often is noticed in the first of its places, or hardly at all. */
const PLACES_LIMIT = 12;

Error.stackTraceLimit = 0;

const BY_SCENE = { kind: 'killed', by: 'a late copy of a scene' } as const;

async function main({ only, seeds }: Flags): Promise<number> {
  const decided = await placesOfDecisions(seeds);
  const names = new Set([...(await allConjuncts()), ...decided.keys()]);
  const byScenes = await decidedByScenes();
  const counts = { killed: 0, noticed: 0, redundant: 0 };
  const wrong: string[] = [];
  for (const name of [...names].filter((one) => one.includes(only)).sort()) {
    const places = decided.get(name) ?? [];
    const verdict = verdictOf(name) ?? (byScenes.has(name) ? BY_SCENE : undefined);
    const killer = await killerOf(name, places);
    if (verdict !== undefined) counts[verdict.kind]++;
    if (killer !== undefined) counts.noticed++;
    if (verdict === undefined) wrong.push(`${name}: has no verdict`);
    else if (verdict.kind === 'redundant' && places[0] !== undefined)
      wrong.push(`${name}: decides a write although it is redundant: ${places[0].name}`);
    const simulated = killer ?? (places.length === 0 ? 'decides nothing' : 'decides, and nothing notices');
    console.log(`${name} | ${verdict === undefined ? 'NO VERDICT' : `${verdict.kind}: ${verdict.by}`} | ${simulated}`);
  }
  const { killed, noticed, redundant } = counts;
  console.log(`${killed} killed by a late write, ${noticed} by a history too; ${redundant} redundant`);
  for (const line of wrong) console.log(line);
  return wrong.length === 0 ? 0 : 1;
}

/** By conjunct: histories in which it alone refused a write. */
async function placesOfDecisions(seeds: number): Promise<ReadonlyMap<string, readonly Place[]>> {
  const found = new Map<string, Place[]>();
  let current: Place | undefined;
  const stop = watchDecisions((name) => {
    const places = found.get(name) ?? [];
    found.set(name, places);
    if (current !== undefined && places.at(-1) !== current && places.length < PLACES_LIMIT) places.push(current);
  });
  const visit = async (place: Place): Promise<void> => {
    current = place;
    await place.play();
  };
  try {
    for (const flow of FLOWS) {
      const at = (placements: readonly Placement[]): Place => ({
        name: [flow.name, ...placements.map(({ request, fault }) => `${fault} at ${request}`)].join(', '),
        play: async () => (await play(flow, placements)).violations,
      });
      await visit(at([]));
      const { faults } = await play(flow, []);
      for (const placement of faults.flatMap(placementsAt)) await visit(at([placement]));
    }
    for (let seed = 1; seed <= seeds; seed++)
      await visit({
        name: `seed ${seed}`,
        play: async () => (await runSeed(BigInt(seed), 'swarm', { stopAtViolation: true })).violations,
      });
  } finally {
    stop();
  }
  return found;
}

/** Returns the invariant that notices the missing conjunct in one of these histories. */
async function killerOf(name: string, places: readonly Place[]): Promise<string | undefined> {
  const undo = rewriteWrites((statement) => withoutConjunct(statement, name));
  try {
    for (const place of places) {
      const [violation] = await place.play();
      if (violation !== undefined) return `${violation.invariant}: ${place.name}`;
    }
    return undefined;
  } finally {
    undo();
  }
}

const command = new Command('npm run conjuncts --')
  .description('Drops each conjunct of each guard in turn, and tells what noticed.')
  .option('--only <part>', 'those whose names contain this', '')
  .option('--seeds <n>', 'histories beside the short flows', wholeNumber(1), 100);

process.exitCode = await main(command.parse().opts<Flags>());
