import { describe, expect, test, vi } from 'vitest';
import type { DynamoCalls, DynamoDriver, DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { getStatement } from '../../../shared/dynamo/engine/statement.ts';
import { GatheringSender } from '../../../shared/dynamo/gathering-sender.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const TABLE = 'leasehold';

/** A driver that answers on command, and its received requests. */
function open() {
  const clock = new ManualClock('2026-11-22T00:00:00Z');
  const asked: {
    readonly kind: string;
    readonly input: object;
    readonly names: readonly string[];
    answer(fault?: Error): void;
  }[] = [];
  const driver = {
    attempt(kind: 'get' | 'batchGet', input: DynamoCalls['get']['input'] & DynamoCalls['batchGet']['input']) {
      const [table = ''] = kind === 'get' ? [input.TableName] : Object.keys(input.RequestItems ?? {});
      const keys = kind === 'get' ? [input.Key ?? {}] : (input.RequestItems?.[table]?.Keys ?? []);
      const value = (pk: string): string => `of ${pk}${table === TABLE ? '' : ` in ${table}`}`;
      const items = keys
        .filter(({ pk }) => pk !== 'absent')
        .map((key): DynamoItem => ({ ...key, value: value(String(key.pk)) }));
      const { promise, resolve, reject } = Promise.withResolvers<object>();
      const answer = (fault?: Error): void => {
        if (fault !== undefined) reject(fault);
        else resolve(kind === 'get' ? { Item: items[0] } : { Responses: { [table]: items } });
      };
      asked.push({ kind, input, names: keys.map(({ pk }) => String(pk)), answer });
      return promise;
    },
  } as unknown as DynamoDriver;
  const sender = new GatheringSender({ driver, runtime: { ...systemRuntime, clock } });
  const read = async (name: string, table = TABLE) => {
    const { Item } = await sender.read(getStatement('task.get', table, { pk: name, sk: 'row' }));
    return Item?.value as string | undefined;
  };
  return { clock, asked, read, sender, names: () => asked.map((request) => request.names) };
}

describe('reads of single rows', () => {
  test('become one request if made in one turn, and each gets its own row', async () => {
    const { clock, asked, read } = open();
    const reads = ['a', 'b', 'absent', 'a'].map((name) => read(name));

    await clock.advance(0);

    expect(asked).toMatchObject([{ kind: 'batchGet', names: ['a', 'b', 'absent'] }]);
    asked[0]?.answer();
    expect(await Promise.all(reads)).toEqual(['of a', 'of b', undefined, 'of a']);
  });

  test('are sent alone if they have limits', async () => {
    const { clock, asked, read, sender } = open();
    const statement = getStatement('task.get', TABLE, { pk: 'b', sk: 'row' });
    const together = read('a');
    const given = { signal: new AbortController().signal };
    const alone = sender.read(statement, given);
    const watched = { ensureTrusted: vi.fn() };
    const believed = sender.read(statement, watched);

    await clock.advance(0);

    expect(asked.map(({ kind, names }) => [kind, ...names])).toEqual(
      expect.arrayContaining([
        ['get', 'a'],
        ['get', 'b'],
        ['get', 'b'],
      ]),
    );
    expect(asked).toHaveLength(3);
    expect(watched.ensureTrusted).toHaveBeenCalled();
    for (const request of asked) request.answer();
    expect([await together, (await alone).Item?.value, (await believed).Item?.value]).toEqual(['of a', 'of b', 'of b']);
  });

  test('wait for one of two requests in flight, and are then sent together', async () => {
    const { clock, asked, read, names } = open();
    for (const name of ['a', 'b', 'c', 'd']) {
      void read(name);
      await clock.advance(0);
    }
    expect(names()).toEqual([['a'], ['b']]);

    asked[0]?.answer();
    await clock.advance(0);

    expect(names()).toEqual([['a'], ['b'], ['c', 'd']]);
  });

  test('wait for none that hangs', async () => {
    const { clock, read, names } = open();
    for (const name of ['a', 'b', 'c', 'd']) {
      void read(name).catch(() => undefined);
      await clock.advance(0);
    }

    await clock.advance(5);

    expect(names()).toEqual([['a'], ['b'], ['c', 'd']]);
  });

  test('become a request to each of two tables; the same key in both gets its own row', async () => {
    const { clock, asked, read } = open();
    const reads = [read('a'), read('b'), read('a', 'other'), read('c', 'other')];

    await clock.advance(0);

    const Keys = (...names: readonly string[]) => names.map((pk) => ({ pk, sk: 'row' }));
    const batch = (request: object) => ({ RequestItems: request, ReturnConsumedCapacity: 'TOTAL' });
    expect(asked.map(({ input }) => input)).toEqual([
      batch({ [TABLE]: { Keys: Keys('a', 'b'), ConsistentRead: true } }),
      batch({ other: { Keys: Keys('a', 'c'), ConsistentRead: true } }),
    ]);
    for (const request of asked) request.answer();
    expect(await Promise.all(reads)).toEqual(['of a', 'of b', 'of a in other', 'of c in other']);
  });

  test('that fail are counted as ended: later ones are sent at once', async () => {
    const { clock, asked, read, names } = open();
    for (const name of ['a', 'b']) {
      void read(name).catch(() => undefined);
      await clock.advance(0);
    }
    for (const request of asked)
      request.answer(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }));
    await clock.advance(0);

    void read('c');
    await clock.advance(0);

    expect(names()).toEqual([['a'], ['b'], ['c']]);
  });

  test('fail together, each with the error', async () => {
    const { clock, asked, read } = open();
    const reads = ['a', 'b'].map((name) => read(name));
    await clock.advance(0);

    asked[0]?.answer(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }));

    const ends = await Promise.allSettled(reads);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
