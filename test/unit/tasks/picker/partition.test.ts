/** One partition as workers read it: in pages, beside others who take from the same page, and with a clock that steps. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Partition } from '../../../../shared/tasks/picker/partition.ts';
import { Share } from '../../../../shared/tasks/picker/share.ts';
import { CLAIMS_PER_LOSS, LONGEST_BACKOFF_MS } from '../../../../shared/tasks/picker/tuning.ts';
import type { Slice } from '../../../../shared/tasks/task/slice.ts';
import { isInSlice } from '../../../../shared/tasks/task/slice.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

const HEARTBEAT_MS = 5_000;

interface Options {
  readonly page: number;
  readonly isOfGroups?: boolean;
  readonly slice?: Slice | undefined;
}

/** A partition whose pages are small. @returns with it, the positions at which pages were read */
function partitionOf(q: MemoryQueue, { page, isOfGroups = false, slice }: Options) {
  const reads: ('oldest' | 'further')[] = [];
  const tasks: Pick<TaskStore, 'page' | 'pageOfGroups'> = {
    page: (partition, query) => {
      reads.push(query.after === undefined ? 'oldest' : 'further');
      return q.tasks.page(partition, { ...query, limit: page });
    },
    pageOfGroups: (partition, query) => q.tasks.pageOfGroups(partition, query),
  };
  const lane = { priority: 'normal', isOfGroups } as const;
  const place = { queue: QUEUE, priority: 'normal', shard: 0 } as const;
  const share = new Share(slice, true, q.runtime.random);
  const partition = new Partition(
    { place, lane, isOwn: true, share, isInUse: true, heartbeatMs: HEARTBEAT_MS },
    {
      tasks,
      runtime: q.runtime,
      isPaused: () => false,
      onDamaged(error) {
        throw error;
      },
    },
  );
  const taken = new Set<string>();
  /** Tasks that others run: they are read, and cannot be tried. */
  const running = new Set<string>();
  const read = async (wanted: number): Promise<readonly string[]> => {
    const { hints } = await partition.next({
      wanted,
      isWorthReading: ({ id }) => !taken.has(id),
      visit: () => ({ left: Infinity }),
      admit: (asked) => Promise.resolve(asked),
    });
    const found = hints.flatMap(({ id }) => (running.has(id) ? [] : [id]));
    partition.found(found.length);
    return found;
  };
  /** Takes the tasks; later reads do not show them. */
  const take = async (wanted: number): Promise<readonly string[]> => {
    const ids = await read(wanted);
    for (const id of ids) taken.add(id);
    return ids;
  };
  return { partition, reads, taken, running, read, take };
}

async function fill(q: MemoryQueue, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth++) {
    await q.client.enqueue('t', null, { id: `t${nth}` });
    await q.clock.advance(1);
  }
}
const ids = (count: number) => Array.from({ length: count }, (_, nth) => `t${nth}`);

describe('after others took tasks of a page', () => {
  test.each([1, 4, 5, 9, 10])('each task is still found once: after %i of ten', async (before) => {
    const q = openMemoryQueue();
    await fill(q, 10);
    const p = partitionOf(q, { page: 4 });
    const found: string[] = [];
    for (let nth = 0; nth < before; nth++) found.push(...(await p.take(1)));

    p.partition.readAgain();
    while (p.partition.hasMore) found.push(...(await p.take(4)));

    expect(found).toEqual(ids(10));
  });

  test('tries the tasks of the page, except those that are gone', async () => {
    const q = openMemoryQueue();
    await fill(q, 8);
    const p = partitionOf(q, { page: 4 });
    await p.take(1);
    p.taken.add('t1').add('t2');

    p.partition.readAgain();

    expect(await p.take(1)).toEqual(['t3']);
    expect(p.reads).toEqual(['oldest', 'oldest']);
  });

  test('an old page is dropped, and the next one is read', async () => {
    const q = openMemoryQueue();
    await fill(q, 8);
    const p = partitionOf(q, { page: 4 });
    await p.take(1);
    await q.clock.advance(LONGEST_BACKOFF_MS);

    await p.read(8);

    expect(p.reads).toEqual(['oldest', 'oldest']);
  });
});

describe('the oldest entries', () => {
  /** A worker that is never without entries of its own. */
  const busy = async (slice: Slice | undefined, beats: number) => {
    const q = openMemoryQueue();
    await fill(q, 60);
    const p = partitionOf(q, { page: 10, slice });
    // Others hold the first ones, and crash.
    const held = ids(3);
    for (const id of held) p.taken.add(id);
    for (let nth = 0; nth < 4; nth++) await p.take(2);
    for (const id of held) p.taken.delete(id);
    const found: string[] = [];
    for (let beat = 0; beat < beats; beat++) {
      await q.clock.advance(HEARTBEAT_MS);
      found.push(...(await p.take(2)));
    }
    return { held, found, reads: p.reads };
  };

  test('are read again once a heartbeat, and tried first', async () => {
    const { held, found, reads } = await busy(undefined, 2);

    expect(held.every((id) => found.includes(id))).toBe(true);
    expect(reads.filter((read) => read === 'oldest').length).toBeGreaterThanOrEqual(2);
  });

  test('are read whosever they are, if they have stayed: their worker may have crashed', async () => {
    const { held, found } = await busy({ nth: 0, of: 4 }, 4);

    expect(held.some((id) => !isInSlice(id, { nth: 0, of: 4 }))).toBe(true);
    expect(held.every((id) => found.includes(id))).toBe(true);
  });
});

