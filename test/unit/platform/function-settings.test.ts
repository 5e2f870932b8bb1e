import { describe, expect, test } from 'vitest';
import { functionArn, parseFunctionReference } from '../../../examples/platform/lambda/function-name.ts';
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

describe('parseFunctionReference', () => {
  test.each([
    ['work', { name: 'work', qualifier: undefined }],
    ['work:$LATEST', { name: 'work', qualifier: '$LATEST' }],
    ['123456789012:function:work:live', { name: 'work', qualifier: 'live' }],
    ['arn:aws:lambda:eu-west-1:123456789012:function:work', { name: 'work', qualifier: undefined }],
    ['arn:aws-cn:lambda:cn-north-1:123456789012:function:work:7', { name: 'work', qualifier: '7' }],
  ])('reads %s', (text, reference) => {
    expect(parseFunctionReference(text)).toEqual(reference);
  });

  test.each(['', 'work:', 'two words', 'arn:aws:sqs:eu-west-1:123456789012:work', '../work'])(
    'does not read "%s"',
    (text) => {
      expect(parseFunctionReference(text)).toBeUndefined();
    },
  );

  test('reads what functionArn writes', () => {
    const reference = { name: 'work', qualifier: 'live' };

    expect(parseFunctionReference(functionArn(reference))).toEqual(reference);
  });
});
