/** When a worker tries a task again whose row stays as it was, by the outcome of its first try. */
import { expect, test } from 'vitest';
import { IDLE_QUEUE, openIdleWorld } from '../../../../bench/idle-world.ts';
import type { Outcome } from '../../../../shared/tasks/picker/candidate.ts';
import { Rows } from '../../../../shared/tasks/picker/rows.ts';
import { TaskPicker } from '../../../../shared/tasks/picker/task-picker.ts';
import { pickerPorts } from '../../../support/picker-ports.ts';

const FOREVER_MS = 10 * 60_000;
const SETTINGS = {
  queue: IDLE_QUEUE,
  shards: 1,
  homeShards: [0],
  exitsWhenEmpty: false,
  hasDispatcher: false,
  heartbeatMs: 1_000,
  pollMs: 100,
  maxClockSkewMs: 0,
};

/** @returns seconds, rounded up; undefined: not within ten minutes */
async function triedAgainAfter(outcome: Outcome): Promise<number | undefined> {
  const idle = openIdleWorld({ clientShards: 1 });
  const place = idle.placeOf('worker');
  const picker = new TaskPicker('mine', SETTINGS, pickerPorts(place));
  const { clock } = place.runtime;
  let again: number | undefined;
  await idle.world.run(async () => {
    await idle.client.enqueue('hello', {}, { id: 't', ...(typeof outcome === 'object' ? { key: 'k', limit: 1 } : {}) });
    const next = async (untilMs: number) => {
      while (clock.monotonic() < untilMs) {
        const candidate = await picker.next();
        if (candidate !== undefined) return candidate;
        await clock.sleep(picker.restMs);
      }
      return undefined;
    };
    const first = await next(60_000);
    await first?.end(outcome);
    const endedAt = clock.monotonic();
    if ((await next(endedAt + FOREVER_MS)) !== undefined) again = Math.ceil((clock.monotonic() - endedAt) / 1_000);
  });
  return again;
}

test.each<[string, Outcome, number | undefined]>([
  ['it ended, and its entry is outdated', 'ended', 1],
  ['it was postponed', 'settled', 1],
  ['it was kept', 'kept', 1],
  ['it expired', 'expired', 3],
  ['it was not tried', 'untried', 1],
  ['another was faster', 'contended', 3],
  ['this worker is unfit for it', 'unfit', 61],
  ['its last write has no known outcome, so another run would hide it', 'undecided', undefined],
  // Its key's row is read soon, and shows that it has room.
  ['its key was full', { full: { until: undefined, running: 1, enteredAt: undefined } }, 1],
])('%s', async (_what, outcome, seconds) => {
  expect(await triedAgainAfter(outcome)).toBe(seconds);
});

test.each([
  ['was only left to others is worth reading at once, when the worker helps', true, true],
  ['is tried here is not read again', false, false],
])('a task that %s', async (_what, isLeft, isWorth) => {
  const idle = openIdleWorld({ clientShards: 1 });
  const rows = new Rows('mine', SETTINGS, pickerPorts(idle.placeOf('worker')));
  await idle.world.run(async () => {
    await idle.client.enqueue('hello', {}, { id: 't' });
    await rows.choose([{ queue: IDLE_QUEUE, id: 't' }], () => isLeft);
  });

  expect(rows.isWorthReading({ queue: IDLE_QUEUE, id: 't', readyAt: 0 })).toBe(isWorth);
});
