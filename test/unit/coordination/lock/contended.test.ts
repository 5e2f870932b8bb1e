import { expect, test } from 'vitest';
import { ATTEMPT_ROUNDS_LIMIT } from '../../../../shared/coordination/lock/lock-contender.ts';
import type { DynamoCalls, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

test('tryLock says contended, not delayed, if another caller is faster in each round', async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const [mine, theirs] = [await here.leasehold.session(), await there.leasehold.session()];
  const attempt = here.driver.attempt.bind(here.driver);
  here.driver.attempt = async <K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> => {
    if (JSON.stringify(input).includes('"lock#')) await (await theirs.lock('job')).release();
    return attempt(kind, input, signal);
  };

  const cost = await here.cost(async () => {
    expect(await mine.tryLock('job')).toEqual({ kind: 'contended', key: 'job' });
  });

  expect(cost.verbs).toEqual({ 'lock.acquire': ATTEMPT_ROUNDS_LIMIT });
});

test('a waiter of a key that others were faster for tries again at once, even if it polls rarely', async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const [mine, theirs] = [await here.leasehold.session({ ttl: '10m' }), await there.leasehold.session({ ttl: '10m' })];
  const attempt = here.driver.attempt.bind(here.driver);
  let rivals = ATTEMPT_ROUNDS_LIMIT;
  here.driver.attempt = async (kind, input, signal) => {
    if (JSON.stringify(input).includes('"lock#') && rivals-- > 0) await (await theirs.lock('job')).release();
    return attempt(kind, input, signal);
  };
  const startsAt = world.clock.now();

  await passTime(world, mine.lock('job', { pause: '1h' }));

  expect(world.clock.now() - startsAt).toBeLessThan(2_500);
});
