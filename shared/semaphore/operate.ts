/** What an operator, or a deployment, does to a semaphore: change its limit, take a permit away. */
import type { Duration } from '../validate/duration.ts';
import { givenMs } from '../validate/duration.ts';
import { validName } from '../validate/name.ts';
import { validOptions } from '../validate/options.ts';
import { stampOf } from '../lease/stamp.ts';
import { MAX_LOCK_DELAY_MS } from '../lease/timing.ts';
import { contended, retryContended } from '../wait/retry-contended.ts';
import type { SemaphorePorts } from './contender.ts';
import { changeSemaphore } from './change.ts';
import type { HolderRecord, SemaphoreRecord } from './semaphore.ts';
import { describeSemaphore, validLimit, withDeclared, withLimit } from './semaphore.ts';

/**
 * Sets the limit in effect, whatever contenders declare; `'declared'` goes back to that.
 * Lowering it takes no permit away: no contender is admitted until enough permits have come back.
 * @returns undefined when there is no such semaphore
 */
export function setLimit(
  name: string,
  limit: number | 'declared',
  ports: SemaphorePorts,
): Promise<SemaphoreRecord | undefined> {
  const what = describeSemaphore(validName('semaphore', name));
  if (limit !== 'declared') validLimit(what, limit);
  return changeSemaphore(
    name,
    (row) => {
      const wanted = limit === 'declared' ? row.declared : limit;
      return row.limit === wanted ? row : withLimit(row, wanted);
    },
    ports,
  );
}

/**
 * Changes the limit that contenders must agree on, as a deployment does; makes the semaphore if there is none.
 * Contenders that still declare the old one are refused with a `MismatchError`; those who are in stay in.
 */
export async function declareLimit(name: string, limit: number, ports: SemaphorePorts): Promise<SemaphoreRecord> {
  validLimit(describeSemaphore(validName('semaphore', name)), limit);
  const change = (row: SemaphoreRecord): SemaphoreRecord => (row.declared === limit ? row : withDeclared(row, limit));
  const changed = await changeSemaphore(name, change, ports);
  if (changed !== undefined) return changed;
  const created = await ports.semaphores.create({ name, limit }, undefined, stampOf(ports.runtime));
  return created.kind === 'applied' ? created.row : declareLimit(name, limit, ports);
}

export interface EvictionOptions {
  /** Which permit: as `holders` of the semaphore's state has it. */
  readonly token: number;
  readonly by: string;
  readonly reason: string;
  /** How long its room stays closed, so that the ousted holder can notice; absent: the lock-delay of its session. */
  readonly lockDelay?: Duration | undefined;
}

const EVICTION_OPTIONS = { token: true, by: true, reason: true, lockDelay: true } as const;

/**
 * Takes a permit away from its holder, and writes down who did it and why.
 * A live holder is told by its session's next heartbeat: its permit's signal aborts, and when it releases, its room is free at once.
 * @returns what was taken away, and until when its room is closed at most; undefined when no such permit is held
 * @throws ConfigurationError without a name or a reason
 */
export async function evictPermit(
  name: string,
  options: EvictionOptions,
  ports: SemaphorePorts,
): Promise<HolderRecord | undefined> {
  validName('semaphore', name);
  const { token, by, reason, lockDelay } = validOptions('the options of an eviction', options, EVICTION_OPTIONS);
  validName('by', by);
  validName('reason', reason);
  const askedMs = givenMs('lockDelay', lockDelay);
  return retryContended(describeSemaphore(name), CONTENTION, async () => {
    const row = await ports.semaphores.get(name);
    const holder = row?.holders.find((candidate) => candidate.token === token && candidate.closedUntil === undefined);
    if (holder === undefined) return undefined;
    const { isLive, lockDelayMs } = await sessionOf(holder, ports);
    const eviction = { by, reason, lockDelayMs: askedMs ?? lockDelayMs, isLive };
    // Refused: it was released, or its session ended, in between. Either is seen by looking again.
    const outcome = await ports.semaphores.evict(name, holder, eviction, stampOf(ports.runtime));
    return outcome.kind === 'applied' ? { ...holder, closedUntil: outcome.closedUntil } : contended();
  });
}

/** Each round but the last was lost to the holder itself. */
const CONTENTION = { rounds: 10 };

/** The holder of a session whose row is damaged cannot be told, and is given the longest time there is. */
async function sessionOf(
  { session: id }: HolderRecord,
  { sessions }: SemaphorePorts,
): Promise<{ readonly isLive: boolean; readonly lockDelayMs: number }> {
  const found = { isDamaged: false };
  const records = await sessions.getMany([id], () => {
    found.isDamaged = true;
  });
  if (found.isDamaged) return { isLive: false, lockDelayMs: MAX_LOCK_DELAY_MS };
  const session = records.get(id);
  return { isLive: session?.status === 'live', lockDelayMs: session?.lockDelayMs ?? 0 };
}
