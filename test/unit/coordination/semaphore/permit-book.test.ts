/** A session's book of its permits: its next contender takes away a permit that the book does not list. */
import { expect, test } from 'vitest';
import { PermitBook } from '../../../../shared/coordination/semaphore/permit-book.ts';
import type { SemaphoreRecord } from '../../../../shared/coordination/semaphore/semaphore.ts';

const MANY = 250;
const NOW = 1_000_000;

test('forgets no permit that is requested or in the row, even of thousands', () => {
  const book = new PermitBook();
  const moments = Array.from({ length: MANY }, () => book.open('s', NOW));
  expect(new Set(moments).size).toBe(MANY);

  // Every second one is admitted, and every fourth one released by another process.
  const holders: { since: number; token: number }[] = [];
  moments.forEach((since, n) => {
    if (n % 2 === 1) return;
    const permit = { session: 'mine', permits: 1, since, token: n, closedUntil: undefined };
    holders.push(permit);
    if (n % 4 === 0) holders.pop();
    book.admit({ name: 's', holders: [...holders, permit] } as unknown as SemaphoreRecord, permit);
  });

  for (const [n, since] of moments.entries()) if (n % 4 !== 0) expect([n, book.knows({ since })]).toEqual([n, true]);
});

test('keeps permits of other semaphores, and its last moment grows', () => {
  const book = new PermitBook();
  const others = Array.from({ length: MANY }, () => book.open('other', NOW));
  const since = book.open('s', NOW - 5);
  book.admit({ name: 's', holders: [] } as unknown as SemaphoreRecord, {
    session: 'mine',
    permits: 1,
    since,
    token: 9e15,
  });

  expect(since).toBeGreaterThan(others.at(-1)!);
  for (const other of others) expect(book.knows({ since: other })).toBe(true);
  book.close('s', others[0]!);
  expect([book.knows({ since: others[0]! }), book.left]).toEqual([true, others[0]]);
});
