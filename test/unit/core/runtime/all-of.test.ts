import { expect, test } from 'vitest';
import { allOf } from '../../../../shared/core/runtime/all-of.ts';

test('throws the first error, after all have ended', async () => {
  const slow = Promise.withResolvers<string>();
  const ended: string[] = [];
  const all = allOf([
    slow.promise.then(() => void ended.push('slow')),
    Promise.reject(new Error('the first')),
    Promise.reject(new Error('the second')),
  ]).catch((error: unknown) => {
    ended.push('all');
    return error;
  });
  // Turns enough for a failure to be handed on.
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(ended).toEqual([]);
  slow.resolve('one');

  expect(await all).toMatchObject({ message: 'the first' });
  expect(ended).toEqual(['slow', 'all']);
});
