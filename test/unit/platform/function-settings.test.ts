import { describe, expect, test } from 'vitest';
import { localFunction } from '../../../examples/platform/lambda/function-settings.ts';

const settings = { entry: '/handler.ts', timeoutMs: 3_000, memoryMb: 128, environment: {} };

describe('localFunction', () => {
  test('fills in what AWS fills in', () => {
    expect(localFunction('work', settings)).toMatchObject({
      name: 'work',
      handler: 'handler',
      maximumRetryAttempts: 2,
      maximumEventAgeMs: 6 * 60 * 60 * 1000,
    });
  });

  test.each([
    ['no name at all!', {}, 'a name is'],
    ['work', { entry: 'handler.ts' }, 'entry must be an absolute path, got handler.ts'],
    ['work', { timeoutMs: 900_001 }, 'timeoutMs must be above 0 and at most 900000'],
    ['work', { timeoutMs: Number.NaN }, 'timeoutMs must be above 0'],
    ['work', { memoryMb: 64 }, 'memoryMb must be at least 128'],
    ['work', { maxConcurrency: 0 }, 'maxConcurrency must be a whole number of 1 or more, got 0'],
  ])('refuses what AWS refuses: %s %j', (name, change, message) => {
    expect(() => localFunction(name, { ...settings, ...change })).toThrow(`function ${name}: ${message}`);
  });
});
