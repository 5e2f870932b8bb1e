/** The part of a shared partition that one worker tries first. */
import { describe, expect, test } from 'vitest';
import { IDLE_QUEUE, openIdleWorld } from '../../../../bench/idle-world.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { TaskPicker } from '../../../../shared/tasks/picker/task-picker.ts';
import { entriesOf } from '../../../../shared/tasks/picker/partition-entries.ts';
import { ChosenSlice } from '../../../../shared/tasks/picker/chosen-slice.ts';
import { CLAIMS_PER_LOSS, PAGE_ENTRIES, SCAN_ENTRIES } from '../../../../shared/tasks/picker/tuning.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { pickerPorts } from '../../../support/picker-ports.ts';
import { Prng } from '../../../support/machines/prng.ts';

const IDS = Array.from({ length: 4_000 }, (_, nth) => `t${nth}`);
const shareOf = (slice: ChosenSlice): number => IDS.filter((id) => slice.has(id)).length / IDS.length;
const claim = (slice: ChosenSlice, isWon: boolean, times = CLAIMS_PER_LOSS): void => {
  for (let nth = 0; nth < times; nth++) slice.claimed(isWon);
};

describe('the slice of a worker', () => {
  test('is the whole partition as long as the worker wins its claims', () => {
    const slice = new ChosenSlice(undefined, new Prng(1n));
    for (let round = 0; round < 100; round++) {
      claim(slice, true, 2 * CLAIMS_PER_LOSS);
      slice.claimed(false);
    }

    expect(slice.isPart).toBe(false);
    expect(shareOf(slice)).toBe(1);
  });

  test('is halved each time that the worker loses too many claims', () => {
    const slice = new ChosenSlice(undefined, new Prng(1n));
    const shares = [2, 4, 8, 16].map((of) => {
      claim(slice, false);
      return shareOf(slice) * of;
    });

    for (const share of shares) expect(share).toBeCloseTo(1, 0);
    claim(slice, false, 10 * CLAIMS_PER_LOSS);
    expect(shareOf(slice)).toBeGreaterThan(1 / (2 * SCAN_ENTRIES));
  });

  test('is a part of the same size in which other workers chose other entries', () => {
    const [one, other] = [1n, 2n].map((seed) => {
      const slice = new ChosenSlice(undefined, new Prng(seed));
      claim(slice, false, 3 * CLAIMS_PER_LOSS);
      return slice;
    }) as [ChosenSlice, ChosenSlice];

    expect(IDS.some((id) => one.has(id))).toBe(true);
    expect(IDS.filter((id) => one.has(id) && other.has(id))).toEqual([]);
  });

  test("is the plan's slice again when no entries are left", () => {
    const planned = new ChosenSlice({ nth: 1, of: 3 }, new Prng(1n));
    const slice = new ChosenSlice({ nth: 1, of: 3 }, new Prng(1n));
    claim(slice, false);
    expect(IDS.filter((id) => slice.has(id))).not.toEqual(IDS.filter((id) => planned.has(id)));
    slice.finish();

    expect(IDS.filter((id) => slice.has(id))).toEqual(IDS.filter((id) => planned.has(id)));
  });
});

describe('a worker with a slice of a partition of tenants', () => {
  test('reaches a tenant with one task at least every second time, however small the slice', async () => {
    const random = new Prng(1n);
    const slice = new ChosenSlice(undefined, random);
    const hog = Array.from({ length: 40 }, (_, nth) => ({
      tenant: 'hog',
      place: `1 hog ${100 + nth}`,
      end: '1 hog ~',
    }));
    const places = [...hog, { tenant: 'ada', place: '2 ada 100', end: '2 ada ~' }];
    const entries = places.map(({ tenant, place, end }) => ({
      hint: { queue: 'jobs', id: place, readyAt: 0, tenant, limit: undefined },
      place,
      end,
      tenantEnd: end,
    }));
    const pageOfGroups: TaskStore['pageOfGroups'] = (_partition, { after, limit }) => {
      const rest = entries.filter(({ place }) => place > after);
      const page = rest.slice(0, limit);
      return Promise.resolve({ entries: page, next: rest.length > limit ? page.at(-1)?.place : undefined });
    };
    const page: TaskStore['page'] = () => Promise.reject(new Error('not of tenants'));
    const clock = new FakeClock(new Date(0));
    const reader = entriesOf(
      { queue: 'jobs', priority: 'normal', shard: 0 },
      { isOfGroups: true, isExpected: false, isOwn: () => true, headEveryMs: 10_000, slice },
      {
        tasks: { page, pageOfGroups },
        runtime: { clock, random, ids: { unique: () => 'id', ordered: () => 'id' } },
        onDamaged: (error) => {
          throw error;
        },
      },
    );
    const rounds: boolean[] = [];
    for (let round = 0; round < 60; round++) {
      if (!slice.isPart) claim(slice, false, 10 * CLAIMS_PER_LOSS);
      const { hints } = await reader.read({ now: 1, wanted: 50, isWorthReading: () => true });
      rounds.push(hints.some(({ id }) => id.startsWith('2 ada')));
    }

    expect(rounds.some((isReached) => !isReached)).toBe(true);
    for (const [nth, isReached] of rounds.entries()) expect(isReached || rounds[nth - 1] !== false).toBe(true);
  });
});

describe('a worker that loses all its claims', () => {
  /** Ids of the tasks that it tries after the first page, among four pages of tasks. */
  const triedLater = async (options: EnqueueOptions): Promise<readonly string[]> => {
    const idle = openIdleWorld({ clientShards: 1 });
    const settings = {
      queue: IDLE_QUEUE,
      shards: 1,
      homeShards: [0],
      exitsWhenEmpty: true,
      hasDispatcher: false,
      heartbeatMs: 1_000,
      pollMs: 100,
      maxClockSkewMs: 0,
    };
    const picker = new TaskPicker('mine', settings, pickerPorts(idle.placeOf('worker')));
    const tried: string[] = [];
    await idle.world.run(async () => {
      for (const id of IDS.slice(0, 4 * PAGE_ENTRIES)) await idle.client.enqueue('hello', {}, { id, ...options });
      for (let nth = 0; nth < 2 * PAGE_ENTRIES; nth++) {
        const candidate = await picker.next();
        if (candidate === undefined) continue;
        tried.push(candidate.task.id);
        await candidate.end('contended');
      }
    });
    return tried.slice(PAGE_ENTRIES);
  };
  const nextPage = new Set(IDS.slice(PAGE_ENTRIES, 2 * PAGE_ENTRIES));

  test('goes on in a slice of the tasks', async () => {
    const tried = new Set(await triedLater({}));

    expect(tried.size).toBeGreaterThan(0);
    expect([...nextPage].filter((id) => tried.has(id)).length).toBeLessThan(PAGE_ENTRIES);
  });

  test('goes on with all tasks if they have a key, because workers compete for the slots of the key', async () => {
    expect(new Set(await triedLater({ key: 'customer', limit: 100 }))).toEqual(nextPage);
  });
});
