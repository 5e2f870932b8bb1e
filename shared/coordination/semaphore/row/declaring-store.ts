/**
 * Reads semaphores and declares their limits. A separate module, because the functions that start workers need only this and must have
 * small bundles.
 */
import type { DeclaringStore } from '../semaphore-store.ts';
import { decodeSemaphore } from './semaphore-codec.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { createSemaphore, readSemaphore, replaceSemaphore } from './semaphore-statements.ts';

export function createDeclaringStore(sender: Sender, table: string): DeclaringStore {
  const rows = new Rows(sender, decodeSemaphore);
  return {
    create: (semaphore, first, stamp, limits) =>
      rows.write(createSemaphore(table, semaphore, first, stamp), stamp, limits),

    replace: (observed, next, stamp, limits) =>
      rows.write(replaceSemaphore(table, observed, next, stamp), stamp, limits),

    get: (name) => rows.get(readSemaphore(table, name)),
  };
}
