/** Places survive what a refactoring does, and say so when they are gone. */
import { describe, expect, test } from 'vitest';
import { becomes, disarmed, leftOnly } from './change.ts';
import { mutated } from './mutated.ts';
import type { Edit } from './change.ts';
import type { Place } from './place.ts';
import {
  argument,
  assigned,
  branch,
  call,
  choice,
  clause,
  cleanup,
  condition,
  element,
  entry,
  loop,
  operation,
  part,
  property,
  returned,
  statement,
  use,
} from './place.ts';
import { complaintsOf } from './source.ts';

const SOURCE = `
const IS_MINE = '#state = :running AND #counter = :counter';
export class Line {
  #told = new Set<string>();
  #trust = { opened: 0, durationMs: 1 };
  end(waiting: { wake(): void }[], opened: number): number {
    const wasFirst = this.#told.has('first');
    if (waiting.length === 0) this.#told.clear();
    else if (wasFirst) waiting[0]?.wake();
    for (const one of waiting) one.wake();
    this.#trust = { opened, durationMs: this.#trust.durationMs };
    try {
      return wasFirst || this.#told.size > 3 ? Math.max(opened, 1) : opened - 1;
    } finally {
      this.#told.clear();
    }
  }
  list = (seen: string): object => ({ guard: \`\${IS_MINE} AND #seen = :seen\`, seen, all: [IS_MINE, seen] });
}
`;

/** Other locals, other lines, and a method that stands elsewhere. */
const REFACTORED = `
export class Line {
  #told = new Set<string>();
  #trust = { opened: 0, durationMs: 1 };
  list = (seen: string): object => ({
    all: [IS_MINE, seen],
    seen,
    guard: \`\${IS_MINE} AND #seen = :seen\`,
  });
  end(queue: { wake(): void }[], opened: number): number {
    this.#trust = { opened, durationMs: this.#trust.durationMs };
    const isFront = this.#told.has('first');
    if (queue.length === 0) {
      this.#told.clear();
    } else if (isFront) {
      queue[0]?.wake();
    }
    for (const turn of queue) { turn.wake(); }
    try {
      return isFront || this.#told.size > 3
        ? Math.max(opened, 1)
        : opened - 1;
    } finally {
      this.#told.clear();
    }
  }
}
const IS_MINE = '#state = :running AND #counter = :counter';
`;

function edit(within: string, at: Place | readonly Place[] | undefined, change: Edit['change']): Edit {
  return at === undefined ? { file: 'line.ts', in: within, change } : { file: 'line.ts', in: within, at, change };
}

describe('a place', () => {
  test.each<[string, Edit, string]>([
    ['the value of a constant', edit('IS_MINE', undefined, becomes("'x'")), "const IS_MINE = ('x');"],
    ['a condition', edit('Line.end', condition('length'), becomes('true')), 'if ((true))'],
    ['a loop', edit('Line.end', loop(), 'drop'), ';'],
    ['an element', edit('Line.list', element(0), 'drop'), 'all: [ seen]'],
    ['an element by a name', edit('Line.list', element('seen'), becomes("''")), "all: [IS_MINE, ('')]"],
    ['an entry', edit('Line.list', entry('all'), becomes('rest: []')), 'rest: []'],
    ['a property', edit('Line.end', [assigned('#trust'), property('opened')], becomes('0')), '{ opened: 0, durationMs'],
    ['a call', edit('Line.end', call('max'), ({ args }) => args.join(' + ')), '(opened + 1)'],
    ['an argument', edit('Line.end', argument('max', 1), becomes('2')), 'Math.max(opened, (2))'],
    ['an operation', edit('Line.end', operation('-'), leftOnly), ': (opened)'],
    ['a choice', edit('Line.end', choice('max'), ({ whenTrue }) => whenTrue), 'return (Math.max(opened, 1));'],
    ['what is returned', edit('Line.end', returned(), becomes('0')), 'return (0);'],
    ['a cleanup', edit('Line.end', cleanup(), becomes('{}')), 'finally {}'],
    ['a use', edit('Line.list.guard', use('IS_MINE'), becomes("'x'")), "${('x')} AND"],
    ['a part', edit('Line.list.guard', part('IS_MINE'), 'drop'), 'guard: `#seen = :seen`'],
    ['a clause', edit('IS_MINE', clause('#counter = :counter'), becomes('x')), "'#state = :running AND x'"],
    ['the other branch', edit('Line.end', branch('wake'), 'drop'), 'this.#told.clear();'],
  ])('names %s, also after a refactoring', (_, change, expected) => {
    for (const source of [SOURCE, REFACTORED]) {
      const changed = mutated('X', source, [change]);

      expect(changed).toContain(expected);
      expect(changed).not.toBe(source);
      expect(complaintsOf(changed)).toEqual([]);
    }
  });

  test('fails by name if it is missing or ambiguous', () => {
    expect(() => mutated('X7', SOURCE, [edit('Line.end', condition('width'), 'drop')])).toThrow(
      'mutant X7: condition width in Line.end of line.ts is there 0 times, once is needed',
    );
    expect(() => mutated('X7', SOURCE, [edit('Line.end', statement('#told', 'clear'), 'drop')])).toThrow('2 times');
    expect(() => mutated('X7', SOURCE, [edit('Line.stop', undefined, 'drop')])).toThrow('stop in Line.stop of line.ts');
  });
});

test('a guard that is disarmed still uses each name and value', () => {
  expect(mutated('X', SOURCE, disarmed('line.ts', 'IS_MINE', '#state = :running', '#counter = :counter'))).toContain(
    "'(#state = :running OR #state <> :running) AND (#counter = :counter OR #counter <> :counter)'",
  );
});

test('edits of one file may not overlap', () => {
  const both = [edit('IS_MINE', undefined, becomes("''")), edit('IS_MINE', clause('#state'), becomes('#status'))];

  expect(() => mutated('X7', SOURCE, both)).toThrow('mutant X7: two of its edits overlap');
});

test('changed source is loaded only if it can be read, and declares what it names', () => {
  const renamed = mutated('X', SOURCE, [edit('Line.end', returned(), becomes('waitedMs + this.#patience'))]);

  expect(complaintsOf(SOURCE)).toEqual([]);
  expect(complaintsOf(renamed)).toEqual(['nothing declares waitedMs here', 'no class here has a member #patience']);
  expect(complaintsOf(mutated('X', SOURCE, [edit('Line.end', returned(), becomes('return'))]))).not.toEqual([]);
});
