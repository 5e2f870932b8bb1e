/** The syntax of durations: compared with the library `ms`, whose syntax programs know. */
import fc from 'fast-check';
import type { StringValue } from 'ms';
import ms from 'ms';
import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { Duration } from '../../../../shared/core/validate/duration.ts';
import { durationMs } from '../../../../shared/core/validate/duration.ts';

const UNITS = [
  ...['', 'ms', 'msec', 'msecs', 'millisecond', 'milliseconds', 's', 'sec', 'secs', 'second', 'seconds'],
  ...['m', 'min', 'mins', 'minute', 'minutes', 'h', 'hr', 'hrs', 'hour', 'hours', 'd', 'day', 'days'],
  ...['w', 'week', 'weeks', 'y', 'yr', 'yrs', 'year', 'years', 'Hours', 'MS', 'MIN'],
];

test.each(UNITS)('a duration in units of "%s" is as long as the library ms makes it', (unit) => {
  for (const count of ['1', '0', '2.5', '.5', '007', '1000000'])
    for (const space of ['', ' ', '   ']) {
      const text = `${count}${space}${unit}`;
      expect([text, durationMs('ttl', text as Duration)]).toEqual([text, Math.round(ms(text as StringValue))]);
    }
});

test('accepts or refuses any text exactly as the library ms does', () => {
  const letters = fc.constantFrom(...'0123456789.-+ emsinhdwy\n'.split(''));
  const anyText = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.array(letters, { maxLength: 8 }).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(anyText, (text) => {
      const wanted = text === '' ? undefined : ms(text as StringValue);
      if (Number.isFinite(wanted) && Number(wanted) >= 0)
        expect(durationMs('ttl', text as Duration)).toBe(Math.round(Number(wanted)));
      else expect(() => durationMs('ttl', text as Duration)).toThrow(ConfigurationError);
    }),
    { numRuns: 5_000, seed: 20_261_123 },
  );
});

test.each([null, undefined, {}, NaN, Infinity, -1, '-1s', 'soon', '1s 2s'])('%o is no duration', (given) => {
  expect(() => durationMs('ttl', given as Duration)).toThrow(
    /^ttl = .*: must be milliseconds, or a text such as '30s'/,
  );
});
