/** Lists that one read fills: locks and semaphores by name, the rest of them by prefix; operator actions; and what an act would cancel. */
import { take } from '../../../shared/core/runtime/take.ts';
import type { SemaphoreState } from '../../../shared/coordination/semaphore/state.ts';
import type { Selection } from '../../../shared/tasks/queue/cancel-selection.ts';
import { selecting } from '../../../shared/tasks/queue/cancel-selection.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { AuditPage, LockPage, SelectedPage, SemaphorePage } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';

const LOCKS_SHOWN = 100;
const SEMAPHORES_SHOWN = 50;
const ACTS_SHOWN = 100;
/** Half a read unit each. */
const CHECKED_AT_MOST = 10_000;

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

/** Operator actions, the latest first. */
export async function readAudit(connection: ConsoleConnection): Promise<Priced<AuditPage>> {
  const { audit, spent } = connection.open();
  const { rows: acts, more: isMore } = await take(audit.list(), ACTS_SHOWN);
  return { value: { now: connection.now(), acts, isMore }, units: spent() };
}

/** Counts the unfinished tasks that an operator is about to cancel. */
export async function readSelected(
  connection: ConsoleConnection,
  queue: string,
  selection: Selection,
): Promise<Priced<SelectedPage>> {
  const { leasehold, spent } = connection.open();
  const open = leasehold.operator.open({ queue, shards: connection.options.shards });
  const { rows, more: isMore } = await take(open, CHECKED_AT_MOST);
  const chosen = rows.filter(selecting(selection));
  const running = chosen.filter(({ state }) => state === 'running').length;
  return { value: { waiting: chosen.length - running, running, isMore }, units: spent() };
}
