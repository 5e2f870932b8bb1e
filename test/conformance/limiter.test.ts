import { expect, test } from 'vitest';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import { ConcurrencyLimiter } from '../../shared/coordination/semaphore/concurrency-limiter.ts';
import type { Member } from '../support/crowd.ts';
import { SKEW_MS, describeCrowd } from '../support/crowd.ts';

describeCrowd('the concurrency limiter', (start) => {
  test('never runs more than fifteen of forty jobs, and frees the slots of killed processes', async () => {
    const name = `limit-${systemIds.unique()}`;
    const atWork = { most: 0, ended: 0 };
    // Every state that the row ever has is left behind by a write of one of them.
    const onRow = ({ holders }: DynamoItem): void => {
      if (holders !== undefined) atWork.most = Math.max(atWork.most, Object.keys(holders as object).length);
    };
    const here = start(onRow);
    const timing = { ttlMs: 5_000 };
    const limiterOf = async (process: Member): Promise<ConcurrencyLimiter> =>
      new ConcurrencyLimiter(name, { limit: 15, pause: 100 }, await process.session(timing), process.ports);

    // Ten are killed at work: the clocks of their processes stop.
    for (let killed = 0; killed < 10; killed++) await (await limiterOf(start(onRow))).add();
    const work = async (): Promise<void> => {
      const limiter = await limiterOf(here);
      const id = await limiter.add();
      await here.clock.sleep(300);
      expect(await limiter.done(id!)).toBe(true);
      atWork.ended++;
    };
    await here.live(Promise.all(Array.from({ length: 30 }, () => work())), 100);

    expect(atWork).toEqual({ ended: 30, most: 15 });
    await here.live(here.clock.sleep(timing.ttlMs + SKEW_MS));
    const limiter = await limiterOf(here);
    const all = await here.live(Promise.all(Array.from({ length: 15 }, () => limiter.add())));
    expect(new Set(all).size).toBe(15);
    expect(await limiter.add({ wait: 0 })).toBeUndefined();
  });

  test('releases a slot once by its id in another process', async () => {
    const [here, there] = [start(), start()];
    const name = `limit-${here.ports.runtime.ids.unique()}`;
    const one = new ConcurrencyLimiter(name, { limit: 1 }, await here.session(), here.ports);
    const other = new ConcurrencyLimiter(name, { limit: 1 }, await there.session(), there.ports);
    const id = await one.add();

    expect([await other.done(id!), await other.done(id!)]).toEqual([true, false]);
    expect(await other.add()).toBeDefined();
    await expect(other.done('nonsense')).rejects.toThrow(ConfigurationError);
  });

  test('runs work in a slot, and gives it back when the work fails', async () => {
    const here = start();
    const name = `limit-${here.ports.runtime.ids.unique()}`;
    const limiter = new ConcurrencyLimiter(name, { limit: 1 }, await here.session(), here.ports);
    const failing = limiter.run(async (signal) => {
      expect(signal.aborted).toBe(false);
      throw new Error('boom');
    });

    await expect(failing).rejects.toThrow('boom');
    expect(await limiter.run(async () => 7)).toBe(7);
  });
});
