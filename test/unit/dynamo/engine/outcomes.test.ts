/** A sender's attempts, in time, and the outcome that follows from their results. */
import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import type { DynamoDriver, DynamoFaultKind, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault, UNSTORABLE } from '../../../../shared/dynamo/engine/driver.ts';
import type { SendPolicy } from '../../../../shared/dynamo/engine/send.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { Statement } from '../../../../shared/dynamo/engine/statement.ts';
import { CorruptItemError, LeaseLostError } from '../../../../shared/core/errors.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const MINE: DynamoItem = { pk: 'row', nonce: 'mine' };
const THEIRS: DynamoItem = { pk: 'row', nonce: 'theirs' };
const ITEM_SIZE = 'has exceeded the maximum allowed size';

type Result =
  | 'answers'
  /** No answer until the attempt is aborted. */
  | 'silence'
  | { readonly afterMs: number }
  | DynamoFault
  | TypeError;

const failed = (kind: DynamoFaultKind, more: Partial<ConstructorParameters<typeof DynamoFault>[1]> = {}) =>
  new DynamoFault(kind, { code: kind, message: 'the message', ...more });
const refusedBy = (item: DynamoItem | undefined) => failed('conditionFailed', { item });
const canceled = (...codes: readonly string[]) =>
  failed('transactionCanceled', { reasons: codes.map((code) => ({ code, message: undefined, item: THEIRS })) });

const BUSY = failed('throttled');
const LOST = failed('unanswered');

const update: Statement<'update'> = {
  verb: 'lock.put',
  kind: 'update',
  input: { TableName: 'leasehold', Key: { pk: 'row', sk: 's' }, UpdateExpression: 'at 0' },
};
const transaction: Statement<'transactWrite'> = {
  verb: 'lock.put',
  kind: 'transactWrite',
  input: { TransactItems: [{ Update: { ...update.input, UpdateExpression: 'at 0' } }] },
};
const query: Statement<'query'> = { verb: 'lock.page', kind: 'query', input: { TableName: 'leasehold' } };
const get: Statement<'get'> = { verb: 'lock.get', kind: 'get', input: { TableName: 'leasehold', Key: { pk: 'row' } } };

/** A table that gives these results in turn, to a sender whose pauses are 50, 100, 200, 400 and 500 ms. */
function open(results: readonly Result[], policy: Partial<SendPolicy> | 'default' = {}) {
  const clock = new ManualClock('2026-01-01T00:00:00Z');
  const sent: { readonly at: number; readonly input: unknown }[] = [];
  const driver: DynamoDriver = {
    async attempt(_kind, input, signal) {
      const result = results[sent.length] ?? 'answers';
      sent.push({ at: clock.monotonic(), input });
      if (result instanceof Error) throw result;
      if (result === 'answers') return { Attributes: MINE };
      if (result !== 'silence') await clock.sleep(result.afterMs, signal);
      else await once(signal, 'abort');
      if (signal.aborted) throw LOST;
      return { Attributes: MINE };
    },
  };
  const observer = { onAttempt: vi.fn<(attempt: object) => void>() };
  const settings = { attemptTimeoutMs: 1_000, budgetMs: 8_000, backoff: { baseMs: 100, capMs: 1_000 } };
  const sender = new Sender({
    driver,
    observer,
    runtime: { ...systemRuntime, clock, random: { next: () => 0.5 } },
    ...(policy === 'default' ? {} : { policy: { ...settings, ...policy } }),
  });
  const outcomeOf = (work: Promise<unknown>) =>
    clock.runUntil(
      work.catch((error: unknown) => error),
      () => true,
    );
  return { clock, sender, sent, observer, outcomeOf, times: () => sent.map(({ at }) => at) };
}

const NO_ANSWER = { name: 'StoreUnavailableError', applied: 'unknown' };
const APPLIED = { kind: 'applied', item: MINE, late: false, earlierAttempt: 'none', restampedAt: undefined };
const LATE = { kind: 'applied', item: MINE, late: true, earlierAttempt: 'none' };

