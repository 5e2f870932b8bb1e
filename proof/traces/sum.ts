/** Totals over all runs of the trace check. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { TRACED } from '../spec/verbs.ts';
import type { Exported } from './export.ts';

type Counts = Readonly<Record<string, number>>;

export interface Sum {
  /** The first seed; each run continues with the seed after the last. */
  readonly from: number;
  readonly histories: number;
  /** Lives that were held to the specification, by the kind of their row. */
  readonly traces: Counts;
  /** Events that were judged. */
  readonly events: number;
  /** Each with its seed, its row and the place. */
  readonly rejected: readonly string[];
  /** Rows that are left out, by the reason. */
  readonly leftOut: Counts;
  readonly verbs: Counts;
  readonly seconds: number;
}

export const nothingFrom = (from: number): Sum => ({
  from,
  histories: 0,
  traces: {},
  events: 0,
  rejected: [],
  leftOut: {},
  verbs: {},
  seconds: 0,
});

export function withHistory(sum: Sum, { traces, verbs, leftOut }: Exported): Sum {
  const kinds = Object.groupBy(traces, ({ kind }) => kind);
  return {
    ...sum,
    histories: sum.histories + 1,
    traces: added(
      sum.traces,
      Object.entries(kinds).map(([kind, those]) => [kind, those.length]),
    ),
    events: sum.events + verbs.values().reduce((all, count) => all + count, 0),
    leftOut: added(sum.leftOut, leftOut),
    verbs: added(sum.verbs, verbs),
  };
}

/** @returns the totals of earlier runs, if any */
export function readSum(file: string): Sum | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Sum) : undefined;
}

export function writeSum(file: string, sum: Sum): void {
  writeFileSync(file, `${JSON.stringify(sum, undefined, 2)}\n`);
}

/** Returns the operators of the trace specification that no history has used. */
export function unseenIn({ verbs }: Sum): readonly string[] {
  return Object.keys(TRACED).filter((verb) => !(verb in verbs));
}

export function rowsOf({ traces, leftOut }: Sum): { readonly checked: number; readonly leftOut: number } {
  const all = (counts: Counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { checked: all(traces), leftOut: all(leftOut) };
}

function added(counts: Counts, more: Iterable<readonly [string, number]>): Counts {
  const sum = new Map(Object.entries(counts));
  for (const [name, count] of more) sum.set(name, (sum.get(name) ?? 0) + count);
  return Object.fromEntries([...sum].sort(([, one], [, other]) => other - one));
}
