/** Moments that a user gives: rows hold whole milliseconds, and a row with any other number would be damaged. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { When } from '../../../../shared/core/validate/moment.ts';
import { MAX_EPOCH_MS, laterBy, momentOf, validMoment, whenMs } from '../../../../shared/core/validate/moment.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const OLDEST_MS = Date.parse('2000-01-01T00:00:00Z');
const anyMoment = fc.double({ min: OLDEST_MS, max: MAX_EPOCH_MS, noNaN: true });

test('any moment is taken as the nearest whole millisecond, as a number or a date', () => {
  fc.assert(
    fc.property(anyMoment, (moment) => {
      expect(validMoment('startAt', moment)).toBe(Math.round(moment));
      expect(validMoment('startAt', new Date(moment))).toBe(Math.trunc(moment));
    }),
    { numRuns: 200, seed: 20_261_127 },
  );
});

test('a moment after another by any span is whole', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (span) => {
      expect(laterBy('snooze', 1_000, span)).toBe(1_000 + Math.round(span));
    }),
    { numRuns: 200, seed: 20_261_127 },
  );
});

test.each([NaN, Infinity, -1, MAX_EPOCH_MS + 1, new Date(NaN), new Date(-1), '2026-01-01', null])(
  '%o is no moment',
  (moment) => {
    expect(() => validMoment('startAt', moment as number)).toThrow(ConfigurationError);
  },
);

test.each([NOW / 1_000, new Date(NOW / 1_000), OLDEST_MS - 1])('%o is refused as seconds', (moment) => {
  expect(() => validMoment('startAt', moment)).toThrow('is before the year 2000: pass milliseconds since 1970');
});

test('accepts the last moment of all, and nothing later', () => {
  expect(validMoment('startAt', MAX_EPOCH_MS)).toBe(MAX_EPOCH_MS);
  expect(laterBy('snooze', MAX_EPOCH_MS - 1, 1)).toBe(MAX_EPOCH_MS);
  expect(() => laterBy('snooze', MAX_EPOCH_MS, 1)).toThrow('snooze = 1 ends after the year 9999');
});

describe('a delay', () => {
  test.each<[When, number]>([
    ['10m', NOW + 600_000],
    ['0s', NOW],
    ['1.5 hours', NOW + 5_400_000],
    [new Date(NOW - 1), NOW - 1],
    ['2027-01-31T08:00Z', Date.parse('2027-01-31T08:00:00Z')],
    ['2027-01-31T08:00:00.25+01:00', Date.parse('2027-01-31T07:00:00.250Z')],
  ])('of %s', (when, at) => {
    expect(whenMs('delay', when, NOW)).toBe(at);
  });

  test.each([
    [60_000, "has no unit: write '60000s' or '60000ms'"],
    ['90', "has no unit: write '90s' or '90ms'"],
    [NOW, "for that moment, pass new Date(1795867200000), or '2026-11-28T12:00:00.000Z'"],
    [NOW / 1_000, "for that moment, pass new Date(1795867200000), or '2026-11-28T12:00:00.000Z'"],
    [-5, 'delay = -5: must be a text with a unit'],
    ['-5s', 'must be a text with a unit'],
    ['soon', 'must be a text with a unit'],
    [null, 'must be a text with a unit'],
    [Infinity, 'must be a text with a unit'],
    [new Date(NaN), 'must be a Date'],
    [new Date(NOW / 1_000), 'is before the year 2000'],
  ])('is not %s', (when, message) => {
    expect(() => whenMs('delay', when as When, NOW)).toThrow(message);
    expect(() => whenMs('delay', when as When, NOW)).toThrow(ConfigurationError);
  });
});

describe('a moment as text', () => {
  test.each([
    ['2027-01-31', '"2027-01-31" has no zone: write 2027-01-31T00:00Z, or an offset such as +01:00'],
    ['2027-01-31T08:00:00', 'has no zone: write 2027-01-31T08:00:00Z'],
  ])('has a zone, so that it means the same everywhere: %s', (text, message) => {
    expect(() => momentOf(text)).toThrow(message);
  });

  test.each(['5', '', '2027-02-31T00:00Z', '2027-02-29T00:00Z', '2027-13-01T00:00Z', '2027-01-31T25:00Z', '31.1.2027'])(
    'is refused: %s',
    (text) => {
      expect(() => momentOf(text)).toThrow('is not a time: pass one such as 2027-01-31T08:00:00Z');
    },
  );
});
