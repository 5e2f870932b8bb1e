/** The stored and logged form of values thrown by task code, whatever they are. */
import { expect, test } from 'vitest';
import { describeThrown, stackOf } from '../../../../shared/tasks/run/thrown.ts';

test('describes an error with its stack and causes, without properties that may contain secrets', () => {
  const cause = Object.assign(new TypeError('no route'), { config: { headers: { authorization: 'Bearer secret' } } });
  const thrown = describeThrown(new Error('cannot charge', { cause }));

  expect(thrown).toMatchObject({
    name: 'Error',
    message: 'cannot charge',
    stack: expect.stringContaining('thrown.test.ts') as string,
    cause: { name: 'TypeError', message: 'no route', stack: expect.stringContaining('thrown.test.ts') as string },
  });
  expect(JSON.stringify(thrown)).not.toContain('secret');
});

test('shares the available bytes between the stacks of an error and its causes', () => {
  const long = new Error('x'.repeat(3_000), { cause: new RangeError('the root of it') });
  const text = stackOf(describeThrown(long), 1_000) ?? '';

  expect(text.length).toBeLessThanOrEqual(1_001);
  expect(text).toContain('caused by RangeError: the root of it');
});

test('describes values without a stack', () => {
  expect(describeThrown('a text')).toEqual({ name: 'Error', message: 'a text' });
  expect(stackOf(describeThrown('a text'), 1_000)).toBeUndefined();
  expect(stackOf(describeThrown(undefined), 1_000)).toBeUndefined();
});

test('ends the description at circular causes and throwing getters, without failing', () => {
  const loop = new Error('round');
  loop.cause = loop;
  const hostile = Object.defineProperty(new Error('x'), 'stack', {
    get() {
      throw new Error('not for you');
    },
  });

  expect(JSON.stringify(describeThrown(loop)).match(/"round"/g)).toHaveLength(5);
  expect(describeThrown(hostile)).toEqual({ name: 'Error', message: 'x' });
  expect(describeThrown(new Error('outer', { cause: hostile }))).toMatchObject({ message: 'outer' });
});
