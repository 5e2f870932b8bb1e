/** Locks and semaphores by name, as the library's clients list them: the first hundred of each, and the rest by prefix. */
import type { LockInfo } from '../../shared/lock/lock.ts';
import type { SemaphoreState } from '../../shared/semaphore/state.ts';
import type { Desk } from '../desk.ts';
import type { LockPage, SemaphorePage } from '../model.ts';
import type { Priced } from '../shared-look.ts';

const LOCKS_SHOWN = 100;
const SEMAPHORES_SHOWN = 50;

export async function lookAtLocks(desk: Desk, prefix: string): Promise<Priced<LockPage>> {
  const { leasehold, spent } = desk.open();
  const locks: LockInfo[] = [];
  let isMore = false;
  for await (const lock of leasehold.locks.list(prefix)) {
    isMore = locks.length === LOCKS_SHOWN;
    if (isMore) break;
    locks.push(lock);
  }
  return { value: { now: desk.now(), locks, isMore }, units: spent() };
}

export async function lookAtSemaphores(desk: Desk, prefix: string): Promise<Priced<SemaphorePage>> {
  const { leasehold, spent } = desk.open();
  const semaphores: SemaphoreState[] = [];
  let isMore = false;
  for await (const name of leasehold.semaphores.list(prefix)) {
    isMore = semaphores.length === SEMAPHORES_SHOWN;
    if (isMore) break;
    const state = await leasehold.semaphores.read(name);
    if (state !== undefined) semaphores.push(state);
  }
  return { value: { now: desk.now(), semaphores, isMore }, units: spent() };
}
