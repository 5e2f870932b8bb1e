/** Reading many rows by key. */
import { expect, test } from 'vitest';
import { readInBatches } from '../../../../shared/dynamo/engine/batches.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { readSessions } from '../../../../shared/session/row/session-statements.ts';
import type { DynamoCalls } from '../../../../shared/dynamo/engine/driver.ts';
import type { Runtime } from '../../../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';

const TABLE = 'leasehold';

/** A service that answers at most `answersAtMost` keys at once, and refuses like DynamoDB. */
function open(answersAtMost = 100, runtime: Runtime = systemRuntime) {
  const requests: DynamoCalls['batchGet']['input'][] = [];
  const driver = {
    attempt: (_kind: 'batchGet', input: DynamoCalls['batchGet']['input']) => {
      requests.push(input);
      const { Keys = [], ...rest } = input.RequestItems?.[TABLE] ?? {};
      const distinct = new Set(Keys.map(({ pk, sk }) => `${String(pk)} ${String(sk)}`));
      if (distinct.size < Keys.length) throw new Error('Provided list of item keys contains duplicates');
      if (Keys.length > 100) throw new Error('Too many items requested');
      const left = Keys.slice(answersAtMost);
      return Promise.resolve({
        Responses: { [TABLE]: Keys.slice(0, answersAtMost) },
        UnprocessedKeys: left.length === 0 ? {} : { [TABLE]: { ...rest, Keys: left } },
      });
    },
  } as unknown as DynamoDriver;
  const sender = new Sender({ driver, runtime });
  const read = (ids: readonly string[]) => readInBatches(sender, TABLE, readSessions(TABLE, ids));
  return { read, requests };
}

test('a row that is named twice is read once', async () => {
  const { read, requests } = open();

  expect(await read(['a', 'b', 'a'])).toHaveLength(2);
  expect(requests).toHaveLength(1);
});

test('reads more rows than fit into one request in several, with the same consistency and metering', async () => {
  const { read, requests } = open(60);
  const ids = Array.from({ length: 150 }, (_, n) => `check-${n}`);

  expect(await read(ids)).toHaveLength(150);

  expect(requests.map(({ RequestItems }) => RequestItems?.[TABLE]?.Keys?.length)).toEqual([100, 40, 50]);
  for (const { RequestItems, ReturnConsumedCapacity } of requests) {
    expect(RequestItems?.[TABLE]?.ConsistentRead).toBe(true);
    expect(ReturnConsumedCapacity).toBe('TOTAL');
  }
});

test('sends no request for an empty list', async () => {
  const { read, requests } = open();

  expect(await read([])).toEqual([]);
  expect(requests).toEqual([]);
});

test('reads what a throttled table left unread with growing pauses', async () => {
  const waits: number[] = [];
  const clock = { ...systemRuntime.clock, sleep: (ms: number) => Promise.resolve(void waits.push(ms)) };
  const { read, requests } = open(10, { ...systemRuntime, clock, random: { next: () => 0.5 } });

  await read(Array.from({ length: 50 }, (_, n) => `check-${n}`));

  expect(requests).toHaveLength(5);
  // Each request also has a time-out of more than a second.
  const between = waits.filter((ms) => ms < 1_000);
  expect(between).toHaveLength(4);
  expect(between).toEqual(between.toSorted((a, b) => a - b));
  expect(between.at(-1)).toBeGreaterThan(between[0] ?? Infinity);
});
