/**
 * Permits and places of a session that no code of its process knows: a lost answer leaves them, or a request that arrives late.
 *
 * Nothing in the row could refuse a late admission without doubling the price of every contended permit. So its session looks: with its
 * heartbeats, for as long as such a request may still arrive,
 * and gives back what is not in its book. One read unit a look, per 4 KB of the row.
 */
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { limitsOf } from '../../session/limits.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { Turns } from '../../core/wait/turns.ts';
import { changeSemaphore } from './change.ts';
import { PermitBook } from './permit-book.ts';
import type { HolderRecord, Ticket } from './semaphore.ts';
import { describeSemaphore } from './semaphore.ts';
import type { SemaphoreStore } from './semaphore-store.ts';

export interface OrphanPorts {
  readonly semaphores: SemaphoreStore;
  readonly runtime: Runtime;
  readonly line?: Pick<Turns<unknown>, 'wake'> | undefined;
}

/** DynamoDB rejects a request whose signature is older, so it can no longer be applied. */
const LATEST_ARRIVAL_MS = 15 * 60_000;

/** An answer about this semaphore was lost just now. */
export function giveBackOrphans(name: string, session: SessionHolder, ports: OrphanPorts): void {
  const { clock } = ports.runtime;
  const until = clock.monotonic() + LATEST_ARRIVAL_MS;
  session.settleLater(describeSemaphore(name), async () => {
    await giveBack(name, session, ports);
    return clock.monotonic() >= until;
  });
}

/** Before a caller is told that there is no room: what earlier calls of its session left without knowing is not held any more. */
export async function giveBackNow(name: string, session: SessionHolder, ports: OrphanPorts): Promise<void> {
  if (session.isUndecided(describeSemaphore(name))) await giveBack(name, session, ports);
}

async function giveBack(name: string, session: SessionHolder, ports: OrphanPorts): Promise<void> {
  const { semaphores, runtime, line } = ports;
  const row = await semaphores.get(name);
  const book = PermitBook.of(session);
  const isOrphan = (claim: HolderRecord | Ticket): boolean => claim.session === session.id && !book.knows(claim);
  const permits = row?.holders.filter(isOrphan) ?? [];
  for (const permit of permits) await semaphores.release(name, permit, stampOf(runtime), limitsOf(session));
  const hasPlace = row?.waiting.some(isOrphan) === true;
  if (hasPlace)
    await changeSemaphore(
      name,
      (found) =>
        found.waiting.some(isOrphan)
          ? { ...found, waiting: found.waiting.filter((ticket) => !isOrphan(ticket)) }
          : found,
      ports,
    );
  if (hasPlace || permits.length > 0) line?.wake(name);
}
