/** The graph of a model, made by the checker. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Model } from '../spec/models.ts';
import { configOf } from '../spec/models.ts';
import type { Tlc } from '../spec/tlc.ts';
import { runTlc } from '../spec/tlc.ts';
import type { Graph } from './graph.ts';
import { readGraph } from './graph.ts';

/** @throws when the model has no end, or is violated */
export async function dumpGraph(tlc: Tlc, model: Model): Promise<Graph> {
  const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-graph-'));
  try {
    const dump = path.join(folder, 'graph.dot');
    const { end, output } = await runTlc(tlc, { module: model.module, config: configOf(model), dump });
    if (end !== 'exhausted') throw new Error(`${model.name} was not exhausted: ${output.slice(-2_000)}`);
    return await readGraph(dump);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
