import { expect, test } from 'vitest';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import type { SessionRecord } from '../../../../shared/session/session-record.ts';
import { plan } from '../../../../shared/tasks/dispatch/planning.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

const SKEW_MS = 1_000;

/** One task that a session without a permit runs. */
async function wantedBeside(session: Partial<SessionRecord> | undefined): Promise<number> {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const readyAt = clock.now();
  const row = { state: 'running', session: 'laptop', name: 'task', readyAt } as unknown as TaskRecord;
  const found = new Map(session === undefined ? [] : [['laptop', session as SessionRecord]]);
  const { planned } = await plan(
    {
      demand: { due: 1, late: 0, tookMs: undefined },
      hints: [{ queue: 'q', id: 't', readyAt }],
      rows: [],
      record: undefined,
      holders: [],
      starting: 0,
    },
    {
      tasks: {
        getMany: () => Promise.resolve([row]),
        getKeys: () => Promise.resolve(new Map()),
        getTurns: () => Promise.resolve(new Map()),
      },
      sessions: { getMany: () => Promise.resolve(found) },
      runtime: { clock, random: { next: () => 0.5 }, ids: systemIds },
      onDamaged: () => undefined,
    },
    { shards: 1, maxWorkers: 3, concurrency: 1, startWithinMs: 10_000, maxClockSkewMs: SKEW_MS },
  );
  return planned.wanted;
}

const NOW = Date.parse('2026-01-01T00:00:00Z');
const LIVE = { status: 'live', ttlMs: 30_000, lockDelayMs: 5_000, createdAt: NOW, expiresAt: NOW + 20_000 } as const;

test.each([
  ['a live session runs it', LIVE, 0],
  ['its session has expired', { ...LIVE, expiresAt: NOW - 2 * SKEW_MS }, 1],
  ['its session has just been ended', { ...LIVE, status: 'invalid', invalidatedAt: NOW }, 1],
  ['its session is gone', undefined, 1],
] as const)('wants a worker for a running task unless a live session runs it: %s', async (_, session, wanted) => {
  expect(await wantedBeside(session as Partial<SessionRecord> | undefined)).toBe(wanted);
});
