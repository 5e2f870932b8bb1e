/** Releases permits and abandons claims, so that a late copy of an earlier request takes nothing. */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome, WriteLimits } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { WaiterQueue } from '../../core/wait/waiter-queue.ts';
import type { PermitRecord, SemaphoreRecord } from './semaphore.ts';
import type { SemaphoreStore } from './semaphore-store.ts';

export interface GiveBackPorts {
  readonly semaphores: SemaphoreStore;
  readonly runtime: Runtime;
  readonly line?: Pick<WaiterQueue<unknown>, 'wake'> | undefined;
}

/**
 * At this number of marks, the caller that adds a mark folds them. If its write loses to another, the next fold follows four marks later.
 */
const FOLD_FROM = 8;
const FOLD_EACH = 4;

/**
 * Makes one request, one more at every eighth release to fold the marks, and one more if another process has released later for the same
 * session.
 * @param left the latest moment that this process knows of the session's released permits
 */
export async function giveBackPermit(
  name: string,
  permit: PermitRecord,
  left: number,
  ports: GiveBackPorts,
  limits?: WriteLimits,
): Promise<Outcome<SemaphoreRecord>> {
  const { semaphores, runtime, line } = ports;
  const outcome = await semaphores.release(name, { permit, left }, stampOf(runtime), limits);
  if (outcome.kind === 'applied') {
    line?.wake(name);
    await foldMarks(outcome.row, ports, limits);
    return outcome;
  }
  const later = outcome.current?.left[permit.session] ?? 0;
  const isThere = outcome.current?.holders.some(({ token }) => token === permit.token) === true;
  if (isThere && left < later) return giveBackPermit(name, permit, later, ports, limits);
  line?.wake(name);
  return outcome;
}

/** Whether the next write should fold the marks if it can. */
export function shouldFold({ left }: SemaphoreRecord): boolean {
  return Object.keys(left).length >= FOLD_FROM;
}

/** Keeps the row small. Losing to another writer is not an error, because that writer saw the current row. */
async function foldMarks(
  row: SemaphoreRecord | undefined,
  { semaphores, runtime }: GiveBackPorts,
  limits?: WriteLimits,
): Promise<void> {
  if (row === undefined || !shouldFold(row) || Object.keys(row.left).length % FOLD_EACH !== 0) return;
  try {
    await semaphores.replace(row, row, stampOf(runtime), limits);
  } catch (error) {
    // The permit is released. The next release folds the marks.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}
