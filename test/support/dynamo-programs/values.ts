/** Attribute values and items for programs: few and small, so that equal ones meet; of every type, so that unequal ones do. */
import fc from 'fast-check';
import { itemSizeBytes } from '../../../shared/dynamo/engine/capacity.ts';

/** Attributes that items may have in addition to their keys; `status` is a reserved word. */
export const ATTRIBUTES = ['a', 'n', 's', 'l', 'm', 'u', 'status'] as const;
/** Keys of indexes, which are attributes like any other to an item. */
export const INDEX_KEYS = ['gpk', 'gsk'] as const;

const bytes = fc.constantFrom('', 'a', 'ab').map((text) => Uint8Array.from(Buffer.from(text)));
const text = fc.constantFrom('', 'a', 'ab', 'b', 'é', '😀', 'x'.repeat(40));
/** Sums of these are beyond what JavaScript numbers hold, fractions and whole ones. */
const number = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(0.1, 0.2, -1.5, 1e-7, 120, 1_700_000_000_000, Number.MAX_SAFE_INTEGER),
  fc.constantFrom(
    10n ** 38n,
    -(10n ** 125n),
    12345678901234567890123456789012345678n,
    99999999999999999999999999999999999999n,
  ),
);

const stringSet = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'ab'), { minLength: 1, maxLength: 3 })
  .map((all) => new Set(all));
const numberSet = fc
  .uniqueArray(fc.constantFrom(1, 2, 0.5, -1), { minLength: 1, maxLength: 3 })
  .map((all) => new Set(all));
const byteSet = fc
  .uniqueArray(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 2 })
  .map((all) => new Set(all.map((one) => Uint8Array.from(Buffer.from(one)))));

const scalar = fc.oneof(
  { arbitrary: number, weight: 3 },
  { arbitrary: text, weight: 3 },
  { arbitrary: fc.oneof(fc.boolean(), fc.constant(null), bytes), weight: 2 },
);
const set = fc.oneof(stringSet, numberSet, byteSet);

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 2 },
    { arbitrary: scalar, weight: 6 },
    { arbitrary: set, weight: 2 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 1 },
    { arbitrary: fc.dictionary(fc.constantFrom('x', 'y', '0'), tie('value'), { maxKeys: 2 }), weight: 1 },
  ),
}));
export const anyValue = value;
/** A value of one of the types that have an order. */
export const orderedValue: fc.Arbitrary<unknown> = fc.oneof(number, text, bytes);

/** Mostly what the name promises, so that operations succeed; sometimes not, so that they fail. */
export function valueFor(attribute: string): fc.Arbitrary<unknown> {
  const promised = PROMISED[attribute] ?? anyValue;
  return fc.oneof({ arbitrary: promised, weight: 6 }, { arbitrary: anyValue, weight: 1 });
}

const PROMISED: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  n: number,
  s: text,
  l: fc.array(scalar, { maxLength: 4 }),
  m: fc.dictionary(fc.constantFrom('x', 'y', '0'), fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), {
    maxKeys: 3,
  }),
  u: set,
};

/** An index key of the right type, nearly always; the wrong one makes the item impossible. */
export function indexKeyValue(name: string): fc.Arbitrary<unknown> {
  const right: fc.Arbitrary<unknown> = name === 'gpk' ? fc.constantFrom('g', 'h') : fc.integer({ min: 0, max: 2 });
  return fc.oneof({ arbitrary: right, weight: 12 }, { arbitrary: anyValue, weight: 1 });
}

/** Some attributes, with or without index keys. */
export const attributes: fc.Arbitrary<Record<string, unknown>> = fc.record(
  Object.fromEntries([
    ...ATTRIBUTES.map((name) => [name, valueFor(name)] as const),
    ...INDEX_KEYS.map((name) => [name, indexKeyValue(name)] as const),
  ]),
  { requiredKeys: [] },
);

/** Sizes at which units and limits change. */
const BOUNDARIES = [1024, 4096, 400 * 1024] as const;

/** What to add to an item so that it is as large as a boundary, or one byte away from it. */
export const filler: fc.Arbitrary<(item: Record<string, unknown>) => Record<string, unknown>> = fc
  .tuple(
    fc.oneof(
      { arbitrary: fc.constant(BOUNDARIES[0]), weight: 10 },
      { arbitrary: fc.constant(BOUNDARIES[1]), weight: 5 },
      { arbitrary: fc.constant(BOUNDARIES[2]), weight: 1 },
    ),
    fc.integer({ min: -1, max: 1 }),
  )
  .map(([boundary, beside]) => (item) => {
    const room = boundary + beside - itemSizeBytes(item) - 'fill'.length;
    return { ...item, fill: 'f'.repeat(Math.max(0, room)) };
  });
