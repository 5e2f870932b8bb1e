/**
 * Expressions for programs, grown from the grammar and sometimes damaged afterwards.
 *
 * A fragment is text that still has to ask for its placeholders, so that fragments can be joined freely;
 * `render` turns it into what a request carries.
 */
import fc from 'fast-check';
import { ATTRIBUTES, anyValue, INDEX_KEYS, indexKeyValue, orderedValue, valueFor } from './values.ts';

/** Hands out placeholders and remembers what they stand for. */
interface Placeholders {
  name(attribute: string): string;
  value(value: unknown): string;
}

export type Fragment = (use: Placeholders) => string;

export interface Rendered {
  readonly text: string;
  readonly names: Record<string, string>;
  readonly values: Record<string, unknown>;
}

export function render(fragment: Fragment, prefix: string): Rendered {
  const names: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  const text = fragment({
    name(attribute) {
      const placeholder = `#${prefix}${attribute}`;
      names[placeholder] = attribute;
      return placeholder;
    },
    value(value) {
      const placeholder = `:${prefix}${Object.keys(values).length}`;
      values[placeholder] = value;
      return placeholder;
    },
  });
  return { text, names, values };
}

// ─── leaves ────────────────────────────────────────────────────────────────────────────────────────────────

const ROOTS = [...ATTRIBUTES, ...INDEX_KEYS, 'pk', 'sk', 'missing'] as const;
const step = fc.constantFrom('.x', '.y', '.#', '[0]', '[1]', '[3]');

function pathFrom(root: string, steps: readonly string[], isBare: boolean): Fragment {
  return (use) => {
    const head = isBare && root !== 'status' ? root : use.name(root);
    return [head, ...steps.map((one) => (one === '.#' ? `.${use.name('0')}` : one))].join('');
  };
}

const anyPath = fc
  .tuple(fc.constantFrom(...ROOTS), fc.array(step, { maxLength: 2, size: 'small' }), fc.boolean())
  .map(([root, steps, isBare]) => pathFrom(root, steps, isBare));

/** Paths that lead somewhere in most items. */
const likelyPath = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...ATTRIBUTES).map((name): [string, string[]] => [name, []]),
      fc.constantFrom('.x', '.y', '.#').map((member): [string, string[]] => ['m', [member]]),
      fc.constantFrom('[0]', '[1]', '[3]').map((element): [string, string[]] => ['l', [element]]),
    ),
    fc.boolean(),
  )
  .map(([[root, steps], isBare]) => pathFrom(root, steps, isBare));

const path: fc.Arbitrary<Fragment> = fc.oneof({ arbitrary: likelyPath, weight: 3 }, { arbitrary: anyPath, weight: 1 });

const rootPath = (names: readonly string[]): fc.Arbitrary<Fragment> =>
  fc.tuple(fc.constantFrom(...names), fc.boolean()).map(([name, isBare]) => pathFrom(name, [], isBare));

const value: fc.Arbitrary<Fragment> = fc
  .oneof(anyValue, ...ATTRIBUTES.map(valueFor))
  .map((one) => (use) => use.value(one));

/** Mostly of the kind that the operator takes. */
const mostly = (usual: fc.Arbitrary<Fragment>, unusual: fc.Arbitrary<Fragment>): fc.Arbitrary<Fragment> =>
  fc.oneof({ arbitrary: usual, weight: 14 }, { arbitrary: unusual, weight: 1 });

