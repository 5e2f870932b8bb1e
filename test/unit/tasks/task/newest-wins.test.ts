/** Which refused `replace` or `debounce` has nothing left to write. */
import { expect, test } from 'vitest';
import { isFollowedAnew, isOverridden } from '../../../../shared/tasks/task/newest-wins.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { newTask } from '../../../support/tasks.ts';

const ROW = { name: 'work', input: 'seen', state: 'ready', leaseCounter: 7, generation: 0 };
const SEEN = ROW as unknown as ReadyTask;
const OURS = newTask({ input: 'ours' });

test.each([
  ['another replacement', true, { input: 'theirs' }],
  ['our own work, by whomever', true, { input: 'ours' }],
  ['other work, which was begun anew', false, { input: 'theirs', generation: 1 }],
  ['other work, which has been claimed and handed back', false, { input: 'theirs', leaseCounter: 8 }],
  ['other work, which runs', false, { input: 'theirs', state: 'running' }],
  ['the work that was seen, at another time', false, { readyAt: 1 }],
])('a refused request that finds %s: overridden %s', (_what, isOver, found) => {
  expect(isOverridden(SEEN, { ...ROW, ...found } as unknown as TaskRecord, OURS)).toBe(isOver);
});

test('a refused request that finds no row, or its own work if that may expire, is not overridden', () => {
  const expiring = newTask({ input: 'seen', expiresAt: 1 });

  expect(isOverridden(SEEN, undefined, OURS)).toBe(false);
  expect(isOverridden(SEEN, SEEN, expiring)).toBe(false);
});

test.each([
  ['another follower of the same attempt', true, { follower: { nonce: 'theirs' } }],
  ['the follower that was seen', false, { follower: { nonce: 'seen' } }],
  ['no follower', false, { follower: undefined }],
  ['another attempt', false, { leaseCounter: 8, follower: { nonce: 'theirs' } }],
  ['a waiting task', false, { state: 'ready', follower: undefined }],
])('a refused follower that finds %s: overridden %s', (_what, isOver, found) => {
  const seen = { ...ROW, state: 'running', follower: { nonce: 'seen' } };

  expect(isFollowedAnew(seen as unknown as RunningTask, { ...seen, ...found } as unknown as TaskRecord)).toBe(isOver);
});

test('the first follower is not overridden, because two calls would be told that they created it', () => {
  const seen = { ...ROW, state: 'running', follower: undefined } as unknown as RunningTask;

  expect(isFollowedAnew(seen, { ...seen, follower: { nonce: 'theirs' } } as unknown as TaskRecord)).toBe(false);
});
