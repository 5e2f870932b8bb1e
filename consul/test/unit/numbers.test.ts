import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatGoDuration, parseGoDuration } from '../../http/go-duration.ts';
import { parseExactly, stringifyExactly } from '../../http/json.ts';
import { PrefixIndexes, isSame } from '../../http/prefix-index.ts';

describe('durations in the format of Go', () => {
  test.each([
    ['15s', 15_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['100ms', 100],
    ['250us', 0.25],
    ['-10s', -10_000],
    ['0', 0],
  ])('reads %s', (text, ms) => {
    expect(parseGoDuration(text)).toBeCloseTo(ms, 9);
  });

  test.each(['', '10', 's', '10 s', '1d', '1s2', 'x1s', '--1s', '1s '])('does not read %j', (text) => {
    expect(parseGoDuration(text)).toBeUndefined();
  });

  test('reads what it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 86_400_000 }), (ms) => {
        expect(parseGoDuration(formatGoDuration(ms))).toBeCloseTo(ms, 6);
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test.each([
    [15_000, '15s'],
    [90_000, '1m30s'],
    [86_400_000, '24h0m0s'],
    [300, '300ms'],
    [1_500, '1.5s'],
    [0, '0s'],
  ])('writes %i as %s', (ms, text) => {
    expect(formatGoDuration(ms)).toBe(text);
  });
});

describe('JSON with 64 bits', () => {
  test('keeps whole numbers exact in both directions', () => {
    const text = '{"a":18446744073709551615,"b":7,"c":1.5,"d":[9007199254740993]}';

    expect(parseExactly(text)).toEqual({ a: 2n ** 64n - 1n, b: 7, c: 1.5, d: [9007199254740993n] });
    expect(stringifyExactly(parseExactly(text), 0)).toBe(text);
  });
});

describe('the index of a list', () => {
  const contentOf = (name: string, newestAt = Date.UTC(2026, 10, 21)) => ({
    newestAt,
    fingerprint: createHash('sha256').update(name).digest('hex'),
  });

  test('is the same for the same content, greater for another, and exact', () => {
    const indexes = new PrefixIndexes();
    const first = indexes.indexOf('x', contentOf('a'), 0);
    const other = indexes.indexOf('x', contentOf('b'), first);
    const back = indexes.indexOf('x', contentOf('a'), other);

    expect(indexes.indexOf('x', contentOf('a'), back)).toBe(back);
    expect(first).toBeGreaterThan(0);
    expect(other).toBeGreaterThan(first);
    expect(back).toBeGreaterThan(other);
    expect([first, other, back].every(Number.isSafeInteger)).toBe(true);
  });

  test('is greater than zero for an empty list', () => {
    expect(new PrefixIndexes().indexOf('x', contentOf('', 0), 0)).toBeGreaterThan(0);
  });

  test('never goes back, and tells a change, to a client that hands it from gateway to gateway', () => {
    const step = fc.record({ gateway: fc.nat(2), content: fc.constantFrom('a', 'b', 'c', 'd'), asks: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const gateways = [new PrefixIndexes(), new PrefixIndexes(), new PrefixIndexes()];
        let index = 0;
        let known = '';
        for (const { gateway, content, asks } of steps) {
          const told = gateways[gateway]!.indexOf('x', contentOf(content), asks ? index : 0);
          expect(isSame(told, contentOf(content))).toBe(true);
          if (!asks) continue;
          if (content === known) expect(told).toBe(index);
          else expect(told).toBeGreaterThan(index);
          [index, known] = [told, content];
        }
      }),
      { numRuns: 1_000, seed: 20_261_123 },
    );
  });

  test('is remembered for the latest thousand lists alone, and right for the others', () => {
    const indexes = new PrefixIndexes();
    for (let at = 0; at < 2_000; at++) indexes.indexOf(`list ${at}`, contentOf('a'), 0);

    expect(isSame(indexes.indexOf('list 0', contentOf('b'), 0), contentOf('b'))).toBe(true);
  });
});
