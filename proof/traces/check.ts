/** Traces, held to the specification by one run of the checker. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Tlc } from '../spec/tlc.ts';
import { runTlc } from '../spec/tlc.ts';
import type { Exported, Trace } from './export.ts';

const CONFIG = 'SPECIFICATION Spec\nINVARIANTS Accepted\nCHECK_DEADLOCK FALSE\n';

/** @returns the traces that are not allowed, each with the event at which it left the specification and the rows before it */
export async function rejectedOf(tlc: Tlc, histories: readonly Exported[]): Promise<readonly string[]> {
  if (histories.every(({ traces }) => traces.length === 0)) return [];
  const library = mkdtempSync(path.join(tmpdir(), 'leasehold-traces-'));
  try {
    writeFileSync(path.join(library, 'Log.tla'), logOf(histories));
    const { end, output } = await runTlc(tlc, { module: 'TraceRows', config: CONFIG, library, goesOn: true });
    const lines = output.split('\n').filter((line) => line.includes('REJECTED'));
    if (end !== 'exhausted' && lines.length === 0) throw new Error(`the checker failed: ${output.slice(-2_000)}`);
    // The checker tries a step more than once, and prints each time.
    return [...new Set(lines)];
  } finally {
    rmSync(library, { recursive: true, force: true });
  }
}

function logOf(histories: readonly Exported[]): string {
  const told = histories.map(({ seed, holds, skewMs, events }) => {
    const head = `seed |-> "${seed}", holds |-> ${holds ? 'TRUE' : 'FALSE'}, skew |-> ${skewMs}`;
    return `[${head}, events |-> <<\n${events.join(',\n')}>>]`;
  });
  const lives = histories.flatMap(({ traces }, index) => traces.map((trace) => lifeOf(trace, index + 1)));
  return `---- MODULE Log ----
EXTENDS Integers
Histories == <<
${told.join(',\n')}>>
Traces == <<
${lives.join(',\n')}>>
====
`;
}

function lifeOf({ kind, row, sessions, events }: Trace, history: number): string {
  const head = `history |-> ${history}, kind |-> "${kind}", row |-> "${row.replaceAll(/[^\w#.:/-]/g, '?')}"`;
  return `[${head}, sessions |-> {${sessions.join(',')}}, events |-> <<${events.join(',')}>>]`;
}
