/** What TLC dumps is read, and its steps are covered; the replay itself needs Java (`graph.full.test.ts`). */
import { describe, expect, test } from 'vitest';
import type { Edge } from './graph.ts';
import { coveringPaths, graphOf } from './graph.ts';
import { readState } from './values.ts';

describe('a state as the checker prints it', () => {
  test('is read with its records, tuples, sets, functions and names', () => {
    const text = [
      '/\\ off = (a :> 0 @@ b :> -1)',
      '/\\ sess = (<<a, 1>> :> [st |-> "live", n |-> <<"-", "-", 0>>])',
      '/\\ net = {[r |-> [k |-> "claim"], copies |-> 1]}',
      '/\\ seen = [wrong |-> {}, isSo |-> TRUE, who |-> a]',
    ].join('\n');

    expect(readState(text)).toEqual({
      off: { a: 0, b: -1 },
      sess: { 'a,1': { st: 'live', n: ['-', '-', 0] } },
      net: [{ r: { k: 'claim' }, copies: 1 }],
      seen: { wrong: [], isSo: true, who: 'a' },
    });
  });

  test('is refused where it is not understood', () => {
    expect(() => readState('/\\ off = (a :> 0')).toThrow('where ) should be');
    expect(() => readState('/\\ off = 1 2')).toThrow('where the end should be');
  });
});

describe('a dumped graph', () => {
  const state = (id: string, value: number, end = '') => `${id} [label="/\\\\ x = ${value}"${end}];`;
  const edge = (from: string, to: string, label: string) => `${from} -> ${to} [label="${label}",color="black"];`;
  const lines = [
    ...['strict digraph DiskGraph {', state('1', 0, ',style = filled'), edge('1', '1', 'Tick'), state('-2', 1)],
    ...[
      edge('1', '-2', 'Claim'),
      state('3', 2),
      edge('1', '3', 'Stop'),
      edge('-2', '3', 'Done'),
      edge('-2', '1', 'Retry'),
    ],
    ...[edge('1', '-2', 'Claim'), '}'],
  ];

  test('is read with its states, its first ones and its steps', () => {
    const { states, initial, edges } = graphOf(lines);

    expect(states).toEqual(
      new Map([
        ['1', { x: 0 }],
        ['-2', { x: 1 }],
        ['3', { x: 2 }],
      ]),
    );
    expect(initial).toEqual(['1']);
    expect(edges.map(({ label }) => label)).toEqual(['Tick', 'Claim', 'Stop', 'Done', 'Retry']);
  });

  test('is covered by paths from a first state, each step going on where the one before has ended', () => {
    const graph = graphOf(lines);
    const paths = coveringPaths(graph);

    expect(new Set(paths.flat())).toEqual(new Set(graph.edges));
    for (const path of paths) {
      expect(path[0]?.from).toBe('1');
      expect(path.slice(1).map(({ from }) => from)).toEqual(path.slice(0, -1).map(({ to }) => to));
    }
  });

  test('is covered where many states look alike and the steps that are left are far', () => {
    const chain = Array.from({ length: 200 }, (_, index): Edge => ({
      from: `${index}`,
      to: `${index + 1}`,
      label: 'Go',
    }));
    const back = chain.map(({ to }): Edge => ({ from: to, to: '0', label: 'Back' }));
    const edges = [...chain, ...back];

    expect(new Set(coveringPaths({ states: new Map(), initial: ['0'], edges }).flat())).toEqual(new Set(edges));
  });

  test('is refused without a first state', () => {
    expect(() => graphOf([state('1', 0)])).toThrow('no initial state');
  });
});
