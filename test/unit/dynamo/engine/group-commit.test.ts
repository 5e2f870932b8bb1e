/** Callers of one process that change one row: which writes are sent together, and the answer to each caller. */
import { expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import type { DynamoDriver, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { Member } from '../../../../shared/dynamo/engine/group-commit.ts';
import { GroupCommit } from '../../../../shared/dynamo/engine/group-commit.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { Action } from '../../../../shared/dynamo/engine/transaction.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

interface One extends Member {
  readonly row?: string;
  readonly bytes?: number;
  /** Whether it may not try again after the shared row has refused it. */
  readonly isOver?: boolean;
}

type Answer = 'applied' | DynamoFault;

const put = (pk: string, bytes = 1): Action => ({
  Put: { TableName: 't', Item: { pk, sk: 's', x: 'x'.repeat(bytes) } },
});
const refused = (...codes: readonly (string | DynamoItem)[]): DynamoFault =>
  new DynamoFault('transactionCanceled', {
    code: 'TransactionCanceledException',
    message: 'refused',
    reasons: codes.map((code) =>
      typeof code === 'string' ? { code } : { code: 'ConditionalCheckFailed', item: code },
    ),
  });

/** @param answers of the requests, in order; afterwards all are applied */
function world(...answers: readonly Answer[]) {
  const clock = new FakeClock(new Date('2026-03-01T12:00:00Z'));
  const left = [...answers];
  const sent: string[][] = [];
  let reads = 0;
  const driver = {
    async attempt(_kind: string, input: { readonly TransactItems: readonly { readonly Put: { Item: DynamoItem } }[] }) {
      sent.push(input.TransactItems.map(({ Put }) => String(Put.Item.pk)));
      await clock.sleep(10);
      const answer = left.shift() ?? 'applied';
      if (answer !== 'applied') throw answer;
      return {};
    },
  } as unknown as DynamoDriver;
  const sender = new Sender({ driver, runtime: { clock, random: { next: () => 0.5 }, ids: systemIds } });
  const groups = new GroupCommit<One, number>(sender);
  const send = (member: One) =>
    groups
      .send(['row'], member, {
        what: 'the row',
        isObserved: true,
        read: () => Promise.resolve(++reads),
        plan: (members) =>
          Promise.resolve({
            verb: 'task.enqueue',
            parts: members.map(({ row, nonce, bytes }) => [put(row ?? nonce, bytes)]),
            shared: (count) => [put(`shared+${count}`)],
          }),
        after: (row, count) => ({ row: row + count }),
        onRefusal: () => (member.isOver === true ? 'refused' : { again: 0 }),
      })
      .then(
        ({ kind }) => kind,
        (error: unknown) => (error instanceof StoreUnavailableError ? error.applied : String(error)),
      );
  const run = async (...members: readonly One[]) => {
    const told = await clock.runUntil(Promise.all(members.map(send)), () => true);
    return { told, sent, reads };
  };
  return { run };
}

const named = (...nonces: readonly string[]): One[] => nonces.map((nonce) => ({ nonce }));

test('the first is sent at once, and later ones together, in order, after one read', async () => {
  const { told, sent, reads } = await world().run(...named('a', 'b', 'c'));

  expect({ told, reads }).toEqual({ told: ['applied', 'applied', 'applied'], reads: 1 });
  expect(sent).toEqual([
    ['a', 'shared+1'],
    ['b', 'c', 'shared+2'],
  ]);
});

test('a write that its row refuses leaves the group with the row, unless the row has its nonce', async () => {
  const world3 = world('applied', refused({ pk: 'b', nonce: 'other' }, { pk: 'c', nonce: 'c' }, 'None', 'None'));

  const { told, sent } = await world3.run(...named('a', 'b', 'c', 'd'));

  expect(told).toEqual(['applied', 'refused', 'applied', 'applied']);
  expect(sent.at(-1)).toEqual(['d', 'shared+1']);
});

test('a refusal of the shared row shows what to plan on, and a conflict shows nothing: then it is read', async () => {
  const first = await world(refused('None', { pk: 'shared' })).run(...named('a'));
  const second = await world(refused('None', 'TransactionConflict')).run(...named('a'));

  expect([first.reads, second.reads]).toEqual([1, 2]);
  expect([first.told, second.told]).toEqual([['applied'], ['applied']]);
});

test('all are refused whose shared row allows no other try', async () => {
  const { told, sent } = await world('applied', refused('None', 'None', { pk: 'shared' })).run(
    ...['a', 'b', 'c'].map((nonce) => ({ nonce, isOver: true })),
  );

  expect(told).toEqual(['applied', 'refused', 'refused']);
  expect(sent).toHaveLength(2);
});

test('no more than 100 actions and 3 MB are sent together, and no row twice', async () => {
  const many = Array.from({ length: 150 }, (_, n) => `n${n}`);
  const { sent } = await world().run(...named(...many));
  const large = await world().run(...['a', 'b', 'c', 'd'].map((nonce) => ({ nonce, bytes: 1_400_000 })));
  const twice = await world().run(...named('a', 'b'), { nonce: 'c', row: 'b' }, ...named('d'));

  expect(sent.map(({ length }) => length)).toEqual([2, 100, 51]);
  expect(large.sent.map(({ length }) => length)).toEqual([2, 3, 2]);
  expect(twice.sent.map((rows) => rows.slice(0, -1))).toEqual([['a'], ['b'], ['b', 'd']]);
});

test('all writes of a group are unknown if there was no answer', async () => {
  const lost = new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  const { told } = await world('applied', ...Array.from({ length: 60 }, () => lost)).run(...named('a', 'b', 'c'));

  expect(told).toEqual(['applied', 'unknown', 'unknown']);
});

test('a write that cannot be sent fails alone; in a list, later ones are not sent', async () => {
  const bad = new DynamoFault('rejected', { code: 'ValidationException', message: 'too large' });
  const alone = await world('applied', bad, 'applied', bad).run(...named('a', 'b', 'c'));
  const list = {};
  const together = await world(bad).run({ nonce: 'a', list }, { nonce: 'b', list }, { nonce: 'c' });

  expect(alone.told).toEqual(['applied', 'applied', expect.stringContaining('too large')]);
  expect(together.told).toEqual([
    expect.stringContaining('too large'),
    expect.stringContaining('too large'),
    'applied',
  ]);
});
