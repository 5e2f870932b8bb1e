/**
 * Reads semaphores and fleets, and declares their limits.
 * A separate module, because the functions that start workers need only this and must have small bundles.
 */
import { parsePart } from '../../../core/permit-parts.ts';
import type { SemaphoreRecord } from '../semaphore.ts';
import type { DeclaringStore } from '../semaphore-store.ts';
import { decodeSemaphore } from './semaphore-codec.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { createSemaphore, partsOfPermits, readSemaphore, replaceSemaphore } from './semaphore-statements.ts';

export function createDeclaringStore(sender: Sender, table: string): DeclaringStore {
  const rows = new Rows(sender, decodeSemaphore);
  return {
    create: (semaphore, first, stamp, limits) =>
      rows.write(createSemaphore(table, semaphore, first, stamp), stamp, limits),

    replace: (observed, next, stamp, limits) =>
      rows.write(replaceSemaphore(table, observed, next, stamp), stamp, limits),

    get: (name) => rows.get(readSemaphore(table, name)),

    async parts(queue, { consistent }) {
      const { Items = [] } = await sender.read(partsOfPermits(table, queue, consistent));
      return Items.map(decodeSemaphore).toSorted((one, other) => partOf(one) - partOf(other));
    },
  };
}

function partOf({ name }: SemaphoreRecord): number {
  return parsePart(name)?.part ?? 0;
}
