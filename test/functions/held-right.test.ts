import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { signalOf } from '../../functions/middleware/held-right.ts';
import { leader } from '../../functions/middleware/leader.ts';
import { lock } from '../../functions/middleware/lock.ts';
import { semaphore } from '../../functions/middleware/semaphore.ts';
import { ConfigurationError, LeaseLostError } from '../../shared/core/errors.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { LockUnavailableError } from '../../shared/coordination/lock/lock-record.ts';
import { SemaphoreFullError } from '../../shared/coordination/semaphore/semaphore-contender.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import type { World } from '../support/coordination.ts';
import { passTime, simulatedWorld } from '../support/coordination.ts';
import { LossyNetwork } from '../support/lossy-network.ts';

interface Order {
  readonly account: string;
}

describe('the middlewares that hold a right around a handler', () => {
  let world: World;
  let leasehold: Leasehold;
  let elsewhere: Leasehold;

  beforeEach(() => {
    world = simulatedWorld();
    leasehold = world.start().leasehold;
    elsewhere = world.start().leasehold;
  });

  const contextWith = (remainingMs = 60_000): Context =>
    ({
      functionName: 'orders',
      logStreamName: 'stream',
      getRemainingTimeInMillis: () => remainingMs,
    }) as Context;

  const liveSessions = async (): Promise<number> => {
    let live = 0;
    for await (const { status } of leasehold.sessions.list()) if (status === 'live') live++;
    return live;
  };

  test.each<[string, (options: never) => unknown, object, RegExp]>([
    ['lock without options', lock, {}, /^lock requires leasehold or client, and not both$/],
    ['lock without a key', lock, { leasehold: { session: () => undefined } }, /^lock: key = undefined: must be a name/],
    ['leader, misspelt', leader, { elektion: 'e' }, /unknown option "elektion": .*did you mean election\?$/],
    ['semaphore, misspelt', semaphore, { limits: 1 }, /unknown option "limits": .*did you mean limit\?$/],
  ])('refuses %s', (_what, middleware, options, message) => {
    expect(() => middleware(options as never)).toThrow(message);
  });

  describe('semaphore', () => {
    test('holds a permit while the handler runs, and nothing after it', async () => {
      const vendor = semaphore({ leasehold, semaphore: 'vendor', limit: 2 });
      const handler = middy(async (_: unknown, context: Context) => {
        expect(vendor.of(context).fencingToken).toBeGreaterThan(0);
        return (await leasehold.semaphores.get('vendor'))?.inUse;
      }).use(vendor);

      expect(await handler({}, contextWith())).toBe(1);
      expect(await leasehold.semaphores.get('vendor')).toMatchObject({ inUse: 0 });
      expect(await liveSessions()).toBe(0);
    });

    test('gives it back when the handler fails', async () => {
      const handler = middy(() => Promise.reject(new Error('boom'))).use(
        semaphore({ leasehold, semaphore: 'vendor', limit: 1 }),
      );

      await expect(handler({}, contextWith())).rejects.toThrow('boom');
      expect(await leasehold.semaphores.get('vendor')).toMatchObject({ inUse: 0 });
      expect(await liveSessions()).toBe(0);
    });

    test('fails the invocation when there is no room, and leaves no session behind', async () => {
      await (await elsewhere.session()).permit('vendor', { limit: 1 });
      const handler = middy(() => 'called').use(semaphore({ leasehold, semaphore: 'vendor', limit: 1 }));

      await expect(handler({}, contextWith())).rejects.toThrow(SemaphoreFullError);
      expect(await liveSessions()).toBe(1);
    });

    test('answers instead of the handler if configured', async () => {
      await (await elsewhere.session()).permit('vendor', { limit: 1 });
      const handler = middy(() => 'called').use(
        semaphore({
          leasehold,
          semaphore: 'vendor',
          limit: 1,
          onUnavailable: ({ full }) => ({ statusCode: 429, inUse: full.inUse }),
        }),
      );

      expect(await handler({}, contextWith())).toEqual({ statusCode: 429, inUse: 1 });
      expect(await liveSessions()).toBe(1);
    });
  });

  describe('lock', () => {
    const orders = () => lock<Order>({ leasehold, key: ({ account }) => `accounts/${account}` });

    test('runs one invocation at a time for each key', async () => {
      const account = orders();
      const handler = middy(async (event: Order): Promise<unknown> => {
        if (event.account === 'inner') return 'inner';
        await expect(handler(event, contextWith())).rejects.toThrow(LockUnavailableError);
        return handler({ account: 'inner' }, contextWith());
      }).use(account);

      expect(await handler({ account: 'ann' }, contextWith())).toBe('inner');
      expect(await handler({ account: 'ann' }, contextWith())).toBe('inner');
    });

    test('gives the handler its sequencer', async () => {
      const account = orders();
      const handler = middy(async (_: Order, context: Context) => {
        const { sequencer } = account.of(context);
        return [await leasehold.verify(sequencer), sequencer] as const;
      }).use(account);

      const [during, sequencer] = await handler({ account: 'ann' }, contextWith());

      expect(during).toMatchObject({ kind: 'valid' });
      expect(await leasehold.verify(sequencer)).not.toMatchObject({ kind: 'valid' });
    });
  });

  test('leader runs the handler in one of them, in a term', async () => {
    const sole = leader({ leasehold, election: 'compaction', onUnavailable: () => 'follows' });
    const handler = middy(async (event: { readonly ask: boolean }, context: Context): Promise<unknown> => {
      const { term } = sole.of(context);
      return event.ask ? [await handler({ ask: false }, contextWith()), term > 0] : 'leads';
    }).use(sole);

    expect(await handler({ ask: true }, contextWith())).toEqual(['follows', true]);
    expect(await handler({ ask: false }, contextWith())).toBe('leads');
  });

  test('do not fail an invocation whose work is done if their release is not answered', async () => {
    const here = world.start();
    const network = new LossyNetwork(here, /./);
    const handler = middy(() => {
      network.fate = 'loseAnswer';
      return 'done';
    })
      .use(lock({ leasehold: here.leasehold, key: 'a' }))
      .use(semaphore({ leasehold: here.leasehold, semaphore: 'vendor', limit: 1 }));

    expect(await passTime(world, handler({}, contextWith()))).toBe('done');
  });

  describe('in a chain', () => {
    test('they share one session, which ends with the last of them', async () => {
      const account = lock({ leasehold, key: 'a' });
      const vendor = semaphore({ leasehold, semaphore: 'vendor', limit: 1 });
      const handler = middy(async (_: unknown, context: Context) => {
        const state = await leasehold.semaphores.get('vendor');
        const info = await leasehold.locks.get('a');
        return [state?.holders[0]?.session === info?.holder?.session, vendor.of(context).permits, await liveSessions()];
      })
        .use(account)
        .use(vendor);

      expect(await handler({}, contextWith())).toEqual([true, 1, 1]);
      expect(await liveSessions()).toBe(0);
    });

    test('keep the outer right until the inner one is given back', async () => {
      const account = lock({ leasehold, key: 'a' });
      const between: boolean[] = [];
      const handler = middy(() => 'done')
        .use(account)
        .use({
          after: ({ context }: { readonly context: Context }) => void between.push(account.of(context).signal.aborted),
        })
        .use(semaphore({ leasehold, semaphore: 'vendor', limit: 1 }));

      expect(await handler({}, contextWith())).toBe('done');
      expect(between).toEqual([false]);
    });

    test('releases earlier holds after another middleware answers early, Powertools included', async () => {
      await (await elsewhere.session()).permit('vendor', { limit: 1 });
      const closed: string[] = [];
      const handler = middy(() => 'called')
        .use({
          // Like Powertools' middlewares: they store their clean-up in `internal`, for middlewares that return early.
          before: (request) => {
            Object.assign(request.internal, { 'powertools-for-aws.tracer': () => closed.push('segment') });
          },
        })
        .use(lock({ leasehold, key: 'a' }))
        .use(semaphore({ leasehold, semaphore: 'vendor', limit: 1, onUnavailable: () => 'later' }));

      expect(await handler({}, contextWith())).toBe('later');
      expect(closed).toEqual(['segment']);
      expect((await leasehold.locks.get('a'))?.holder).toBeUndefined();
      expect(await liveSessions()).toBe(1);
    });
  });

  describe('signalOf', () => {
    test('aborts when the time is nearly over', async () => {
      const handler = middy(async (_: unknown, context: Context) => {
        const signal = signalOf(context);
        await world.clock.advance(799);
        expect(signal.aborted).toBe(false);
        await world.clock.advance(1);
        return signal.reason as unknown;
      }).use(lock({ leasehold, key: 'a', deadlineMargin: 200 }));

      expect(await handler({}, contextWith(1_000))).toBeInstanceOf(HandedBackError);
      expect((await leasehold.locks.get('a'))?.holder).toBeUndefined();
    });

    test('aborts when a right is taken away', async () => {
      const vendor = semaphore({ leasehold, semaphore: 'vendor', limit: 1 });
      const handler = middy(async (_: unknown, context: Context) => {
        const permit = vendor.of(context);
        const signal = signalOf(context);
        await elsewhere.semaphores.evict('vendor', { token: permit.fencingToken, by: 'ann', reason: 'hangs' });
        expect(await permit.check()).toBe(false);
        return signal.reason as unknown;
      }).use(vendor);

      expect(await handler({}, contextWith())).toBeInstanceOf(LeaseLostError);
    });
  });

  test.each(['wait', 'deadlineMargin'])('refuses a %s that is not a duration before it holds anything', (option) => {
    const options = { leasehold, key: 'a', [option]: 'soon' };

    expect(() => lock(options)).toThrow(ConfigurationError);
    expect(() => lock(options)).toThrow(`lock: ${option} = "soon"`);
  });

  test('waits no longer than the invocation has', async () => {
    await (await elsewhere.session()).permit('vendor', { limit: 1 });
    const handler = middy(() => 'called').use(
      semaphore({ leasehold, semaphore: 'vendor', limit: 1, wait: '1h', deadlineMargin: '1m' }),
    );

    // The clock of this world never advances, so any wait would never end.
    await expect(handler({}, contextWith(60_000))).rejects.toThrow(SemaphoreFullError);
  });
});