test("an entry in nobody's share is tried when nobody has taken it for two heartbeats", async () => {
  const q = openMemoryQueue();
  await fill(q, 30);
  const slice = { nth: 0, of: 8 };
  const p = partitionOf(q, { page: 50, slice });
  const foreign = ids(30).filter((id) => !isInSlice(id, slice));
  const left: number[] = [];
  for (let beat = 0; beat < 3; beat++) {
    const hints = await p.read(50);
    left.push(foreign.filter((id) => hints.includes(id) && !p.partition.isOfOthers(id)).length);
    await q.clock.advance(HEARTBEAT_MS);
  }

  expect(foreign.length).toBeGreaterThan(0);
  expect(left).toEqual([0, 0, foreign.length]);
});

describe('a share of the entries', () => {
  const entries = Array.from({ length: 64 }, (_, nth) => `e${nth}`);
  const sizeOf = (share: Share, widened = 0) => entries.filter((id) => share.has(id, widened)).length;

  test.each([
    ['planned', true],
    ['not planned', false],
  ])('is all of them until too many claims are lost, and then a part of the part, if it is %s', (_how, isPlanned) => {
    const share = new Share(undefined, isPlanned, { next: () => 0.7 });
    for (let nth = 0; nth < 20; nth++) share.claimed(true);
    share.claimed(false);
    expect(sizeOf(share)).toBe(64);

    const lose = (): void => {
      for (const before = sizeOf(share); sizeOf(share) === before;) share.claimed(false);
    };
    lose();
    const first = entries.filter((id) => share.has(id, 0));
    lose();

    expect(first.length).toBeLessThan(64);
    expect(sizeOf(share)).toBeLessThan(first.length);
    expect(entries.filter((id) => share.has(id, 0)).every((id) => first.includes(id))).toBe(true);
  });

  test('grows back to all where nothing of it is left', async () => {
    const q = openMemoryQueue();
    await fill(q, 30);
    const p = partitionOf(q, { page: 50, slice: { nth: 0, of: 8 } });
    const found = new Set<string>();
    for (let poll = 0; poll < 20; poll++) for (const id of await p.take(10)) found.add(id);

    expect(found.size).toBe(30);
  });

  test('grows also if others run all tasks of it, even if these are read again often', async () => {
    const q = openMemoryQueue();
    await fill(q, 30);
    const slice = { nth: 0, of: 8 };
    const p = partitionOf(q, { page: 50, slice });
    for (const id of ids(30)) if (isInSlice(id, slice)) p.running.add(id);
    for (let poll = 0; poll < 60; poll++) await p.take(2);

    expect(p.running.size).toBeGreaterThan(0);
    expect(p.taken.size).toBe(30 - p.running.size);
  });

  test('of a worker that nobody planned is a few of the oldest at a time, in any order', () => {
    const share = new Share(undefined, false, { next: () => 0.9 });

    const taken = share.take(entries, 10);

    expect(taken.length).toBeLessThan(10);
    expect(taken.every((id) => entries.indexOf(id) < 20)).toBe(true);
    expect(share.take(entries, 1)).toEqual(['e0']);
    for (let nth = 0; nth < 10; nth++) share.claimed(true);
    expect(share.take(entries, 10)).toEqual(entries.slice(0, 10));
    expect(new Share(undefined, true, { next: () => 0.9 }).take(entries, 10)).toEqual(entries.slice(0, 10));
  });
});

test('a round of groups ends although its entries, tried in vain, are worth reading again by the next poll of a slow store', async () => {
  const q = openMemoryQueue();
  for (const tenant of ['a', 'b', 'c']) await q.client.enqueue('t', null, { id: tenant, tenant });
  const p = partitionOf(q, { page: 50, isOfGroups: true });
  for (const id of ['a', 'b', 'c']) p.running.add(id);

  const hadMore: boolean[] = [];
  for (let poll = 0; poll < 4; poll++) {
    await p.read(1);
    hadMore.push(p.partition.hasMore);
  }
  expect(hadMore).toEqual([true, true, true, false]);

  p.running.clear();
  expect((await p.take(3)).toSorted()).toEqual(['a', 'b', 'c']);
});

describe('readers whose wall clock steps find every due entry in the end', () => {
  const TASKS = 12;
  const STEP_MS = 1_000;
  /** Enough small pages to read all entries once for each time that a share doubles, and more. */
  const READS = 200;
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
        async (steps, page, lost) => {
          const q = openMemoryQueue();
          const startsAt = q.clock.now();
          for (let nth = 0; nth < TASKS; nth++)
            await q.client.enqueue('t', null, {
              id: `t${nth}`,
              delay: new Date(startsAt + nth * STEP_MS),
              ...(isOfGroups ? { tenant: `tenant${nth % 3}` } : {}),
            });
          const p = partitionOf(q, { page, isOfGroups });
          for (let claim = 0; claim < lost; claim++) p.partition.claimed(false);
          let now = startsAt + TASKS * STEP_MS;
          q.runtime.clock.now = () => now;
          for (const by of steps) {
            now = Math.max(startsAt, now + by * STEP_MS);
            await p.take(TASKS);
          }
          now = startsAt + TASKS * STEP_MS;
          for (let nth = 0; nth < READS && p.taken.size < TASKS; nth++) await p.take(TASKS);
          expect(p.taken.size).toBe(TASKS);
        },
      ),
      { seed: 1, numRuns: 15 },
    );
  });
});
