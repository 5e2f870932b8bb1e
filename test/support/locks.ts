/** What tests about locks begin with: two processes with a session each, and an unused key. */
import type { Lock, LockOptions } from '../../shared/coordination/lock/lock.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from './coordination.ts';

export const TTL = '30s';
export const TTL_MS = 30_000;
export const LOCK_DELAY_MS = 15_000;
export const SKEW_MS = 1_000;

interface LockWorld {
  readonly world: World;
  readonly one: Process;
  readonly other: Process;
  readonly mine: Session;
  readonly theirs: Session;
  readonly key: string;
}

let count = 0;

export async function openLockWorld(world: World): Promise<LockWorld> {
  const [one, other] = [world.start(), world.start()];
  const mine = await one.leasehold.session({ ttl: TTL });
  const theirs = await other.leasehold.session({ ttl: TTL });
  return { world, one, other, mine, theirs, key: `key-${++count}` };
}

export async function acquireNow(session: Session, key: string, options: LockOptions = {}): Promise<Lock> {
  const acquisition = await session.tryLock(key, options);
  if (acquisition.kind !== 'acquired') throw new Error(`${key} was not acquired: ${JSON.stringify(acquisition)}`);
  return acquisition.lock;
}

/** A holder is gone without a word; the clock runs to where its session may be ended by others. */
export function outlive(world: World): void {
  world.clock.step(TTL_MS + SKEW_MS);
}