const valueOf = (arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<Fragment> =>
  arbitrary.map((one) => (use) => use.value(one));

const join = (template: readonly string[], ...parts: readonly fc.Arbitrary<Fragment>[]): fc.Arbitrary<Fragment> =>
  fc
    .tuple(...parts)
    .map((fragments) => (use) => template.map((piece, at) => piece + (fragments[at]?.(use) ?? '')).join(''));

const size = join(['size(', ')'], path);
const operand = fc.oneof(
  { arbitrary: path, weight: 5 },
  { arbitrary: value, weight: 5 },
  { arbitrary: size, weight: 1 },
);
const ordered = mostly(fc.oneof(path, path, valueOf(orderedValue), size), value);
const prefix = mostly(fc.oneof(path, valueOf(valueFor('s'))), operand);

// ─── conditions ────────────────────────────────────────────────────────────────────────────────────────────

const TYPES = ['S', 'N', 'B', 'BOOL', 'NULL', 'L', 'M', 'SS', 'NS', 'BS'];
const typeName = mostly(valueOf(fc.constantFrom(...TYPES)), value);

const compared = (signs: readonly string[], side: fc.Arbitrary<Fragment>): fc.Arbitrary<Fragment> =>
  fc.tuple(side, fc.constantFrom(...signs), side).map(
    ([left, sign, right]) =>
      (use) =>
        `${left(use)} ${sign} ${right(use)}`,
  );

/** Bounds that are values must be ordered themselves. */
const bounds = fc.tuple(fc.integer({ min: -3, max: 0 }), fc.integer({ min: 0, max: 3 })).map(
  ([low, high]): Fragment =>
    (use) =>
      `${use.value(low)} AND ${use.value(high)}`,
);

const atom = fc.oneof(
  { arbitrary: compared(['=', '<>'], operand), weight: 3 },
  { arbitrary: compared(['<', '<=', '>', '>='], ordered), weight: 3 },
  { arbitrary: join(['attribute_exists(', ')'], path), weight: 2 },
  { arbitrary: join(['attribute_not_exists(', ')'], path), weight: 2 },
  { arbitrary: join(['attribute_type(', ', ', ')'], path, typeName), weight: 1 },
  { arbitrary: join(['begins_with(', ', ', ')'], prefix, prefix), weight: 1 },
  { arbitrary: join(['contains(', ', ', ')'], operand, operand), weight: 2 },
  { arbitrary: join(['', ' BETWEEN ', ''], path, bounds), weight: 1 },
  { arbitrary: join(['', ' BETWEEN ', ' AND ', ''], ordered, path, ordered), weight: 1 },
  { arbitrary: join(['', ' IN (', ', ', ')'], operand, operand, operand), weight: 2 },
);

const { condition: wholeCondition } = fc.letrec<{ condition: Fragment }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    { arbitrary: atom, weight: 6 },
    { arbitrary: join(['', ' AND ', ''], tie('condition'), tie('condition')), weight: 1 },
    { arbitrary: join(['', ' OR ', ''], tie('condition'), tie('condition')), weight: 1 },
    { arbitrary: join(['NOT ', ''], tie('condition')), weight: 1 },
    { arbitrary: join(['(', ')'], tie('condition')), weight: 1 },
  ),
}));

// ─── updates ───────────────────────────────────────────────────────────────────────────────────────────────

const someValue = valueOf(anyValue);
const fallback = join(['if_not_exists(', ', ', ')'], path, value);
const addable = mostly(
  fc.oneof(
    valueOf(valueFor('n')),
    rootPath(['n']),
    join(['if_not_exists(', ', ', ')'], rootPath(['n']), valueOf(valueFor('n'))),
  ),
  fc.oneof(value, fallback),
);
const listed = mostly(fc.oneof(valueOf(valueFor('l')), rootPath(['l'])), value);

const source = fc.oneof(
  { arbitrary: someValue, weight: 6 },
  { arbitrary: path, weight: 2 },
  { arbitrary: fallback, weight: 2 },
  { arbitrary: join(['list_append(', ', ', ')'], listed, listed), weight: 2 },
  { arbitrary: join(['', ' + ', ''], addable, addable), weight: 2 },
  { arbitrary: join(['', ' - ', ''], addable, addable), weight: 1 },
);

type Keyword = 'SET' | 'REMOVE' | 'ADD' | 'DELETE';

interface Action {
  readonly keyword: Keyword;
  readonly target: string;
  readonly text: Fragment;
}

const action = (keyword: Keyword, target: Target, right: fc.Arbitrary<Fragment>): fc.Arbitrary<Action> =>
  right.map((fragment) => ({
    keyword,
    target: target.root,
    text: (use) => `${pathFrom(target.root, target.steps, false)(use)}${fragment(use)}`,
  }));

interface Target {
  readonly root: string;
  readonly steps: readonly string[];
}

