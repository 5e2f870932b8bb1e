/** Reads a semaphore without changing it. */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionRecord, Verdict } from '../../session/session-record.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { Eviction, HolderRecord, SemaphoreRecord, Ticket } from './semaphore.ts';
import { permitsHeld } from './semaphore.ts';

export interface SemaphoreState {
  readonly name: string;
  /** The limit in effect. */
  readonly limit: number;
  /** The limit that contenders must declare. */
  readonly declared: number;
  /** Permits of holders that have not expired: the capacity that a contender would find taken. */
  readonly inUse: number;
  /** Number of holders that have not expired. */
  readonly live: number;
  /** All holders in the row, in the order of their admission. */
  readonly holders: readonly HolderState[];
  /** The queue of fair contenders, in order. */
  readonly waiting: readonly Ticket[];
  readonly lastEviction: Eviction | undefined;
}

/** A holder, and the state of its session. */
export interface HolderState extends HolderRecord {
  /** The session's name and node, for display; absent if its row is gone or damaged. */
  readonly sessionName: string | undefined;
  readonly node: string | undefined;
  readonly standing: Verdict['kind'];
}

/** Makes one read, of the sessions of its holders; none if there are no holders. */
export async function judgeSemaphore(
  row: SemaphoreRecord,
  { maxClockSkewMs }: { readonly maxClockSkewMs: number },
  ports: { readonly sessions: Pick<SessionStore, 'getMany'>; readonly runtime: Runtime },
): Promise<SemaphoreState> {
  const ids = new Set(row.holders.map(({ session }) => session));
  const damaged = new Set<string>();
  const noteDamage = (id: string): void => {
    damaged.add(id);
  };
  const sessions: ReadonlyMap<string, SessionRecord> =
    ids.size === 0 ? new Map() : await ports.sessions.getMany([...ids], noteDamage);
  const now = ports.runtime.clock.now();
  const holders = row.holders
    .map((holder): HolderState => {
      const session = sessions.get(holder.session);
      const verdict: Verdict = damaged.has(holder.session)
        ? { kind: 'damaged' }
        : judgeSession(session, now, maxClockSkewMs);
      const standing = verdictOnHolder(holder, verdict, now - maxClockSkewMs);
      return { ...holder, sessionName: session?.name, node: session?.node, standing };
    })
    .sort((one, other) => one.token - other.token);
  const live = holders.filter(isAlive);
  const { name, limit, declared, waiting, lastEviction } = row;
  return { name, limit, declared, inUse: permitsHeld(live), live: live.length, holders, waiting, lastEviction };
}

/** An eviction counts like a session that was invalidated: closed for its lock-delay, then free. */
function verdictOnHolder({ closedUntil }: HolderRecord, session: Verdict, openBefore: number): Verdict['kind'] {
  if (closedUntil === undefined || session.kind === 'free') return session.kind;
  return openBefore < closedUntil ? 'closed' : 'free';
}

function isAlive({ standing }: HolderState): boolean {
  return standing !== 'free' && standing !== 'expired';
}
