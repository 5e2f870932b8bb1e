import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DynamoCalls } from '../../../../shared/dynamo/engine/driver.ts';
import { mergedPage } from '../../../../shared/dynamo/engine/directory.ts';
import type { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { Statement } from '../../../../shared/dynamo/engine/statement.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

describe('the listing of locks', () => {
  // As DynamoDB orders them, by bytes: a character beyond the first plane comes last.
  const KEYS = ['a', 'a/', 'a/1', 'a/2/3', 'b', 'b/1', 'c\uff5e', 'c\u{1f600}'] as const;

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

const listings = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 700, size: 'max' })
  .chain((names) =>
    fc.record({
      names: fc.constant(names),
      of: fc.array(fc.integer({ min: 0, max: 2 }), { minLength: names.length, maxLength: names.length }),
      count: fc.integer({ min: 1, max: 3 }),
      /** Whether a query first answers without entries, as DynamoDB may. */
      hasEmptyPages: fc.boolean(),
      /** Whether it is from the last to the first, whose pages grow. */
      isBackward: fc.boolean(),
    }),
  );

test('a merged listing has each entry once, in order, in pages of a hundred, and reads nothing twice', async () => {
  await fc.assert(
    fc.asyncProperty(listings, async ({ names, of, count, hasEmptyPages, isBackward }) => {
      const inOrder = isBackward ? (one: string, other: string) => byBytes(other, one) : byBytes;
      const stored = Array.from({ length: count }, (_, partition) =>
        names.filter((_name, at) => (of[at] ?? 0) % count === partition).sort(inOrder),
      );
      const reads: string[] = [];
      const read = ({ input }: Statement<'query'>): Promise<DynamoCalls['query']['output']> => {
        const { ExpressionAttributeValues: values, ExclusiveStartKey: after, Limit = 0 } = input;
        const partition = Number(values?.[':directory']);
        const { from = 0, isEmpty = hasEmptyPages } = (after ?? {}) as { from?: number; isEmpty?: boolean };
        reads.push(`${partition} from ${from}${isEmpty ? ', empty' : ''}`);
        const least = count === 1 ? 100 : 25;
        expect(Limit).toBe(isBackward ? Math.max(least, Math.floor(from / 4)) : least);
        if (isEmpty) return Promise.resolve({ Items: [], LastEvaluatedKey: { from, isEmpty: false } });
        const Items = (stored[partition] ?? []).slice(from, from + Limit).map((name) => ({ directoryName: name }));
        const next = { from: from + Limit, isEmpty: hasEmptyPages };
        const isLast = next.from >= (stored[partition]?.length ?? 0);
        return Promise.resolve(isLast ? { Items } : { Items, LastEvaluatedKey: next });
      };
      const query = {
        verb: 'lock.page' as const,
        table: 't',
        partitions: stored.map((_, nth) => String(nth)),
        of: isBackward ? { from: '', to: '~' } : '',
      };

      const pages = await pagesOf((after) => mergedPage({ read } as unknown as Sender, query, after));

      const found = pages.map(({ items }) => items.map(({ directoryName }) => directoryName));
      expect(found.flat()).toEqual([...names].sort(inOrder));
      expect(new Set(found.slice(0, -1).map(({ length }) => length))).toEqual(new Set(found.length > 1 ? [100] : []));
      expect(found.length).toBeLessThanOrEqual(Math.max(1, Math.ceil(names.length / 100)));
      expect(new Set(reads).size).toBe(reads.length);
    }),
    { seed: 1, numRuns: 40, endOnFailure: true },
  );
});

/** As DynamoDB orders texts. */
function byBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

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
