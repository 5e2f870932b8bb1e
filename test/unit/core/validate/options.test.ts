import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { hintFor, validOptions } from '../../../../shared/core/validate/options.ts';

interface Options {
  readonly ttl?: string;
  readonly zone?: string;
}

const check = (options: unknown) => validOptions('the options', options as Options, ['ttl', 'zone']);

describe('validOptions', () => {
  test('answers with what it was given', () => {
    const options = { ttl: '30s' };

    expect(check(options)).toBe(options);
    expect(check({})).toEqual({});
    expect(check({ ttl: undefined, elsewhere: undefined })).toEqual({ ttl: undefined, elsewhere: undefined });
  });

  test.each([
    [{ ttlMs: 5 }, 'the options: unknown option "ttlMs": known are ttl, zone; did you mean ttl?'],
    [{ timezone: 'UTC' }, 'the options: unknown option "timezone": known are ttl, zone; did you mean zone?'],
    [{ zoen: 'UTC' }, 'the options: unknown option "zoen": known are ttl, zone; did you mean zone?'],
    [{ wait: 5 }, 'the options: unknown option "wait": known are ttl, zone'],
    [{ toString: 5 }, 'the options: unknown option "toString": known are ttl, zone'],
    [null, 'the options are null: must be an object, of ttl, zone'],
    [undefined, 'the options are undefined: must be an object, of ttl, zone'],
    ['30s', 'the options are "30s": must be an object, of ttl, zone'],
    [[1], 'the options are [ 1 ]: must be an object, of ttl, zone'],
  ])('refuses %o', (options, message) => {
    expect(() => check(options)).toThrow(new ConfigurationError(message));
  });
});

test.each([['behaviour', ['behavior', 'ttl'] as const, 'behavior']])(
  'names the option that %s was probably meant for',
  (former, known, now) => {
    const options = { [former]: 5 };

    expect(() => validOptions('the options', options as { behavior?: number; ttl?: number }, known)).toThrow(
      `did you mean ${now}?`,
    );
  },
);

test.each([
  ['prority', ['id', 'priority', 'delay'], 'priority'],
  ['attempts', ['maxAttempts', 'maxDeaths', 'backoff'], 'maxAttempts'],
  ['jobId', ['id', 'priority', 'delay'], 'id'],
  ['stauts', ['state', 'status'], 'status'],
  ['maxWorker', ['maxWorkers', 'startWithin'], 'maxWorkers'],
  ['ttl', ['ttlMs', 'sessionTtlMs', 'ttlUnit'], 'sessionTtlMs'],
])('takes %s for a typing error of one of %j', (name, known, meant) => {
  expect(hintFor(name, known)).toBe(`; did you mean ${meant}?`);
});