describe('a write', () => {
  test.each<[string, readonly Result[], object]>([
    ['is answered', ['answers'], APPLIED],
    ['is answered after one that had no answer', [LOST, 'answers'], { ...APPLIED, earlierAttempt: 'unknown' }],
    ['is answered after one that was throttled', [BUSY, 'answers'], APPLIED],
    ['is answered after a conflict', [failed('conflict'), 'answers'], APPLIED],
    ['is answered after one that was not sent', [failed('unsent'), 'answers'], APPLIED],
    ['is answered after one with old credentials', [failed('unverified'), 'answers'], APPLIED],
    ['is refused by another row', [refusedBy(THEIRS)], { kind: 'refused', item: THEIRS, earlierAttempt: 'none' }],
    ['is refused by no row', [refusedBy(undefined)], { kind: 'refused', item: undefined, earlierAttempt: 'none' }],
    [
      'is refused by another row after one that had no answer',
      [LOST, refusedBy(THEIRS)],
      { kind: 'refused', item: THEIRS, earlierAttempt: 'unknown' },
    ],
    ['is refused by its own row', [refusedBy(MINE)], LATE],
    ['is refused by its own row after one that had no answer', [LOST, refusedBy(MINE)], LATE],
    [
      'is refused by its own row after two that had no answer',
      [LOST, LOST, refusedBy(MINE)],
      { ...LATE, earlierAttempt: 'unknown' },
    ],
    ['meets a mistake of the driver', [new TypeError('a mistake')], new TypeError('a mistake')],
  ])('whose last attempt %s', async (_what, results, outcome) => {
    const { sender, sent, observer, outcomeOf } = open(results);

    expect(await outcomeOf(sender.write(update, 'mine'))).toEqual(outcome);

    expect(sent.map(({ input }) => input)).toEqual(results.map(() => update.input));
    const faults = results.filter((result) => !(result instanceof TypeError));
    expect(observer.onAttempt.mock.calls).toEqual(
      faults.map((result) => [
        result === 'answers'
          ? { statement: update, output: { Attributes: MINE } }
          : { statement: update, fault: result },
      ]),
    );
  });

  test('that is sent again has the time of that attempt', async () => {
    const { clock, sender, sent, outcomeOf } = open([BUSY, LOST, 'answers']);
    const beganAt = clock.now();
    const at = (now: number) => ({ ...update.input, UpdateExpression: `at ${now - beganAt}` });
    const stamped: Statement<'update'> = { ...update, restamped: (now) => ({ ...update, input: at(now) }) };

    const outcome = await outcomeOf(sender.write(stamped, 'mine'));

    expect(outcome).toEqual({ ...APPLIED, earlierAttempt: 'unknown', restampedAt: beganAt + 150 });
    expect(sent.map(({ input }) => input)).toEqual([update.input, at(beganAt + 50), at(beganAt + 150)]);
    expect(await outcomeOf(sender.write(stamped, 'mine'))).toEqual(APPLIED);
  });
});

describe('the attempts', () => {
  const always = (result: Result) => Array.from({ length: 20 }, () => result);

  test.each<[string, number, Result, readonly number[], number]>([
    ['that are throttled begin after growing pauses', 2_000, BUSY, [0, 50, 150, 350, 750, 1_250, 1_750], 1_750],
    ['end if the next one would begin at the end of the budget', 350, BUSY, [0, 50, 150], 150],
    ['do not end a millisecond earlier', 351, BUSY, [0, 50, 150, 350], 350],
    ['without an answer end with their own time, the last with the budget', 2_500, 'silence', [0, 1_050, 2_150], 2_500],
    ['with slow answers end with the first', 2_500, { afterMs: 999 }, [0], 999],
    ['with too slow answers go on', 2_500, { afterMs: 1_001 }, [0, 1_050, 2_150], 2_500],
  ])('%s', async (_what, budgetMs, result, times, endsAt) => {
    const inPolicy = open(always(result), { budgetMs });
    await inPolicy.outcomeOf(inPolicy.sender.write(update, 'mine'));
    const byCaller = open(always(result));
    await byCaller.outcomeOf(byCaller.sender.write(update, 'mine', { budgetMs }));

    for (const made of [inPolicy, byCaller]) expect([made.times(), made.clock.monotonic()]).toEqual([times, endsAt]);
  });

  test('have a second and a half each, and eight in all, unless something else is said', async () => {
    const { sender, clock, times, outcomeOf } = open(always('silence'), 'default');

    expect(await outcomeOf(sender.write(update, 'mine'))).toMatchObject(NO_ANSWER);

    // Pauses of half of 25, 50, 100, and 200 ms.
    expect(times()).toEqual([0, 1_512, 3_037, 4_587, 6_187, 7_887].slice(0, times().length));
    expect(clock.monotonic()).toBeLessThanOrEqual(8_000);
    expect(clock.monotonic()).toBeGreaterThan(7_000);
  });

  test('end when the caller gives up, and tell the known part', async () => {
    for (const [result, applied] of [
      [BUSY, 'no'],
      [LOST, 'unknown'],
    ] as const) {
      const { clock, sender, times, outcomeOf } = open(always(result));
      const gaveUp = new AbortController();
      const cancel = clock.after(60, () => gaveUp.abort());

      const outcome = await outcomeOf(sender.write(update, 'mine', { signal: gaveUp.signal }));

      expect(outcome).toMatchObject({ name: 'StoreUnavailableError', applied, cause: result });
      expect([times(), clock.monotonic()]).toEqual([[0, 50], 60]);
      cancel();
    }
  });

  test('are each made right after the check that the caller still believes, and never after it failed', async () => {
    const lost = new LeaseLostError('session s', 'expired', 'its time is over');
    const { sender, sent, outcomeOf } = open([BUSY, LOST, 'answers']);
    const sentBefore: number[] = [];
    const ensureTrusted = (): void => {
      sentBefore.push(sent.length);
      if (sentBefore.length === 3) throw lost;
    };

    expect(await outcomeOf(sender.write(update, 'mine', { ensureTrusted }))).toBe(lost);

    expect([sentBefore, sent.length]).toEqual([[0, 1, 2], 2]);
  });

  test('pause for callers of other loops as between two of one request', async () => {
    const { clock, sender, outcomeOf } = open([]);

    for (const round of [1, 2, 9]) await outcomeOf(sender.pause(round));

    expect(clock.monotonic()).toBe(50 + 100 + 500);
  });
});

