import { allOf } from '../core/runtime/all-of.ts';
import type { SessionPorts, SessionVerdict } from './session-contender.ts';
import { settleSession } from './session-contender.ts';

/** Recheck interval of a live session, because it may end before its expiry. At its expiry it is rechecked in any case. */
const RECHECK_MS = 2_000;

interface Finding {
  readonly standing: SessionVerdict;
  readonly recheckAt: number;
}

/** Remembers the state of the sessions that block one waiter, so that live ones are not read at every poll. */
export class SessionVerdicts {
  readonly #ports: SessionPorts;
  readonly #maxClockSkewMs: number;
  readonly #findings = new Map<string, Finding>();

  constructor(ports: SessionPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
  }

  /** Judges sessions and ends expired ones: one batch read of unknown sessions, and one write per expired session. */
  async judge(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, SessionVerdict>> {
    const { sessions, runtime } = this.#ports;
    const due = [...ids].filter((id) => (this.#findings.get(id)?.recheckAt ?? 0) <= runtime.clock.now());
    const damaged = new Set<string>();
    const records =
      due.length === 0
        ? undefined
        : await sessions.getMany(due, (id) => {
            damaged.add(id);
          });
    await allOf(
      due.map(async (id) => {
        const standing: SessionVerdict = damaged.has(id)
          ? { kind: 'damaged' }
          : await settleSession(records?.get(id), this.#ports, this.#maxClockSkewMs);
        this.#findings.set(id, { standing, recheckAt: recheckAt(standing, runtime.clock.now()) });
      }),
    );
    return new Map([...this.#findings].filter(([id]) => ids.has(id)).map(([id, { standing }]) => [id, standing]));
  }
}

/** The earliest time at which one of them can have expired, by our clock; `null` if unknown. */
export function earliestEnd(standings: ReadonlyMap<string, SessionVerdict>): number | null {
  const ends = [...standings.values()].map(endOf).filter((end) => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** An ended session stays ended. */
function recheckAt(standing: SessionVerdict, now: number): number {
  return standing.kind === 'free' ? Infinity : Math.min(endOf(standing) ?? Infinity, now + RECHECK_MS);
}

function endOf(standing: SessionVerdict): number | null {
  return standing.kind === 'live' || standing.kind === 'closed' ? standing.until : null;
}
