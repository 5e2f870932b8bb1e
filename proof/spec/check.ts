/** One model, searched to its end, and the report on it. */
import type { Model } from './models.ts';
import { configOf } from './models.ts';
import type { Tlc } from './tlc.ts';
import { runTlc } from './tlc.ts';

export interface ModelReport {
  readonly model: string;
  readonly end: string;
  readonly states: number;
  readonly depth: number;
  readonly minutes: number;
  /** Actions that should have been taken and were not. */
  readonly dead: readonly string[];
  readonly violated?: string | undefined;
}

/** Searches a model to its end, or to the first violation; if the checker did not get to the end, its output is shown. */
export async function checkModel(tlc: Tlc, model: Model): Promise<ModelReport> {
  const isLiveness = model.liveness !== undefined;
  const result = await runTlc(tlc, { module: model.module, config: configOf(model), coverage: true, isLiveness });
  if (result.end !== 'exhausted') console.log(result.output);
  const dead = [...result.actions].flatMap(([action, taken]) => (taken === 0 ? [action] : []));
  return {
    model: model.name,
    end: result.end,
    states: result.distinct,
    depth: result.depth,
    minutes: Math.round(result.seconds / 6) / 10,
    dead: dead.filter((action) => !model.without.includes(action)),
    violated: result.violated?.what,
  };
}
