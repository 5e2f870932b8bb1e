/** A refused end continues with a follower only if the very attempt that ends has one. */
import { expect, test } from 'vitest';
import type { Change } from '../../../../shared/tasks/rows/task/change-parts.ts';
import { followerIn } from '../../../../shared/tasks/rows/task/dependent-rows.ts';

const FOLLOWER = { name: 'next' };
const MINE = { state: 'running', leaseCounter: 7, session: 'mine', follower: FOLLOWER, journal: undefined };
const CHANGE = { task: { leaseCounter: 7, session: 'mine' }, promote: () => undefined } as unknown as Change;

test.each<[string, object | undefined, boolean]>([
  ['of this attempt', MINE, true],
  ['of a later attempt', { ...MINE, leaseCounter: 8 }, false],
  ['of another session', { ...MINE, session: 'theirs' }, false],
  ['of a task that waits again', { ...MINE, state: 'ready' }, false],
  ['of nobody', { ...MINE, follower: undefined }, false],
  ['of a row that is gone', undefined, false],
])('a follower %s', (_what, current, isIt) => {
  const refused = { kind: 'refused', current } as never;

  expect(followerIn(CHANGE, refused)).toEqual(isIt ? { follower: FOLLOWER, journal: undefined } : undefined);
  expect(followerIn({ ...CHANGE, promote: undefined } as never, refused)).toBeUndefined();
});
