/**
 * The digests of the first histories of the default mix, in a file: what the rules allow, but was otherwise before, is noticed by it.
 * The rules alone decide whether the code is right; the ledger only shows that it behaves otherwise than on the commit that wrote it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Trace } from './tally.ts';

const FILE = new URL('./mix.golden.txt', import.meta.url);

/** @returns the seeds of the ledger whose histories are no longer the same, in order; seeds that it does not have are ignored */
export function changedTraces(traces: readonly Trace[]): readonly bigint[] {
  const ledger = readLedger();
  return traces
    .filter((trace) => (ledger.get(trace.seed) ?? lineOf(trace)) !== lineOf(trace))
    .map(({ seed }) => seed)
    .sort(inOrder);
}

/** Writes the ledger anew, with these histories and no others. */
export function writeLedger(traces: readonly Trace[]): void {
  const lines = traces.toSorted((one, other) => inOrder(one.seed, other.seed)).map(lineOf);
  writeFileSync(FILE, `seed requests writes digest of all events\n${lines.join('\n')}\n`);
}

function readLedger(): ReadonlyMap<bigint, string> {
  const [, ...lines] = readFileSync(FILE, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => [BigInt(line.split(' ', 1)[0] ?? ''), line]));
}

function lineOf({ seed, requests, accepted, digest }: Trace): string {
  return `${seed} ${requests} ${accepted} ${digest}`;
}

function inOrder(one: bigint, other: bigint): number {
  return one < other ? -1 : Number(one > other);
}
