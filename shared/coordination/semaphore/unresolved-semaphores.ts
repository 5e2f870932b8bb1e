/**
 * Unresolved semaphores: a response was lost, so the row may contain a permit or a queue entry that the session's process does not know.
 * `unresolved-keys.ts` has the same for the keys of locks.
 *
 * One read and one write settle this: the write removes entries that are not in the session's book, bars its blind requests, and changes
 * the revision that requests in flight name. The session's heartbeats retry it until the store responds.
 */
import { stampOf } from '../../core/lease/write.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { changeSemaphore } from './change.ts';
import type { GiveBackPorts } from './give-back.ts';
import { PermitBook } from './permit-book.ts';
import { describeSemaphore, withLeft, withoutDead } from './semaphore.ts';

/** An unresolved semaphore. Its limit is known if a create may be in flight. */
export interface UnresolvedSemaphore {
  readonly name: string;
  readonly limit?: number;
}

/** Notes that a response about this semaphore was lost. */
export function settleLater(semaphore: UnresolvedSemaphore, session: SessionHolder, ports: GiveBackPorts): void {
  session.settleLater(describeSemaphore(semaphore.name), async () => {
    await settle(semaphore, session, ports);
    return true;
  });
}

/** Runs before a caller gets "full": releases permits that earlier calls of its session left unresolved. */
export async function settleNow(
  semaphore: UnresolvedSemaphore,
  session: SessionHolder,
  ports: GiveBackPorts,
): Promise<void> {
  if (session.isUndecided(describeSemaphore(semaphore.name))) await settle(semaphore, session, ports);
}

async function settle(semaphore: UnresolvedSemaphore, session: SessionHolder, ports: GiveBackPorts): Promise<void> {
  const { name, limit } = semaphore;
  const book = PermitBook.of(session);
  const { id } = session;
  const settled = await changeSemaphore(
    name,
    (row) =>
      withLeft(
        withoutDead(row, (claim) => claim.session === id && !book.knows(claim), -Infinity),
        [{ session: id, since: book.left, permits: 0 }],
      ),
    ports,
  );
  ports.line?.wake(name);
  if (settled !== undefined || limit === undefined) return;
  // A create that is in flight will find this row, without a holder.
  await ports.semaphores.create({ name, limit }, undefined, stampOf(ports.runtime));
  await settle(semaphore, session, ports);
}
