/** The page of finished tasks: what it counts and reads of their list, and what it leaves. The files of all pages have a limit. */
import { expect, test } from 'vitest';
import { NUMBERS_LIMIT } from '../../../shared/tasks/queue/ended-numbers.ts';
import type { EndedEntry } from '../../../shared/tasks/task/ended-list.ts';
import type { FinishedQuery } from '../../model.ts';
import { readAssets } from '../../server/assets.ts';
import type { ConsoleConnection } from '../../server/connection.ts';
import { readFinished } from '../../server/views/finished.ts';
import { NOW, ago } from '../../../test/support/made-rows.ts';
import { each } from '../../../test/support/made-stores.ts';

const QUERY: FinishedQuery = { queue: 'q', name: '', id: '', outcome: undefined };

/** One task each second, of which every tenth failed once. */
const ended = (count: number): readonly EndedEntry[] =>
  Array.from({ length: count }, (_, nth) => ({
    queue: 'q',
    id: `t-${nth}`,
    kind: 'ended',
    state: 'done',
    name: 'send',
    label: `order o-${nth}`,
    at: ago(1_000 * nth),
    attempts: nth % 10 === 0 ? 2 : 1,
    waitedMs: 1,
    ranMs: 2,
  }));

async function look(entries: readonly EndedEntry[], query: Partial<FinishedQuery> = {}) {
  const connection = {
    now: () => NOW,
    options: { shards: 8 },
    open: () => ({
      leasehold: { operator: { ended: () => each(entries) } },
      queues: { glance: () => Promise.resolve({ listedSince: ago(86_400_000) }) },
      spent: () => 0,
    }),
  } as unknown as ConsoleConnection;
  return (await readFinished(connection, { ...QUERY, ...query })).value;
}

test('reads the last hour and a page of entries, and says what it left', async () => {
  const page = await look(ended(5_000));

  expect(page).toMatchObject({
    read: 3_600,
    found: 3_600,
    cutAt: ago(3_599_000),
    names: [{ ended: 3_600, retried: 360 }],
  });
  expect(page?.entries).toHaveLength(100);
  expect(await look(ended(90))).toMatchObject({ read: 90, found: 90, cutAt: undefined });
});

test('reads on for what a person looks for, up to its limit', async () => {
  expect(await look(ended(NUMBERS_LIMIT), { id: 'o-9999' })).toMatchObject({ found: 1, cutAt: undefined });
  expect(await look(ended(NUMBERS_LIMIT + 1), { id: 'o-10000' })).toMatchObject({
    found: 0,
    read: NUMBERS_LIMIT,
    cutAt: ago(1_000 * (NUMBERS_LIMIT - 1)),
  });
});

test('shows what failed, dead or not, and what is damaged whatever is asked for', async () => {
  const dead = { queue: 'q', id: 'dead', kind: 'ended', state: 'dead', at: NOW } as const;
  const damaged = { queue: 'q', id: 'x', kind: 'damaged', text: 'no moment' } as const;

  const page = await look([dead, damaged, ...ended(11)], { outcome: 'failed' });

  expect(page?.entries.map(({ id }) => id)).toEqual(['dead', 'x', 't-0', 't-10']);
});

test('the files of the console have at most 64 KB as they are served', async () => {
  const sizes = [...(await readAssets()).values()].map(({ compressed }) => compressed.length);

  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(64 * 1_024);
});
