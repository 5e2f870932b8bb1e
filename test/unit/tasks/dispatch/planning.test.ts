/** A plan over the rows of a sample, some of which its caller has read before. */
import { expect, test } from 'vitest';
import { plan } from '../../../../shared/tasks/dispatch/planning.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

const ENTRIES = 100;
const SETTINGS = { shards: 1, maxWorkers: 1_000, concurrency: 1, startWithinMs: 10_000, maxClockSkewMs: 1_000 };

test.each([0, 10, 25, ENTRIES])('judges by a sample of all entries if the %i oldest rows are known', async (known) => {
  const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  const now = clock.now();
  /** The older half is of one key, which runs one at a time. */
  const rows = Array.from({ length: ENTRIES }, (_, nth) => {
    const links = nth < ENTRIES / 2 ? { concurrency: { key: 'k', limit: 1, rate: undefined } } : undefined;
    return { id: `t${nth}`, queue: 'q', state: 'ready', name: 'task', readyAt: now - ENTRIES + nth, links };
  }) as unknown as readonly TaskRecord[];
  const read: string[] = [];
  const ports = {
    tasks: {
      getKeys: () => Promise.reject(new Error('no key has a rate')),
      getTurns: () => Promise.reject(new Error('no task is in a line')),
      getMany: (keys: readonly { readonly id: string }[]) => {
        const ids = new Set(keys.map(({ id }) => id));
        read.push(...ids);
        return Promise.resolve(rows.filter(({ id }) => ids.has(id)));
      },
    },
    sessions: { getMany: () => Promise.resolve(new Map()) },
    runtime: { clock, random: { next: () => 0.5 }, ids: { unique: () => 'id', ordered: () => 'id' } },
    onDamaged: () => undefined,
  };

  const { planned } = await plan(
    {
      demand: { due: ENTRIES, late: 0, tookMs: undefined },
      hints: rows.map((row) => ({
        queue: row.queue,
        id: row.id,
        readyAt: (row as { readonly readyAt: number }).readyAt,
      })),
      rows: rows.slice(0, known),
      record: undefined,
      holders: [],
      starting: 0,
    },
    ports,
    SETTINGS,
  );

  // 13 rows of 25 are of the key: they stand for 52 entries, of which one can run.
  expect(planned).toMatchObject({ due: ENTRIES - 52 + 1, why: 'keysFull' });
  expect(read.filter((id) => Number(id.slice(1)) < known)).toEqual([]);
});
