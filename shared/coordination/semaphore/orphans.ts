/**
 * What a session left in doubt at a semaphore, because an answer was lost: a permit or a place that no code of its process knows.
 *
 * One read and one write settle it: the write takes out what is not in the session's book, bars its blind requests, and has another
 * revision than those under way. Tried with the session's heartbeats until it is answered.
 */
import { stampOf } from '../../core/lease/stamp.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { changeSemaphore } from './change.ts';
import type { GiveBackPorts } from './give-back.ts';
import { PermitBook } from './permit-book.ts';
import { describeSemaphore, withLeft, withoutDead } from './semaphore.ts';

/** A semaphore in doubt; its limit is known if a create may be under way. */
export interface DoubtfulSemaphore {
  readonly name: string;
  readonly limit?: number;
}

/** An answer about this semaphore was lost just now. */
export function settleLater(semaphore: DoubtfulSemaphore, session: SessionHolder, ports: GiveBackPorts): void {
  session.settleLater(describeSemaphore(semaphore.name), async () => {
    await settle(semaphore, session, ports);
    return true;
  });
}

/** Before a caller is told that there is no room: what earlier calls of its session left in doubt is not held any more. */
export async function settleNow(
  semaphore: DoubtfulSemaphore,
  session: SessionHolder,
  ports: GiveBackPorts,
): Promise<void> {
  if (session.isUndecided(describeSemaphore(semaphore.name))) await settle(semaphore, session, ports);
}

async function settle(semaphore: DoubtfulSemaphore, session: SessionHolder, ports: GiveBackPorts): Promise<void> {
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
  // A create that is under way finds this one, with no holder.
  await ports.semaphores.create({ name, limit }, undefined, stampOf(ports.runtime));
  await settle(semaphore, session, ports);
}
