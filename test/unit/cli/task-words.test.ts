/** The command's summaries of a task and of a queue. */
import { describe, expect, test } from 'vitest';
import { dueText, holderText, stateText } from '../../../cli/queue/task-words.ts';
import { queueState } from '../../../cli/queue/queue-summary.ts';
import { NEVER } from '../../../shared/tasks/task/batch.ts';
import type { SessionRecord } from '../../../shared/session/session-record.ts';
import type { TaskRecord } from '../../../shared/tasks/task/task.ts';
import type { QueueSummary } from '../../../cli/queue/queue-summary.ts';

const NOW = Date.parse('2026-11-24T20:00:00Z');
const parent = { state: 'ready', readyAt: NEVER, children: { queue: 'q', id: 'p/children' } } as unknown as TaskRecord;
const later = { state: 'ready', readyAt: NOW + 60_000 } as unknown as TaskRecord;

test('shows no due time for a waiting parent', () => {
  expect([stateText(parent, NOW), dueText(parent, NOW)]).toEqual([
    'waits for children',
    'when its children have ended',
  ]);
  expect([stateText(later, NOW), dueText(later, NOW)]).toEqual(['delayed', 'in 60s']);
});

describe('the session of a running task', () => {
  const session = (expiresAt: number) =>
    ({ id: 's', status: 'live', expiresAt, ttlMs: 30_000 }) as unknown as SessionRecord;

  test.each([
    ['lives', session(NOW + 20_000), 's'],
    ['has expired', session(NOW - 9_000), 's, expired 9.0s ago: the next worker that polls takes it over'],
    ['has ended', undefined, 's, ended: the next worker that polls takes it over'],
  ])('which %s', (_what, found, text) => {
    expect(holderText('s', found, { now: NOW, maxClockSkewMs: 1_000 })).toBe(text);
  });
});

test.each([
  [{ due: 3, live: 0 }, 'no worker'],
  [{ due: 0, live: 0 }, 'active'],
  [{ due: 3, live: 1 }, 'active'],
  [{ due: 3, live: 0, isPaused: true }, 'paused'],
])('a queue with %o is said to be %s', ({ due, live, isPaused = false }: Record<string, unknown>, state) => {
  const census = {
    due: { high: 0, normal: due, low: 0 },
    workers: { live },
    isPaused,
  } as unknown as QueueSummary;

  expect(queueState(census)).toBe(state);
});
