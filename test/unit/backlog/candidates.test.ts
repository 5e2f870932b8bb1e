import { beforeEach, describe, expect, test } from 'vitest';
import { systemIds } from '../../../shared/runtime/ids.ts';
import type { CandidatePorts } from '../../../shared/backlog/candidates.ts';
import { Candidates } from '../../../shared/backlog/candidates.ts';
import type { Linked } from '../../../shared/backlog/key-places.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';

describe('tasks that found their key full', () => {
  let clock: FakeClock;
  let candidates: Candidates;

  beforeEach(() => {
    clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
    const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
    // Nothing is read here.
    candidates = new Candidates({ session: 'mine', queue: 'q', maxClockSkewMs: 0, hasDispatcher: false }, {
      runtime,
    } as unknown as CandidatePorts);
  });

  const taskOf = (id: string, key: string): Linked => ({
    queue: 'q',
    id,
    links: { concurrency: { key, limit: 1, rate: undefined } },
  });
  const isWorthReading = ({ queue, id }: Linked) => candidates.isWorthReading({ queue, id });

  test('are worth another look when one of that key ends', () => {
    const tasks = [taskOf('a', 'k'), taskOf('b', 'k'), taskOf('c', 'other')];
    for (const task of tasks) candidates.turnAway(task);
    expect(tasks.map(isWorthReading)).toEqual([false, false, false]);

    candidates.callBack(taskOf('ended', 'k'));

    expect(tasks.map(isWorthReading)).toEqual([true, true, false]);
  });

  test('are forgotten when their time is over', async () => {
    const task = taskOf('a', 'k');
    candidates.turnAway(task);
    await clock.advance(5_000);
    candidates.forgetHeld();
    candidates.skip(task, 60_000);

    candidates.callBack(taskOf('ended', 'k'));

    expect(isWorthReading(task)).toBe(false);
  });
});
