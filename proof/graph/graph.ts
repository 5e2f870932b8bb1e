/** The graph of a model's states, read from what TLC dumps, and paths that take each of its steps. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { RecordValue } from './values.ts';
import { readState } from './values.ts';

export interface Edge {
  readonly from: string;
  readonly to: string;
  /** The action. */
  readonly label: string;
}

export interface Graph {
  readonly states: ReadonlyMap<string, RecordValue>;
  readonly initial: readonly string[];
  readonly edges: readonly Edge[];
}

const STATE = /^(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?\];?$/;
const EDGE = /^(-?\d+) -> (-?\d+) \[label="(\w+)"/;

/** @param file what `-dump dot,actionlabels` wrote */
export async function readGraph(file: string): Promise<Graph> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) lines.push(line);
  return graphOf(lines);
}

export function graphOf(lines: readonly string[]): Graph {
  const states = new Map<string, RecordValue>();
  const initial: string[] = [];
  const edges = new Map<string, Edge>();
  for (const line of lines) {
    const [, from, to, label] = EDGE.exec(line) ?? [];
    if (from !== undefined && to !== undefined && label !== undefined) {
      edges.set(`${from} ${to} ${label}`, { from, to, label });
      continue;
    }
    const [, id, text, filled] = STATE.exec(line) ?? [];
    if (id === undefined || text === undefined || states.has(id)) continue;
    states.set(id, readState(text.replaceAll(/\\(.)/g, (_, what: string) => (what === 'n' ? '\n' : what))));
    if (filled !== undefined) initial.push(id);
  }
  if (initial.length === 0) throw new Error('the dump names no initial state');
  return { states, initial, edges: [...edges.values()] };
}

/** Maximum number of states searched for an uncovered step before a path ends and another begins. */
const LOOKED_AT = 60;

/**
 * Paths from initial states, each step once at least:
 * by the shortest way to a step that none has taken, and from there on along such steps.
 */
export function coveringPaths({ initial, edges }: Graph): readonly (readonly Edge[])[] {
  const out = Map.groupBy(edges, ({ from }) => from);
  const shortest = new Map<string, Edge | undefined>(initial.map((id) => [id, undefined]));
  const reached = [...initial];
  for (const id of reached) {
    for (const edge of out.get(id) ?? []) {
      if (shortest.has(edge.to)) continue;
      shortest.set(edge.to, edge);
      reached.push(edge.to);
    }
  }
  const waiting = new Map([...out].map(([id, steps]) => [id, [...steps]]));
  const taken = new Set<Edge>();
  const next = (id: string): Edge | undefined => {
    const steps = waiting.get(id) ?? [];
    for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
      if (!taken.has(step)) return step;
      steps.pop();
    }
    return undefined;
  };
  /** The way from here to the nearest step that is left, if it is near, with that step. */
  const onwards = (id: string): readonly Edge[] => {
    const here = next(id);
    if (here !== undefined) return [here];
    const ways = new Map<string, readonly Edge[]>([[id, []]]);
    for (const [place, way] of ways) {
      const step = next(place);
      if (step !== undefined) return [...way, step];
      if (ways.size > LOOKED_AT) return [];
      for (const edge of out.get(place) ?? []) if (!ways.has(edge.to)) ways.set(edge.to, [...way, edge]);
    }
    return [];
  };
  const paths: Edge[][] = [];
  for (const id of reached) {
    while (next(id) !== undefined) {
      const path = wayTo(id, shortest);
      for (let steps = onwards(id); steps.length > 0; steps = onwards(path.at(-1)?.to ?? '')) {
        path.push(...steps);
        for (const step of steps) taken.add(step);
      }
      for (const step of path) taken.add(step);
      paths.push(path);
    }
  }
  return paths;
}

function wayTo(id: string, shortest: ReadonlyMap<string, Edge | undefined>): Edge[] {
  const way: Edge[] = [];
  for (let edge = shortest.get(id); edge !== undefined; edge = shortest.get(edge.from)) way.unshift(edge);
  return way;
}
