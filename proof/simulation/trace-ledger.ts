/**
 * A file with the digests of the first histories of the default mix.
 * The rules alone decide whether a history is right; the ledger shows that it differs from the commit that wrote the file.
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

/** Replaces the lines of these histories; the others stay. */
export function writeLedger(traces: readonly Trace[]): void {
  const ledger = new Map([...readLedger(), ...traces.map((trace) => [trace.seed, lineOf(trace)] as const)]);
  const lines = [...ledger].sort(([one], [other]) => inOrder(one, other)).map(([, line]) => line);
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