/** Where an update may write; the last few are refused or lead nowhere. */
const target: fc.Arbitrary<Target> = fc.oneof(
  { arbitrary: fc.constantFrom(...ATTRIBUTES, 'missing').map((root) => ({ root, steps: [] })), weight: 8 },
  { arbitrary: fc.constantFrom(...INDEX_KEYS).map((root) => ({ root, steps: [] })), weight: 3 },
  { arbitrary: fc.constantFrom('.x', '.y', '.#').map((member) => ({ root: 'm', steps: [member] })), weight: 3 },
  { arbitrary: fc.constantFrom('[0]', '[1]', '[7]').map((element) => ({ root: 'l', steps: [element] })), weight: 3 },
  {
    arbitrary: fc
      .tuple(fc.constantFrom(...ROOTS), fc.array(step, { maxLength: 2 }))
      .map(([root, steps]) => ({ root, steps })),
    weight: 1,
  },
);

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    arbitrary: target.chain((to) => {
      const isIndexKey = to.root === 'gpk' || to.root === 'gsk';
      const right = isIndexKey ? valueOf(indexKeyValue(to.root)) : source;
      return action(
        'SET',
        to,
        right.map((fragment) => (use) => ` = ${fragment(use)}`),
      );
    }),
    weight: 6,
  },
  {
    arbitrary: target.chain((from) =>
      action(
        'REMOVE',
        from,
        fc.constant(() => ''),
      ),
    ),
    weight: 2,
  },
  {
    arbitrary: fc.constantFrom('n', 'u', 'missing').chain((root) =>
      action(
        'ADD',
        { root, steps: [] },
        addend(root).map((one) => (use) => ` ${one(use)}`),
      ),
    ),
    weight: 2,
  },
  {
    arbitrary: action(
      'DELETE',
      { root: 'u', steps: [] },
      addend('u').map((one) => (use) => ` ${one(use)}`),
    ),
    weight: 1,
  },
);

function addend(root: string): fc.Arbitrary<Fragment> {
  return mostly(valueOf(valueFor(root === 'missing' ? 'n' : root)), someValue);
}

const KEYWORDS: readonly Keyword[] = ['SET', 'REMOVE', 'ADD', 'DELETE'];

/** Actions mostly have different roots: paths that overlap are refused before anything else is seen. */
const wholeUpdate = fc
  .oneof(
    {
      arbitrary: fc.uniqueArray(anyAction, { minLength: 1, maxLength: 4, selector: ({ target }) => target }),
      weight: 9,
    },
    { arbitrary: fc.array(anyAction, { minLength: 1, maxLength: 3 }), weight: 1 },
  )
  .map((actions): Fragment => (use) => {
    const clauses = KEYWORDS.map((keyword) => {
      const texts = actions.filter((one) => one.keyword === keyword).map(({ text }) => text(use));
      return texts.length === 0 ? '' : `${keyword} ${texts.join(', ')}`;
    });
    return clauses.filter((clause) => clause !== '').join(' ');
  });

// ─── projections and damage ────────────────────────────────────────────────────────────────────────────────

const wholeProjection = fc.array(path, { minLength: 1, maxLength: 3 }).map(
  (paths): Fragment =>
    (use) =>
      paths.map((one) => one(use)).join(', '),
);

const INTRUDERS = [
  '',
  '(',
  ')',
  ',',
  'AND',
  '=',
  '[0]',
  '.x',
  'NOT',
  ':none',
  '#none',
  'SET',
  'size(s)',
  'f(a)',
  '!',
  '5',
];

/** One word in forty expressions is replaced by another, or lost. */
function sometimesDamaged(fragment: fc.Arbitrary<Fragment>): fc.Arbitrary<Fragment> {
  const damaged = fc
    .tuple(fragment, fc.nat({ max: 12 }), fc.constantFrom(...INTRUDERS))
    .map(([whole, at, intruder]): Fragment => (use) => {
      const words = whole(use).split(' ');
      words[at % words.length] = intruder;
      return words.join(' ');
    });
  return fc.oneof({ arbitrary: fragment, weight: 39 }, { arbitrary: damaged, weight: 1 });
}

export const condition = sometimesDamaged(wholeCondition);
export const update = sometimesDamaged(wholeUpdate);
export const projection = sometimesDamaged(wholeProjection);
