import { expect, test } from 'vitest';
import { ATTEMPT_ROUNDS_LIMIT } from '../../../../shared/coordination/lock/lock-contender.ts';
import type { DynamoCalls, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

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
