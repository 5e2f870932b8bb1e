/** A partition that is read in pages, while other workers take tasks of the page that was read ahead. */
import { describe, expect, test } from 'vitest';
import { ChosenSlice } from '../../../../shared/tasks/picker/chosen-slice.ts';
import type { EntryReader, PollQuery } from '../../../../shared/tasks/picker/partition-source.ts';
import { PartitionSource, TurnCount } from '../../../../shared/tasks/picker/partition-source.ts';
import { PAGE_MAX_AGE_MS } from '../../../../shared/tasks/picker/tuning.ts';
import type { ReadyEntry } from '../../../../shared/tasks/task/task-store.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const PAGE = 4;

/** @param canRewind false for tenants' entries */
function partitionOf(size: number, { canRewind = true } = {}) {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const entries = Array.from({ length: size }, (_, at): ReadyEntry => ({ queue: 'q', id: `${at}`, readyAt: 0 }));
  const taken = new Set<string>();
  const reads: number[] = [];
  let [page, last] = [0, 0];
  const reader: EntryReader = {
    read() {
      last = page;
      reads.push(page);
      const hints = entries.slice(page * PAGE, (page + 1) * PAGE).filter(({ id }) => !taken.has(id));
      const isEnd = (page + 1) * PAGE >= size;
      page = isEnd ? 0 : page + 1;
      return Promise.resolve({ hints, isEnd });
    },
    rewind() {
      if (canRewind) page = last;
      return canRewind;
    },
    isHeadDue: false,
  };
  const slice = new ChosenSlice(undefined, { next: () => 0.5 });
  const ports = { clock, slice, turns: new TurnCount(), heartbeatMs: 1_000, restMs: () => 0 };
  const source = new PartitionSource({ shard: 0, lane: { priority: 'normal' } as never }, reader, ports);
  /** Takes the tasks; later reads do not show them. */
  const take = async (wanted: number): Promise<readonly string[]> => {
    const query = { wanted, changes: 0, now: 0, isWorthReading: ({ id }: ReadyEntry) => !taken.has(id) };
    const ids = (await source.next(query as unknown as PollQuery)).map(({ id }) => id);
    for (const id of ids) taken.add(id);
    return ids;
  };
  return { clock, source, reads, taken, take };
}

describe('after others took tasks of a page', () => {
  // The last page of ten entries has two of them.
  test.each([
    ['the first', 1, 10, [0, 0, 1, 2]],
    ['the first, of which all are taken here', 4, 10, [0, 1, 2]],
    ['the second', 5, 10, [0, 1, 1, 2]],
    ['the last', 9, 10, [0, 1, 2, 2]],
    ['the last, of which all are taken here', 10, 10, [0, 1, 2]],
    ['the only one', 1, 3, [0, 0]],
    ['the only one, of which all are taken here', 3, 3, [0]],
  ])('each task is still found once if it is %s', async (_which, before, size, reads) => {
    const p = partitionOf(size);
    const found: string[] = [];
    for (let n = 0; n < before; n++) found.push(...(await p.take(1)));

    p.source.readAgain();
    expect(p.source.hasMore).toBe(before < size);
    while (p.source.hasMore) found.push(...(await p.take(PAGE)));

    expect(found).toEqual(Array.from({ length: size }, (_, at) => `${at}`));
    expect(p.reads).toEqual(reads);
  });

  test.each([1, 5, 9])('those which are gone are not tried: after %i tasks', async (before) => {
    const p = partitionOf(12);
    for (let n = 0; n < before; n++) await p.take(1);
    p.taken.add(`${before}`).add(`${before + 1}`);

    p.source.readAgain();

    expect(await p.take(1)).toEqual([`${before + 2}`]);
  });

  test.each([1, 5, 9])("tenants' entries keep their turn: after %i tasks", async (before) => {
    const p = partitionOf(10, { canRewind: false });
    for (let n = 0; n < before; n++) await p.take(1);
    const reads = p.reads.length;

    p.source.readAgain();

    expect(p.source.hasMore).toBe(true);
    expect(await p.take(1)).toEqual([`${before}`]);
    expect(p.reads).toHaveLength(reads);
  });

  test('an old page is dropped, and the next one is read', async () => {
    const p = partitionOf(12);
    await p.take(1);
    await p.clock.advance(PAGE_MAX_AGE_MS);

    p.source.readAgain();

    expect(await p.take(1)).toEqual(['4']);
  });
});
