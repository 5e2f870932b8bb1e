/** A waiter that polls once in an hour gets at once what its own process frees, in whatever way. */
import { expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import type { Process } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { loseNextAnswer } from '../../support/lost-answer.ts';

interface Way {
  /** Takes it. @returns what frees it */
  readonly take: (holder: Session, here: Process) => Promise<() => Promise<unknown>>;
  readonly wait: (waiter: Session) => Promise<unknown>;
}

const RARELY = { pause: '1h' } as const;
const FULL = { limit: 1 };
const lock: Way['wait'] = (waiter) => waiter.lock('k', RARELY);
const permit: Way['wait'] = (waiter) => waiter.permit('s', { ...FULL, ...RARELY });

/** Its answer is lost, and so is the store until it fails. The heartbeats of its session give it back. */
const unresolved =
  (take: (holder: Session) => Promise<unknown>): Way['take'] =>
  async (holder, { driver }) => {
    loseNextAnswer(driver, async () => {
      driver.isDown = true;
    });
    await expect(take(holder)).rejects.toMatchObject({ applied: 'unknown' });
    driver.isDown = false;
    return () => Promise.resolve();
  };

const WAYS: Readonly<Record<string, Way>> = {
  'a lock that is released': {
    take: async (holder) => {
      const held = await holder.lock('k');
      return () => held.release();
    },
    wait: lock,
  },
  'a lock that was taken with others': {
    take: async (holder) => {
      const held = await holder.lockAll(['j', 'k']);
      return () => held.release();
    },
    wait: lock,
  },
  'a lock whose session ends': {
    take: async (holder) => {
      await holder.lock('k');
      return () => holder.end();
    },
    wait: lock,
  },
  'a lock whose session ends, and deletes its entry': {
    take: async (_holder, { leasehold }) => {
      const deleting = await leasehold.session({ ttl: '30s', behavior: 'delete' });
      await deleting.lock('k', { value: 'v' });
      return () => deleting.end();
    },
    wait: lock,
  },
  'a lock that was taken without an answer': { take: unresolved((holder) => holder.tryLock('k')), wait: lock },
  leadership: {
    take: async (holder) => {
      const leadership = await holder.campaign('e');
      return () => leadership.resign();
    },
    wait: (waiter) => waiter.campaign('e', RARELY),
  },
  'a permit that is released': {
    take: async (holder) => {
      const held = await holder.permit('s', FULL);
      return () => held.release();
    },
    wait: permit,
  },
  'a permit that was taken without an answer': {
    take: async (holder, here) => {
      await (await holder.permit('s', FULL)).release();
      return unresolved((one) => one.tryPermit('s', FULL))(holder, here);
    },
    wait: permit,
  },
  'a slot of a limiter': {
    take: async (holder) => {
      const limiter = holder.limiter('l', FULL);
      const id = await limiter.add();
      return () => limiter.done(id ?? '');
    },
    wait: (waiter) => waiter.limiter('l', { ...FULL, ...RARELY }).add(),
  },
};

test.each(Object.entries(WAYS))('%s', async (_what, { take, wait }) => {
  const world = simulatedWorld();
  const here = world.start();
  const holder = await here.leasehold.session({ ttl: '30s' });
  const waiter = await here.leasehold.session({ ttl: '10m' });
  const free = await passTime(world, take(holder, here));
  let isServed = false;
  const waiting = wait(waiter).then(() => {
    isServed = true;
  });
  await world.clock.advance(0);
  expect(isServed).toBe(false);

  await free();
  await world.clock.advance(11_000);

  expect(isServed).toBe(true);
  await waiting;
});
