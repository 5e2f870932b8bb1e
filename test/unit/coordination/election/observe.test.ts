import { describe, expect, test } from 'vitest';
import type { Reign } from '../../../../shared/coordination/election/election.ts';
import { ElectionClient } from '../../../../shared/coordination/election/election.ts';
import type { LockInfo } from '../../../../shared/coordination/lock/lock-record.ts';
import type { DynamoCalls, DynamoDriver, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';
import { Prng } from '../../../support/machines/prng.ts';

/**
 * Answers every third of the eventually consistent reads from a moment in the past:
 * replicas that disagree. A look has two, so that each of them meets the old one.
 */
function withStaleReplica(driver: DynamoDriver): DynamoDriver & { freeze(): void } {
  const past = new Map<string, object>();
  let isFrozen = false;
  let turn = 0;
  return {
    freeze() {
      isFrozen = true;
    },
    async attempt<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], signal: AbortSignal) {
      const answer = await driver.attempt(kind, input, signal);
      const request = JSON.stringify(input);
      if (kind !== 'batchGet' || request.includes('"ConsistentRead":true')) return answer;
      if (!isFrozen) past.set(request, answer);
      const old = isFrozen && turn++ % 3 === 0 ? past.get(request) : undefined;
      return old ?? answer;
    },
  };
}

test('shows the end of a leader once to an observer that may only read', async () => {
  const world = simulatedWorld();
  const one = world.start();
  const reader = world.start();
  const replica = withStaleReplica(world.driver);
  reader.driver.attempt = (kind, input, signal) =>
    kind === 'get' || kind === 'batchGet' || kind === 'query'
      ? replica.attempt(kind, input, signal)
      : Promise.reject(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'read only' }));
  const session = await one.leasehold.session({ name: 'one', ttl: null });
  const stop = new AbortController();
  const seen: (string | undefined)[] = [];
  await session.campaign('boss', { value: 'a' });
  const observing = (async () => {
    for await (const { leader } of reader.leasehold.elections.observe('boss', { signal: stop.signal }))
      seen.push(leader?.value);
  })();
  await passTime(world, world.clock.sleep(5_000));
  replica.freeze();
  await one.leasehold.sessions.destroy(session.id);
  await passTime(world, world.clock.sleep(60_000));
  stop.abort();
  await passTime(world, observing);

  expect(seen).toEqual(['a', undefined]);
});

describe('an observer of replicas that answer with any earlier state', () => {
  const led = (leaseCounter: number, modifyIndex: number, value: string) =>
    ({ leaseCounter, modifyIndex, value, holder: { session: value, leaseCounter } }) as LockInfo;
  const free = (leaseCounter: number, modifyIndex: number) => ({ leaseCounter, modifyIndex }) as LockInfo;
  /** Each state of the row, in order; undefined: its entry was deleted. */
  const STATES = [led(1, 1, 'a'), led(1, 2, 'a2'), free(1, 3), undefined, led(6, 6, 'b'), undefined, led(9, 9, 'c')];

  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'sees no leader again, and no earlier term (%i)',
    async (seed) => {
      const prng = new Prng(BigInt(seed));
      const stop = new AbortController();
      let current = 0;
      let looks = 0;
      const locks = {
        get: () => Promise.resolve(STATES[0]),
        nextSighting(_key: string, isNews: (info: LockInfo | undefined) => boolean) {
          while (looks++ < 100) {
            if (prng.chance(0.2)) current = Math.min(current + 1, STATES.length - 1);
            const info = STATES[prng.integer(0, current)];
            if (isNews(info)) return Promise.resolve({ info });
          }
          stop.abort();
          return Promise.resolve(undefined);
        },
      };
      const seen: Reign[] = [];
      for await (const reign of new ElectionClient(locks as never).observe('boss', { signal: stop.signal }))
        seen.push(reign);

      const values = seen.map(({ leader }) => leader?.value).filter((value) => value !== undefined);
      expect(values).toEqual([...new Set(values)].sort());
      expect(seen.map(({ term }) => term)).toEqual(seen.map(({ term }) => term).sort((one, other) => one - other));
    },
  );
});
