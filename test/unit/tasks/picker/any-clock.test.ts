/** Readers of a partition whose wall clock steps, over small pages: every due entry is found in the end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChosenSlice } from '../../../../shared/tasks/picker/chosen-slice.ts';
import { entriesOf } from '../../../../shared/tasks/picker/partition-entries.ts';
import { CLAIMS_PER_LOSS } from '../../../../shared/tasks/picker/tuning.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

const TASKS = 12;
const STEP_MS = 1_000;
/** What the test asks for: enough small pages to read all entries several times. */
const READS = 40;

const step = fc.integer({ min: -8, max: 8 });

test.each([
  ['oldest first', false],
  ['tenants in turn', true],
])('%s', async (_how, isOfGroups) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 3 }),
      fc.nat({ max: 3 * CLAIMS_PER_LOSS }),
      async (steps, limit, lost) => {
        const q = openMemoryQueue();
        const slice = new ChosenSlice(undefined, q.runtime.random);
        for (let claim = 0; claim < lost; claim++) slice.claimed(false);
        const startsAt = q.clock.now();
        for (let nth = 0; nth < TASKS; nth++)
          await q.client.enqueue('t', null, {
            id: `t${nth}`,
            delay: new Date(startsAt + nth * STEP_MS),
            ...(isOfGroups ? { tenant: `tenant${nth % 3}` } : {}),
          });
        const page: TaskStore['page'] = (partition, query) => q.tasks.page(partition, { ...query, limit });
        const reader = entriesOf(
          { queue: QUEUE, priority: 'normal', shard: 0 },
          { isOfGroups, isExpected: true, isOwn: () => true, headEveryMs: 5_000, slice },
          {
            tasks: { ...q.tasks, page },
            runtime: q.runtime,
            onDamaged(error) {
              throw error;
            },
          },
        );
        const seen = new Set<string>();
        let now = startsAt + TASKS * STEP_MS;
        const read = async (): Promise<void> => {
          const { hints } = await reader.read({ now, wanted: TASKS, isWorthReading: ({ id }) => !seen.has(id) });
          for (const { id } of hints) seen.add(id);
        };
        for (const by of steps) {
          now = Math.max(startsAt, now + by * STEP_MS);
          await read();
        }
        now = startsAt + TASKS * STEP_MS;
        for (let nth = 0; nth < READS && seen.size < TASKS; nth++) await read();
        expect(seen.size).toBe(TASKS);
      },
    ),
    { seed: 1, numRuns: 15 },
  );
});
