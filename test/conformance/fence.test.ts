import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DynamoFault, DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { dynamoFence } from '../../shared/dynamo/dynamo-fence.ts';
import type { FenceStamp, Fencing } from '../../shared/core/lease/fence.ts';
import { Fence } from '../../shared/core/lease/fence.ts';
import type { Lock } from '../../shared/coordination/lock/lock.ts';
import type { World } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import type { Postgres } from '../support/postgres.ts';
import { isPostgresInstalled, startPostgres } from '../support/postgres.ts';

/** A right with a given counter, held as long as the test does not say otherwise. */
function right(counter: number, signal = new AbortController().signal): Fencing {
  return { fencingToken: counter, signal };
}

describe('a fence', () => {
  test('gives stamps that grow within a tenure, and from tenure to tenure', () => {
    const first = new Fence(right(7));
    const stamps = [first.next(), first.next(), new Fence(right(8)).next()];

    expect(stamps.map(({ counter, sequence }) => [counter, sequence])).toEqual([
      [7, 1],
      [7, 2],
      [8, 1],
    ]);
  });

  test('keeps one sequence for all fences of the same lease', () => {
    const lease = right(7);

    expect([new Fence(lease).next().sequence, new Fence(lease).next().sequence]).toEqual([1, 2]);
  });

  test('gives no stamp once the right is lost', () => {
    const lost = new AbortController();
    const fence = new Fence(right(7, lost.signal));
    lost.abort(new Error('lost'));

    expect(() => fence.next()).toThrow('lost');
  });
});

describeInEveryWorld('a fence on a DynamoDB item', (open) => {
  let world: World;
  let key: { pk: string; sk: string };
  let count = 0;

  beforeEach(() => {
    world = open();
    key = { pk: `account#${++count}`, sk: 'row' };
  });

  const send = <K extends 'update' | 'put'>(kind: K, input: object) =>
    world.driver.attempt(kind, input as never, new AbortController().signal);
  const target = () => ({ TableName: world.table, Key: key });
  const setBalance = (balance: number) => ({
    ...target(),
    UpdateExpression: 'SET balance = :balance',
    ExpressionAttributeValues: { ':balance': balance },
  });
  const refusedItem = (work: Promise<unknown>): Promise<DynamoItem | undefined> =>
    work.then(
      () => expect.unreachable('it was not refused'),
      (fault: unknown) => {
        expect(fault).toMatchObject({ kind: 'conditionFailed' });
        return (fault as DynamoFault).item;
      },
    );

  test.each([
    'SET balance = :n',
    'set balance = :n',
    '\n  Set balance = :n',
    'REMOVE gone SET balance = :n',
    'remove gone set balance = :n',
    'ADD balance :n',
    'REMOVE balanceSet ADD balance :n',
    'ADD balance :n REMOVE balanceOffset ',
  ])('takes an update of the form %j, and moves with it', async (UpdateExpression) => {
    const guard = dynamoFence(right(7));
    await send('update', guard.advance(target()));
    const update = { ...target(), UpdateExpression, ExpressionAttributeValues: { ':n': 5 } };

    await send('update', guard.update(update));

    expect(await world.row(key)).toMatchObject({ balance: 5, leaseholdCounter: 7, leaseholdSequence: 2 });
  });

  test('takes the writes of a holder in the order in which they were made', async () => {
    const guard = dynamoFence(right(7));
    const first = guard.update(setBalance(1));
    const second = guard.update(setBalance(2));
    await send('update', second);

    await refusedItem(send('update', first));

    expect(await world.row(key)).toMatchObject({ balance: 2, leaseholdCounter: 7, leaseholdSequence: 2 });
  });

  test('takes nothing from a holder that was superseded', async () => {
    const old = dynamoFence(right(7));
    const late = old.update(setBalance(1));
    await send('update', dynamoFence(right(8)).advance(target()));

    await refusedItem(send('update', late));
    await refusedItem(send('put', old.put({ TableName: world.table, Item: { ...key, balance: 1 } })));

    expect(await world.row(key)).not.toHaveProperty('balance');
  });

  test('loses no update if it is advanced before the first read', async () => {
    const old = dynamoFence(right(7));
    await send('update', old.update(setBalance(100)));
    const stillUnderWay = old.update(setBalance(90));
    const next = dynamoFence(right(8));

    const { Attributes } = await send('update', next.advance(target()));
    await refusedItem(send('update', stillUnderWay)); // it was not acknowledged, so no acknowledged write is lost
    await send('update', next.update(setBalance(Number(Attributes?.balance) - 30)));

    expect(await world.row(key)).toMatchObject({ balance: 70 });
  });

  test('compares numbers as numbers', async () => {
    await send('update', dynamoFence(right(10)).update(setBalance(10)));

    await refusedItem(send('update', dynamoFence(right(9)).update(setBalance(9))));
  });

  test('distinguishes a write applied by an earlier attempt from a superseded one', async () => {
    const guard = dynamoFence(right(7));
    const write = guard.update(setBalance(1));
    await send('update', write);
    const own = await refusedItem(send('update', write));
    await send('update', dynamoFence(right(8)).advance(target()));
    const foreign = await refusedItem(send('update', write));

    expect(guard.wasApplied(write, own)).toBe(true);
    expect(guard.wasApplied(write, foreign)).toBe(false);
    expect(guard.wasApplied(write, undefined)).toBe(false);
  });

  test('joins existing conditions and clauses', async () => {
    const guard = dynamoFence(right(7));
    await send('put', guard.put({ TableName: world.table, Item: { ...key, balance: 5, note: 'x' } }));
    const conditional = {
      ...target(),
      ConditionExpression: 'balance >= :amount OR #admin = :yes',
      ExpressionAttributeNames: { '#admin': 'admin' },
      ExpressionAttributeValues: { ':amount': 10, ':yes': true, ':left': 0 },
    };

    await refusedItem(send('update', guard.update({ ...conditional, UpdateExpression: 'SET balance = :left' })));
    await send('update', guard.update({ ...target(), UpdateExpression: 'REMOVE note' }));

    expect(await world.row(key)).toEqual({ ...key, balance: 5, leaseholdCounter: 7, leaseholdSequence: 3 });
    expect(() => guard.update({ ...target(), UpdateExpression: '' })).toThrow('use advance()');
  });

  test('works with a lock, whose tenures share one sequence in their session', async () => {
    const { leasehold } = world.start();
    const session = await leasehold.session({ ttl: '30s' });
    const lock: Lock = await session.lock(`lock-${count}`);
    const guard = dynamoFence(lock);
    await send('update', guard.advance(target()));
    const late = guard.update(setBalance(1));
    await lock.release();
    const again = dynamoFence(await session.lock(`lock-${count}`));
    await send('update', again.update(setBalance(2)));

    await refusedItem(send('update', late));
    expect(() => guard.advance(target())).toThrow('released');
    expect(await world.row(key)).toMatchObject({ balance: 2 });
  });
});

