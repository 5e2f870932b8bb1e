import { expect, test } from 'vitest';
import type { EndedEntry } from '../../../../shared/tasks/task/ended-list.ts';
import { numbersOf } from '../../../../shared/tasks/queue/ended-numbers.ts';

const ended = (name: string, facts: Partial<Extract<EndedEntry, { kind: 'ended' }>> = {}): EndedEntry => ({
  kind: 'ended',
  queue: 'q',
  id: 'i',
  at: 1,
  state: 'done',
  name,
  attempts: 1,
  waitedMs: 10,
  ranMs: 100,
  ...facts,
});

async function* each(entries: readonly EndedEntry[]) {
  yield* entries;
}

test('numbers by name leave out what has no name, and times of tasks that never ran', async () => {
  const entries = [
    ended('mail', { waitedMs: 30, ranMs: 300 }),
    ended('mail', { state: 'dead', attempts: 5, waitedMs: 20, ranMs: 200 }),
    ended('resize', { state: 'cancelled', attempts: 0, ranMs: undefined as never }),
    { kind: 'damaged', queue: 'q', id: 'x', text: 'x' } as const,
    { kind: 'ended', queue: 'q', id: 'old', at: 1, state: 'dead' } as const,
    ended('mail'),
    ended('too late to be read'),
  ];

  expect(await numbersOf(each(entries), 6)).toEqual({
    names: [
      { name: 'mail', ended: 3, failed: 1, retried: 1, waitedMs: { p50: 20, p95: 30 }, ranMs: { p50: 200, p95: 300 } },
      { name: 'resize', ended: 1, failed: 0, retried: 0, waitedMs: undefined, ranMs: undefined },
    ],
    read: 6,
    isCut: true,
  });
});
