/** Finds the expired holders and waiters of a full semaphore for a contender. */
import type { SessionPorts } from '../../session/session-contender.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { SessionVerdicts, earliestEnd } from '../../session/session-verdicts.ts';
import { PermitBook } from './permit-book.ts';
import type { HolderRecord, SemaphoreRecord, Ticket } from './semaphore.ts';
import { withoutDead } from './semaphore.ts';

interface Survey {
  /** The semaphore without its expired holders. */
  readonly pruned: SemaphoreRecord;
  /** Earliest time by our clock at which a live holder may be found expired, or an eviction opens; `null` if it is unknown. */
  readonly until: number | null;
}

export class SemaphoreInspector {
  readonly #session: SessionHolder;
  readonly #sessionVerdicts: SessionVerdicts;
  readonly #ports: SessionPorts;

  constructor(session: SessionHolder, ports: SessionPorts) {
    this.#session = session;
    this.#ports = ports;
    this.#sessionVerdicts = new SessionVerdicts(ports, session.timing.maxClockSkewMs);
  }

  async survey(semaphore: SemaphoreRecord): Promise<Survey> {
    const { id: mine, timing } = this.#session;
    const book = PermitBook.of(this.#session);
    const sessions = new Set([...semaphore.holders, ...semaphore.waiting].map(({ session }) => session));
    sessions.delete(mine);
    const standings = await this.#sessionVerdicts.judge(sessions);
    const isDead = (claim: HolderRecord | Ticket): boolean =>
      claim.session === mine ? !book.knows(claim) : standings.get(claim.session)?.kind === 'free';
    const openBefore = this.#ports.runtime.clock.now() - timing.maxClockSkewMs;
    const pruned = withoutDead(semaphore, isDead, openBefore);
    return { pruned, until: earliest([earliestEnd(standings), ...pruned.holders.map(opensAt)]) };

    function opensAt({ closedUntil }: HolderRecord): number | null {
      return closedUntil === undefined ? null : closedUntil + timing.maxClockSkewMs;
    }
  }
}

function earliest(moments: readonly (number | null)[]): number | null {
  const known = moments.filter((moment) => moment !== null);
  return known.length === 0 ? null : Math.min(...known);
}
