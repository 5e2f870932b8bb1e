/** In a separate process: checks histories of one mutant against the specification until a trace is rejected. Prints one line of JSON. */
import { defined } from '../../shared/core/defined.ts';
import { findTlc } from '../spec/tlc.ts';
import { MUTANTS } from '../mutants/all.ts';
import { swapped } from '../blind/swap.ts';
import { loadWith } from '../matrix/load.ts';
import { rejectedOf } from './check.ts';
import type { Exported } from './export.ts';

export interface Hunted {
  readonly id: string;
  /** Until a trace was rejected, or all that were asked for. */
  readonly histories: number;
  readonly traces: number;
  readonly rejected: number;
  /** The verb, or belief, at which most of the rejected left the specification. */
  readonly at: string;
}

/** Histories whose traces go into one run of the checker. */
const BATCH = 4;

const [id, limit = '40'] = process.argv.slice(2);
const mutant = MUTANTS.find((candidate) => candidate.id === id);
if (mutant === undefined) throw new Error(`no mutant is named ${id}`);
const tlc = findTlc(undefined);
if (typeof tlc === 'string') throw new Error(tlc);
loadWith((source, file) => swapped(source, file, mutant));
const { runSeed } = await import('../simulation/run-seed.ts');
const { exportTraces } = await import('./export.ts');

const changes = defined({ changes: mutant.changes });
let [histories, traces] = [0, 0];
let rejected: readonly string[] = [];
while (histories < Number(limit) && rejected.length === 0) {
  const batch: Exported[] = [];
  for (let index = 0; index < BATCH; index++) {
    histories++;
    const result = await runSeed(BigInt(histories), mutant.profile ?? 'swarm', { ...changes, keepHistory: true });
    batch.push(exportTraces(result));
  }
  traces += batch.reduce((all, one) => all + one.traces.length, 0);
  rejected = await rejectedOf(tlc, batch);
}
const at = Map.groupBy(rejected, placeOf);
const [place] = [...at].sort(([, one], [, other]) => other.length - one.length)[0] ?? ['-'];
const hunted: Hunted = { id: mutant.id, histories, traces, rejected: rejected.length, at: place };
console.log(JSON.stringify(hunted));

function placeOf(line: string): string {
  if (line.includes('two believe')) return 'two believe';
  const isRefused = line.includes('ok |-> FALSE');
  const verb = /k \|-> \\"([\w.]+)\\"/.exec(line)?.[1] ?? /what \|-> \\"(\w+)\\"/.exec(line)?.[1] ?? '-';
  return isRefused ? `${verb} refused` : verb;
}
