import { describe, expect, test } from 'vitest';
import { simulatedWorld } from '../../../support/coordination.ts';

const LIVES = 1_000;

describe('the listing of sessions', () => {
  test('is one list in order of name across all partitions', async () => {
    const { ports, leasehold } = simulatedWorld().start();
    const names = Array.from({ length: 230 }, (_, n) => `worker ${String((n * 37) % 230).padStart(3, '0')}`);
    for (const name of names) await leasehold.session({ name });

    const pages = await pagesOf((after) => ports.sessions.page('worker ', after));

    expect(pages.map((page) => page.names.length)).toEqual([100, 100, 30]);
    expect(pages.flatMap((page) => page.names)).toEqual([...names].sort());
    expect(new Set(pages.flatMap((page) => page.ids)).size).toBe(230);
  });

  test('leaves out names that do not begin with the prefix', async () => {
    const { ports, leasehold } = simulatedWorld().start();
    for (const name of ['a1', 'b1', 'a2', 'b2']) await leasehold.session({ name });

    expect((await ports.sessions.page('b', undefined)).names).toEqual(['b1', 'b2']);
    expect((await ports.sessions.page('c', undefined)).next).toBeUndefined();
  });

  test('spreads the entries of 1,000 session lives over the partitions, none of which takes above one eighth', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const partitions: string[] = [];
    for (let n = 0; n < LIVES; n++) {
      const session = await leasehold.session({ name: 'invocation' });
      partitions.push(String((await world.row({ pk: `session#${session.id}`, sk: 'session' }))?.directoryKey));
      await session.end();
    }

    const most = Math.max(
      ...Map.groupBy(partitions, (partition) => partition)
        .values()
        .map(({ length }) => length),
    );
    expect(new Set(partitions).size).toBe(16);
    expect(most / LIVES).toBeLessThanOrEqual(1 / 8);
  });
});

describe('the listing of locks', () => {
  // As DynamoDB orders them, by bytes: a character beyond the first plane comes last.
  const KEYS = ['a', 'a/', 'a/1', 'a/2/3', 'b', 'b/1', 'c\uff5e', 'c\u{1f600}'] as const;

  test('is one list in the order of the store', async () => {
    const { ports, leasehold } = simulatedWorld().start();
    const session = await leasehold.session();
    for (const key of [...KEYS].reverse()) await session.lock(key);

    expect((await ports.locks.page('', undefined)).keys).toEqual(KEYS);
    expect((await ports.locks.page('c', undefined)).keys).toEqual(KEYS.slice(6));
  });

  test('reads one partition for a prefix with a slash, and has all keys below it', async () => {
    const process = simulatedWorld().start();
    const session = await process.leasehold.session();
    for (const key of KEYS) await session.lock(key);
    let keys: readonly string[] = [];

    const cost = await process.cost(async () => {
      ({ keys } = await process.ports.locks.page('a/', undefined));
    });

    expect(keys).toEqual(['a/', 'a/1', 'a/2/3']);
    expect(cost).toMatchObject({ requests: 1, readUnits: 0.5 });
    expect((await process.ports.locks.page('a/2', undefined)).keys).toEqual(['a/2/3']);
  });

  test('shows with one query whether it contains a key', async () => {
    const process = simulatedWorld().start();
    const session = await process.leasehold.session();
    await session.lock('reports/nightly');
    const found: boolean[] = [];

    const cost = await process.cost(async () => {
      for (const key of ['reports/nightly', 'reports/night', 'reports'])
        found.push(await process.ports.locks.isListed(key));
    });

    expect(found).toEqual([true, false, false]);
    expect(cost.requests).toBe(3);
  });
});

async function pagesOf<Page extends { readonly next: unknown }>(read: (after: unknown) => Promise<Page>) {
  const pages: Page[] = [];
  let after: unknown;
  do {
    const page = await read(after);
    pages.push(page);
    after = page.next;
  } while (after !== undefined);
  return pages;
}
