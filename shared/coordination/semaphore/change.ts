import { stampOf } from '../../core/lease/write.ts';
import { capacityOf, partName, partsFor, queueOfFleet } from '../../core/permit-parts.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { SemaphoreRecord } from './semaphore.ts';
import { describeSemaphore, validLimit, withDeclared, withLimit } from './semaphore.ts';
import type { DeclaringStore, NewSemaphore } from './semaphore-store.ts';

interface ChangePorts {
  readonly semaphores: DeclaringStore;
  readonly runtime: Runtime;
}

type Change = (semaphore: SemaphoreRecord) => SemaphoreRecord;

const PARTS_IN_FLIGHT = 10;

/**
 * Sets the limit that contenders must agree on, and creates the semaphore if it is missing; one read if nothing changes.
 * A fleet's limit is dealt over its parts: the first part decides which limit is in effect, and the others follow.
 * A change that is cut off in the middle is completed by the next call.
 * @throws ConfigurationError
 */
export async function declareLimit(name: string, limit: number, ports: ChangePorts): Promise<void> {
  validLimit(describeSemaphore(name), limit);
  const queue = queueOfFleet(name);
  if (queue === undefined) {
    await declareRow({ name, limit }, (row) => declaring(row, limit), ports);
    return;
  }
  const parts = await ports.semaphores.parts(queue, { consistent: true });
  const known = new Map(parts.map((part) => [part.name, part]));
  const head = known.get(name);
  const { limit: inEffect } =
    head?.declared === limit ? head : await declareRow({ name, limit }, (row) => declaring(row, limit), ports);
  const needed = Array.from({ length: partsFor(inEffect) }, (_, part) => partName(queue, part));
  const others = [...new Set([...needed, ...known.keys()])].filter((part) => {
    const row = known.get(part);
    return part !== name && (row?.declared !== limit || row.limit !== inEffect);
  });
  const dealt = (row: SemaphoreRecord): SemaphoreRecord =>
    row.declared === limit && row.limit === inEffect ? row : withLimit({ ...row, declared: limit }, inEffect);
  const falls = (part: string): boolean => {
    const row = known.get(part);
    return row !== undefined && capacityOf({ ...row, limit: inEffect }) < capacityOf(row);
  };
  for (const round of [others.filter(falls), others.filter((part) => !falls(part))]) {
    const run = inFlight(PARTS_IN_FLIGHT);
    await allOf(round.map((part) => run(() => declareRow({ name: part, limit, inEffect }, dealt, ports))));
  }
}

function declaring(row: SemaphoreRecord, limit: number): SemaphoreRecord {
  return row.declared === limit ? row : withDeclared(row, limit);
}

async function declareRow(wanted: NewSemaphore, change: Change, ports: ChangePorts): Promise<SemaphoreRecord> {
  const { semaphores, runtime } = ports;
  const changed = await changeSemaphore(wanted.name, change, ports);
  if (changed !== undefined) return changed;
  const created = await semaphores.create(wanted, undefined, stampOf(runtime));
  return created.kind === 'applied' ? created.row : declareRow(wanted, change, ports);
}

/**
 * Replaces a semaphore with the result of `change`. Retries if another write came between the read and the write.
 * @param change returns the same object if nothing must change
 * @returns the row's current content; undefined if there is no row
 */
export async function changeSemaphore(
  name: string,
  change: Change,
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
