/** The limits of a candidate, just below and just above each limit. */
import { describe, expect, test } from 'vitest';
import type { Found } from '../../../../shared/tasks/picker/candidate.ts';
import type { AnyTask } from '../../../../shared/tasks/task/definition.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import {
  hasFailedLong,
  isExhausted,
  isLastAttempt,
  isOverdue,
} from '../../../../shared/tasks/worker/attempt-limits.ts';

const retry = { maxAttempts: 5, maxDeaths: 3 };
const WORK = defineTask({ name: 'work', retry, run: () => undefined }) as AnyTask;
const DIED = [{ how: 'died' }];
const FAILED = [{ how: 'died' }, { how: 'failed' }];

const found = (kind: Found['kind'], facts: object): Found =>
  ({ kind, task: { attempts: 0, deaths: 0, past: [], ...facts } }) as unknown as Found;
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/** Numbers of deaths and attempts before the last permitted attempt. */
function lastOf(kind: Found['kind'], past: readonly object[], more: object = {}): unknown {
  const isLast = (facts: object) => isLastAttempt(found(kind, { past, ...more, ...facts }), WORK);
  return {
    deaths: upTo(3).filter((deaths) => isLast({ deaths })),
    attempts: upTo(6).filter((attempts) => isLast({ attempts })),
  };
}

describe('the last attempt of a task', () => {
  test.each([
    ['ready, after a crash', lastOf('ready', DIED), { deaths: [2], attempts: [4] }],
    ['ready, after a failure since the crash', lastOf('ready', FAILED), { deaths: [], attempts: [] }],
    ['ready, and new', lastOf('ready', []), { deaths: [], attempts: [] }],
    // Its holder's crash is one more death, which its row does not count yet.
    ['abandoned', lastOf('abandoned', []), { deaths: [1], attempts: [4] }],
    ['abandoned, after a crash', lastOf('abandoned', DIED), { deaths: [1], attempts: [4] }],
    ['abandoned, after a failure', lastOf('abandoned', FAILED), { deaths: [1], attempts: [4] }],
    ['adopted, after a crash', lastOf('adopted', DIED), { deaths: [2], attempts: [4] }],
    ['adopted, and new', lastOf('adopted', []), { deaths: [], attempts: [] }],
    [
      'abandoned, with two attempts of its own',
      lastOf('abandoned', [], { policy: { maxAttempts: 2 } }),
      // It may not die twice, so each attempt after the first death is its last.
      { deaths: [0], attempts: [0, 1, 2, 3, 4, 5] },
    ],
    [
      'ready, with two attempts of its own',
      lastOf('ready', DIED, { policy: { maxAttempts: 2 } }),
      { deaths: [1], attempts: [1] },
    ],
  ])('which is %s', (_which, last, expected) => {
    expect(last).toEqual(expected);
  });

  test.each(['ready', 'abandoned', 'adopted'] as const)(
    'is unknown for a task that is %s without a definition',
    (kind) => {
      expect(isLastAttempt(found(kind, { past: DIED, deaths: 2, attempts: 4 }), undefined)).toBe(false);
    },
  );
});

test('an abandoned task is out of attempts at each limit', () => {
  const isOut = (attempts: number, deaths: number) =>
    isExhausted({ attempts, deaths } as RunningTask, { ...retry } as Parameters<typeof isExhausted>[1]);

  expect(upTo(7).filter((attempts) => isOut(attempts, 0))).toEqual([5, 6]);
  expect(upTo(5).filter((deaths) => isOut(1, deaths))).toEqual([2, 3, 4]);
});

test('only a ready task can be overdue, from its expiry on', () => {
  const at = (kind: Found['kind'], expiresAt: number | undefined) => isOverdue(found(kind, { expiresAt }), 100);

  expect([99, 100, 101, undefined].map((expiresAt) => at('ready', expiresAt))).toEqual([true, true, false, false]);
  expect((['abandoned', 'adopted'] as const).map((kind) => at(kind, 99))).toEqual([false, false]);
});

test('a task has failed long from ten minutes on', () => {
  const since = (failingSince: number | undefined) => hasFailedLong({ failingSince } as RunningTask, 700_000);

  expect([99_999, 100_000, 100_001, undefined].map(since)).toEqual([true, true, false, false]);
});