describe('a transaction', () => {
  const OTHERS = ['None', 'TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'];

  test.each([...OTHERS.map((code) => [code]), [], OTHERS])(
    'canceled for no more than %s %s is sent again',
    async (...codes) => {
      const { sender, sent, outcomeOf } = open([canceled(...codes), 'answers']);

      expect(await outcomeOf(sender.transact(transaction, 'mine'))).toEqual({ ...APPLIED, item: undefined });

      expect(sent).toHaveLength(2);
    },
  );

  test('is refused by its first action, and canceled by any other', async () => {
    const other = canceled('None', 'ConditionalCheckFailed');
    const outcomes = [];
    for (const results of [[canceled('ConditionalCheckFailed', 'None')], [other], [LOST, other]]) {
      const { sender, outcomeOf } = open(results);
      outcomes.push(await outcomeOf(sender.transact(transaction, 'mine')));
    }

    expect(outcomes).toEqual([
      { kind: 'refused', item: THEIRS, earlierAttempt: 'none' },
      { kind: 'canceled', reasons: other.reasons, earlierAttempt: 'none' },
      { kind: 'canceled', reasons: other.reasons, earlierAttempt: 'unknown' },
    ]);
  });
});

describe('the error', () => {
  const rejected = (message: string, code = 'ValidationException') => failed('rejected', { code, message });

  test.each<[string, Statement<'update'> | Statement<'query'> | Statement<'get'>, DynamoFault, RegExp]>([
    [
      'a write without an answer',
      update,
      LOST,
      /^lock.put of row: .* \(unanswered: the message\); it may have been applied$/,
    ],
    ['a throttled write', update, BUSY, /^lock.put of row: gave up after 1 attempts .*; nothing was applied$/],
    ['a read', get, LOST, /^lock.get of row: gave up after 1 attempts \(.*\); nothing was read$/],
    ['a query', query, BUSY, /^lock.page: gave up after 1 attempts \(.*\); nothing was read$/],
    [
      'what was not sent',
      query,
      failed('unsent'),
      /nothing was read; is the endpoint or region right, and are there credentials\?$/,
    ],
    [
      'a full row',
      update,
      rejected(`Item size to update ${ITEM_SIZE}`),
      /^row row cannot be used: size is at DynamoDB's limit/,
    ],
    [
      'a full new row',
      update,
      rejected(`Item size ${ITEM_SIZE}`),
      /^row row cannot be used: size is at DynamoDB's limit/,
    ],
    [
      'another refusal',
      update,
      rejected(`Key: Item size ${ITEM_SIZE}`),
      /^lock.put of row: .* \(ValidationException\): Key: Item/,
    ],
    ['a value that cannot be stored', update, rejected('NaN', UNSTORABLE), /^lock.put of row: NaN; nothing was sent$/],
    [
      'a missing table',
      update,
      rejected('', 'ResourceNotFoundException'),
      /^lock.put of row: there is no table leasehold in/,
    ],
  ])('of %s says what was tried, and what is known', async (_what, statement, fault, message) => {
    const { sender, outcomeOf } = open([fault], { budgetMs: 10 });

    const error = await outcomeOf(
      statement.kind === 'update' ? sender.write(statement, 'mine') : sender.read<'query' | 'get'>(statement),
    );

    expect((error as Error).message).toMatch(message);
    if (!(error instanceof CorruptItemError)) expect((error as Error).cause).toBe(fault);
  });
});

test('a read returns the answer, or throws the refusal of DynamoDB', async () => {
  const refusal = refusedBy(undefined);
  const { sender, outcomeOf } = open(['answers', refusal]);

  expect(await outcomeOf(sender.read(get))).toEqual({ Attributes: MINE });
  expect(await outcomeOf(sender.read(get))).toBe(refusal);
});
