/**
 * In a separate process: judges the bug that the environment names by guard cases, placements and histories, and prints a line of JSON
 * for each. A notation that has noticed nothing when its CPU time is over has decided nothing.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { defined } from '../../shared/core/defined.ts';
import { makeTurnable } from '../simulation/knobs/turn.ts';
import { bugOfEnvironment } from './bug-of-environment.ts';
import { loadWith } from './load.ts';
import { MUTANTS } from '../mutants/all.ts';
import type { Cell, Column } from './cell.ts';

Error.stackTraceLimit = 0;

const ROOT = path.resolve(import.meta.dirname, '../..');
const LONGEST_CPU_MS = 6_000;
const [SEEDED_HISTORIES, MIXED_HISTORIES] = [40, 8];

const withBug = bugOfEnvironment();
const changed: string[] = [];
// Before the hook that makes constants variables: that one adds to the source, and this one counts on it.
loadWith((source, file) => {
  const text = withBug(source, file);
  if (text !== source) changed.push(file);
  return text;
});
makeTurnable();
const { runSeed } = await import('../simulation/run-seed.ts');
const { FLOWS } = await import('../simulation/placement/flows.ts');
const { CALLS } = await import('../simulation/placement/calls.ts');
const { play, playAll } = await import('../simulation/placement/stage.ts');
const { CASES } = await import('../conjuncts/guards/cases.ts');
const { Rows } = await import('../conjuncts/guards/rows.ts');
const { decisiveConjunct } = await import('../conjuncts/conjunct.ts');

const mutant = MUTANTS.find(({ id }) => id === process.env.KNOWN_BUG);

/** An error that nobody waited for. */
let fallen: string | undefined;
process.on('unhandledRejection', (error) => {
  fallen ??= error instanceof Error ? error.name : 'an error';
});

async function judge(column: Column, steps: Iterable<() => Promise<string | undefined>>): Promise<void> {
  const started = cpuMs();
  fallen = undefined;
  const verdict = await judged(steps, started);
  const cell: Cell = { column, ...verdict, ms: Math.round(cpuMs() - started) };
  console.log(JSON.stringify(cell));
}

async function judged(
  steps: Iterable<() => Promise<string | undefined>>,
  started: number,
): Promise<Pick<Cell, 'kind' | 'by'>> {
  for (const step of steps) {
    if (cpuMs() - started > LONGEST_CPU_MS) return { kind: 'undecided' };
    try {
      const by = (await step()) ?? fallen;
      if (by !== undefined) return { kind: 'killed', by };
    } catch (error) {
      return { kind: 'killed', by: error instanceof Error ? error.name : 'an error' };
    }
  }
  return { kind: 'lives' };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Those that send a verb of a changed file, or all if none has one; the cheapest first. */
async function flows() {
  const verbs = new Set(
    changed
      .flatMap((file) => [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/'([a-z]+\.[a-zA-Z]+)'/g)])
      .map(([, verb]) => verb),
  );
  const all = [];
  for (const flow of [...FLOWS, ...CALLS]) {
    const started = cpuMs();
    const { faults, verbs: sent } = await play(flow, []).catch(() => ({ faults: [], verbs: new Set<string>() }));
    all.push({ flow, cost: faults.length * (cpuMs() - started), isNear: [...sent].some((verb) => verbs.has(verb)) });
  }
  const near = all.filter(({ isNear }) => isNear);
  return (near.length > 0 ? near : all).sort((one, other) => one.cost - other.cost).map(({ flow }) => flow);
}

await judge(
  'guards',
  CASES.map(([conjunct, build]) => () => {
    const rows = new Rows();
    const statement = build(rows);
    const isRefused = decisiveConjunct(rows.store, statement) === conjunct && rows.outcomeOf(statement) === 'refused';
    return Promise.resolve(isRefused ? undefined : conjunct);
  }),
);
await judge(
  'placements',
  (await flows()).map((flow) => async () => {
    const { failures } = await playAll(flow, { untilFailure: true });
    return failures.length > 0 ? flow.name : undefined;
  }),
);
if (mutant !== undefined)
  await judge(
    'histories',
    Array.from({ length: SEEDED_HISTORIES }, (_, at) => async () => {
      const { violations } = await runSeed(BigInt(at + 1), mutant.profile ?? 'swarm', {
        ...defined({ changes: mutant.changes }),
        stopAt: mutant.killedBy,
      });
      const killer = violations.find(({ invariant }) => mutant.killedBy.includes(invariant))?.invariant;
      return killer === undefined ? undefined : `${killer} after ${at + 1}`;
    }),
  );
await judge(
  'mix',
  Array.from({ length: MIXED_HISTORIES }, (_, at) => async () => {
    const { violations } = await runSeed(BigInt(at + 1), 'mix', { stopAtViolation: true });
    return violations[0] === undefined ? undefined : `${violations[0].invariant} after ${at + 1}`;
  }),
);
