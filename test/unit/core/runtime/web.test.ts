/** Replacements in `shared/` for functions that a host lacks: compared with Node's, over many texts and values. */
import { Buffer } from 'node:buffer';
import { hash } from 'node:crypto';
import { inspect, isDeepStrictEqual } from 'node:util';
import vm from 'node:vm';
import fc from 'fast-check';
import { build } from 'esbuild';
import { beforeAll, describe, expect, test } from 'vitest';
import type * as bytes from '../../../../shared/core/runtime/bytes.ts';
import * as ofNode from '../../../../shared/core/runtime/bytes.ts';
import { inspectedOfOurOwn } from '../../../../shared/core/runtime/inspect.ts';
import { isSame } from '../../../../shared/core/runtime/same.ts';
import { sha256, sha256OfOurOwn } from '../../../../shared/core/runtime/sha256.ts';

/** Halves of surrogate pairs among it. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 })
  .map((units) => String.fromCharCode(...units));

describe('sha256', () => {
  test('is the digest that Node makes, of any text, in both forms', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom('hex', 'base64url'), (text, form) => {
        const expected = hash('sha256', text, form);
        expect([sha256OfOurOwn(text, form), sha256(text, form)]).toEqual([expected, expected]);
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test('is the digest of the standard for a long message', () => {
    const expected = 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0';
    expect(sha256OfOurOwn('a'.repeat(1_000_000))).toBe(expected);
  });
});

describe('bytes without a host that has buffers', () => {
  let bare: typeof bytes;

  beforeAll(async () => {
    const { outputFiles } = await build({
      entryPoints: ['shared/core/runtime/bytes.ts'],
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'bare',
      platform: 'neutral',
    });
    const context = vm.createContext({ atob, btoa, Uint8Array });
    vm.runInContext(outputFiles[0]!.text, context);
    bare = (context as { readonly bare: typeof bytes }).bare;
  });

  test('counts the bytes of any text as Node does, halves of pairs included', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(bare.utf8Bytes(text)).toBe(Buffer.byteLength(text));
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test('writes and reads base64 as Node does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (given) => {
        const text = Buffer.from(given).toString('base64');
        expect(bare.base64Of(given)).toBe(text);
        expect([...bare.bytesOfBase64(text)]).toEqual([...given]);
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
    const long = new Uint8Array(70_000).map((_, at) => at % 251);
    expect(bare.base64Of(long)).toBe(Buffer.from(long).toString('base64'));
  });

  test('writes a part of a larger buffer as that part alone', () => {
    const whole = new Uint8Array([1, 2, 3, 4, 5]);
    for (const forms of [bare, ofNode])
      for (let from = 0; from < 5; from++) {
        const text = Buffer.from([...whole].slice(from, 4)).toString('base64');
        expect(forms.base64Of(whole.subarray(from, 4))).toBe(text);
        expect(forms.base64Of(forms.bytesOfBase64(text))).toBe(text);
      }
  });

  test('reads what is not quite base64 as Node does', () => {
    for (const text of ['QQ', 'QQ==', 'Q', 'QUI', 'Q U\nI=', 'QUI=QUI=', '-_-_', '', '====', 'QUJD!'])
      expect([...bare.bytesOfBase64(text)]).toEqual([...Buffer.from(text, 'base64')]);
  });
});

describe('isSame', () => {
  test('tells values apart as Node does', () => {
    const value = fc.anything({ maxDepth: 3, withSet: false, withBigInt: true, withNullPrototype: false });
    fc.assert(
      fc.property(value, value, (left, right) => {
        expect(isSame(left, right)).toBe(isDeepStrictEqual(left, right));
        expect(isSame(left, structuredClone(left))).toBe(isDeepStrictEqual(left, structuredClone(left)));
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test.each([
    [new Set([1, 2]), new Set([2, 1]), true],
    [new Set([1, 2]), new Set([1, 3]), false],
    [new Set([new Uint8Array([1])]), new Set([new Uint8Array([1])]), true],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2]), true],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3]), false],
    [[1], { 0: 1 }, false],
    [{ a: undefined }, {}, false],
    [{ a: undefined }, { b: undefined }, false],
    [0, -0, false],
    [NaN, NaN, true],
  ])('of %o and %o is %o', (left, right, expected) => {
    expect(isSame(left, right)).toBe(expected);
  });
});

describe('inspectedOfOurOwn', () => {
  class Point {
    readonly x = 1;
  }
  test.each([
    ...[0, -0, NaN, 12n, true, null, undefined, Symbol('s'), 'text', "it's"],
    ...[[], [1, [2]], [1, [2, [3]]], {}, { a: 1, 'b-c': { d: { e: 1 } } }, new Set([1, 'a']), new Point()],
    ...[new Date(0), new Date(NaN), () => 1, function named() {}, { none: undefined }, Object.create(null) as object],
  ])('says of %o what Node says', (value: unknown) => {
    const nodes = inspect(value, { depth: 1, breakLength: Infinity });
    expect(inspectedOfOurOwn(value)).toBe(nodes.replace(/^"it's"$/, String.raw`'it\'s'`));
  });
});
