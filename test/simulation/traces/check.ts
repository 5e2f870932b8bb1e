/** Traces, held to the specification by one run of the checker. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Tlc } from '../../../spec/tlc.ts';
import { runTlc } from '../../../spec/tlc.ts';

const CONFIG = 'SPECIFICATION Spec\nINVARIANTS Accepted\nCHECK_DEADLOCK FALSE\n';

/** @returns the traces that are not allowed, each with the event at which it left the specification and the rows before it */
export async function rejectedOf(tlc: Tlc, traces: readonly string[]): Promise<readonly string[]> {
  if (traces.length === 0) return [];
  const library = mkdtempSync(path.join(tmpdir(), 'leasehold-traces-'));
  try {
    const log = ['---- MODULE Log ----', 'EXTENDS Integers', 'Traces == <<', traces.join(',\n'), '>>', '====', ''];
    writeFileSync(path.join(library, 'Log.tla'), log.join('\n'));
    const { end, output } = await runTlc(tlc, { module: 'TraceTask', config: CONFIG, library, goesOn: true });
    const lines = output.split('\n').filter((line) => line.includes('REJECTED'));
    if (end !== 'exhausted' && lines.length === 0) throw new Error(`the checker failed: ${output.slice(-2_000)}`);
    // The checker tries a step more than once, and prints each time.
    return [...new Set(lines)];
  } finally {
    rmSync(library, { recursive: true, force: true });
  }
}
