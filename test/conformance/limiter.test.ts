import { expect, test } from 'vitest';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { ConcurrencyLimiter } from '../../shared/coordination/semaphore/concurrency-limiter.ts';
import { describeCrowd } from '../support/crowd.ts';

describeCrowd('the concurrency limiter', (start) => {
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
