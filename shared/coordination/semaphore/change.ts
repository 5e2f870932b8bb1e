import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { SemaphoreRecord } from './semaphore.ts';
import { describeSemaphore, validLimit, withDeclared } from './semaphore.ts';
import type { DeclaringStore } from './semaphore-store.ts';

interface ChangePorts {
  readonly semaphores: DeclaringStore;
  readonly runtime: Runtime;
}

/**
 * Sets the limit that contenders must agree on, and creates the semaphore if it is missing; one read if nothing changes.
 * @throws ConfigurationError
 */
export async function declareLimit(name: string, limit: number, ports: ChangePorts): Promise<void> {
  validLimit(describeSemaphore(name), limit);
  const change = (row: SemaphoreRecord): SemaphoreRecord => (row.declared === limit ? row : withDeclared(row, limit));
  if ((await changeSemaphore(name, change, ports)) !== undefined) return;
  const created = await ports.semaphores.create({ name, limit }, undefined, stampOf(ports.runtime));
  if (created.kind !== 'applied') await declareLimit(name, limit, ports);
}

/**
 * Replaces a semaphore with the result of `change`. Retries if another write came between the read and the write.
 * @param change returns the same object if nothing must change
 * @returns the row's current content; undefined if there is no row
 */
export async function changeSemaphore(
  name: string,
  change: (semaphore: SemaphoreRecord) => SemaphoreRecord,
  ports: ChangePorts,
): Promise<SemaphoreRecord | undefined> {
  const { semaphores, runtime } = ports;
  let row = await semaphores.get(name);
  return retryContended(describeSemaphore(name), runtime, async ({ isAfterPause }) => {
    if (isAfterPause) row = await semaphores.get(name);
    if (row === undefined) return undefined;
    const next = change(row);
    if (next === row) return row;
    const outcome = await semaphores.replace(row, next, stampOf(runtime));
    if (outcome.kind === 'applied') return outcome.row;
    row = outcome.current;
    return contended(outcome);
  });
}
