/** Moments that a user gives: rows hold whole milliseconds, and a row with any other number would be damaged. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { MAX_EPOCH_MS, laterBy, validMoment } from '../../../../shared/core/validate/moment.ts';

const anyMoment = fc.double({ min: 0, max: MAX_EPOCH_MS, noNaN: true });

test('any moment is taken as the nearest whole millisecond, as a number or a date', () => {
  fc.assert(
    fc.property(anyMoment, (moment) => {
      expect(validMoment('runAt', moment)).toBe(Math.round(moment));
      expect(validMoment('runAt', new Date(moment))).toBe(Math.trunc(moment));
    }),
    { numRuns: 200, seed: 20_261_127 },
  );
});

test('a moment after another by any span is whole', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (span) => {
      expect(laterBy('delay', 1_000, span)).toBe(1_000 + Math.round(span));
    }),
    { numRuns: 200, seed: 20_261_127 },
  );
});

test.each([NaN, Infinity, -1, MAX_EPOCH_MS + 1, new Date(NaN), new Date(-1), '2026-01-01', null])(
  '%o is no moment',
  (moment) => {
    expect(() => validMoment('runAt', moment as number)).toThrow(ConfigurationError);
  },
);

test('the last moment of all is one, and nothing is later', () => {
  expect(validMoment('runAt', MAX_EPOCH_MS)).toBe(MAX_EPOCH_MS);
  expect(laterBy('delay', MAX_EPOCH_MS - 1, 1)).toBe(MAX_EPOCH_MS);
  expect(() => laterBy('delay', MAX_EPOCH_MS, 1)).toThrow('delay = 1 ends after the year 9999');
});