describe.skipIf(!isPostgresInstalled())('the recipe for PostgreSQL', () => {
  const recipe = readFileSync(new URL('../../shared/core/lease/fence-recipes.md', import.meta.url), 'utf8');
  let postgres: Postgres;
  let account: string;
  let count = 0;

  function statement(name: string): string {
    return new RegExp(`\`\`\`sql ${name}\\n([\\s\\S]*?)\`\`\``).exec(recipe)?.[1] ?? '';
  }

  beforeAll(async () => {
    postgres = await startPostgres();
    await postgres.query(statement('table'));
  });
  afterAll(() => postgres.stop());
  beforeEach(() => {
    account = `account-${++count}`;
  });

  const execute = (name: 'advance' | 'write', { counter, sequence }: FenceStamp, balance?: number) => {
    const types = name === 'write' ? 'bigint, bigint, text, bigint' : 'bigint, bigint, text';
    const values = [counter, sequence, `'${account}'`, ...(balance === undefined ? [] : [balance])].join(', ');
    return postgres.query(`PREPARE recipe (${types}) AS ${statement(name)}; EXECUTE recipe (${values});`);
  };
  const balanceOf = async (): Promise<string | undefined> =>
    (await postgres.query(`SELECT balance FROM account WHERE id = '${account}'`))[0]?.[0];

  test('advances the fence of a row, made if need be, and reads it in the same statement', async () => {
    const fence = new Fence(right(1_795_226_077_257));

    expect(await execute('advance', fence.next())).toEqual([[account, '0', '1795226077257', '1']]);
    expect(await execute('write', fence.next(), 100)).toEqual([[account, '100', '1795226077257', '2']]);
  });

  test('takes the writes of a holder in the order in which they were made', async () => {
    const fence = new Fence(right(7));
    await execute('advance', fence.next());
    const [first, second] = [fence.next(), fence.next()];
    await execute('write', second, 2);

    expect(await execute('write', first, 1)).toEqual([]);
    expect(await balanceOf()).toBe('2');
  });

  test('takes nothing from a holder that was superseded, although its numbers are shorter', async () => {
    const [old, next] = [new Fence(right(9)), new Fence(right(10))];
    await execute('advance', old.next());
    const late = old.next();
    await execute('advance', next.next());

    expect(await execute('write', late, 1)).toEqual([]);
    expect(await execute('advance', old.next())).toEqual([]);
    expect(await execute('write', next.next(), 2)).toHaveLength(1);
    expect(await balanceOf()).toBe('2');
  });

  test('lets exactly one of two concurrent tenures go on', async () => {
    const [old, next] = [new Fence(right(7)), new Fence(right(8))];
    await execute('advance', old.next());

    await Promise.all([execute('write', old.next(), 1), execute('advance', next.next())]);
    await Promise.all([execute('write', next.next(), 3), execute('write', old.next(), 2)]);

    expect(await balanceOf()).toBe('3');
  });
});
