/**
 * Seeded bugs of the code, with the trace specification as their only judge: `spec:traces -- --mutants`.
 *
 * The simulation's own invariants do not run.
 * A mutant is noticed when the life of a row leaves the specification; the report contains the event
 * at which it does, because a rejection at another event would mean little.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import Table from 'cli-table3';
import { MUTANTS } from '../mutants/all.ts';
import type { Hunted } from './hunt.ts';

/** Those that have been seen to be rejected, within eight histories each; `--mutants` takes any other by its name. */
export const NOTICED_BY_TRACES: readonly string[] = ['M1', 'M4', 'M7', 'M49', 'M51', 'M21', 'X50'];

/** @returns how many were not noticed */
export async function checkMutants(ids: readonly string[], histories: number, isJson: boolean): Promise<number> {
  const all: Hunted[] = [];
  for (const id of ids) {
    const found = await hunted(id, histories);
    console.log(
      `${id}: ${found.rejected} of ${found.traces} traces rejected, ${found.histories} histories, ${found.at}`,
    );
    all.push(found);
  }
  const table = new Table({ head: ['mutant', 'what', 'traces', 'rejected', 'at'], style: { head: [], border: [] } });
  for (const { id, traces, rejected, at } of all)
    table.push([id, MUTANTS.find((mutant) => mutant.id === id)?.what, traces, rejected, at]);
  console.log(table.toString());
  const missed = all.filter(({ rejected }) => rejected === 0);
  console.log(`${all.length - missed.length} of ${all.length} rejected`);
  if (isJson) console.log(JSON.stringify({ mutants: all }));
  return missed.length;
}

function hunted(id: string, histories: number): Promise<Hunted> {
  return new Promise((resolve, reject) => {
    const hunt = path.join(import.meta.dirname, 'hunt.ts');
    execFile(process.execPath, [hunt, id, String(histories)], (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Hunted);
      else reject(new Error(`the hunt for ${id} failed`, { cause: error }));
    });
  });
}
