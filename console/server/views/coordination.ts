/** Locks and semaphores by name, as the library's clients list them: the first hundred of each, and the rest by prefix. */
import { take } from '../../../shared/core/runtime/take.ts';
import type { SemaphoreState } from '../../../shared/coordination/semaphore/state.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { LockPage, SemaphorePage } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';

const LOCKS_SHOWN = 100;
const SEMAPHORES_SHOWN = 50;

export async function readLocks(connection: ConsoleConnection, prefix: string): Promise<Priced<LockPage>> {
  const { leasehold, spent } = connection.open();
  const { rows: locks, more: isMore } = await take(leasehold.locks.list(prefix), LOCKS_SHOWN);
  return { value: { now: connection.now(), locks, isMore }, units: spent() };
}

export async function readSemaphores(connection: ConsoleConnection, prefix: string): Promise<Priced<SemaphorePage>> {
  const { leasehold, spent } = connection.open();
  // Names first, because hidden ones are not read.
  const { rows: names, more: isMore } = await take(leasehold.semaphores.list(prefix), SEMAPHORES_SHOWN);
  const semaphores: SemaphoreState[] = [];
  for (const name of names) {
    const state = await leasehold.semaphores.get(name);
    if (state !== undefined) semaphores.push(state);
  }
  return { value: { now: connection.now(), semaphores, isMore }, units: spent() };
}
