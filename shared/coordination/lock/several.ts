/**
 * Acquires several keys: reads and judges the rows, then acquires them in one transaction that depends on the rows as read.
 * A waiter for several keys does not hold a key, so it cannot deadlock.
 */
import { ensureClockWithin } from '../../core/lease/skew.ts';
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { Attempt, KeyContender } from './lock-contender.ts';
import { ATTEMPT_ROUNDS_LIMIT, lockLimitsOf } from './lock-contender.ts';
import type { HeldLock, Refusal } from './lock-record.ts';
import { grantedRow, opensAt } from './lock-record.ts';
import type { LockPorts } from './lock-verdict.ts';
import { lockVerdictOf } from './lock-verdict.ts';
import type { UnresolvedKeys } from './unresolved-keys.ts';
import type { AcquireRequest, LockWish, Observed } from './lock-store.ts';

/** DynamoDB's limit on the actions of one transaction. */
export const KEYS_LIMIT = 100;

export class SeveralContender implements KeyContender<readonly HeldLock[]> {
  readonly key: string;
  readonly #keys: readonly string[];
  readonly #wish: LockWish;
  readonly #session: SessionHolder;
  readonly #ports: LockPorts & { readonly unresolved: UnresolvedKeys };
  readonly #maxClockSkewMs: number;

  /** @param keys without duplicates, and without keys that the session knowingly holds */
  constructor(
    keys: readonly string[],
    wish: LockWish,
    session: SessionHolder,
    ports: LockPorts & { readonly unresolved: UnresolvedKeys },
  ) {
    this.#keys = keys;
    this.key = JSON.stringify(keys);
    this.#wish = wish;
    this.#session = session;
    this.#ports = ports;
    this.#maxClockSkewMs = session.timing.maxClockSkewMs;
  }

  async attempt(): Promise<Attempt<readonly HeldLock[]>> {
    const { runtime, gauge } = this.#ports;
    for (let round = 1; round <= ATTEMPT_ROUNDS_LIMIT; round++) {
      ensureClockWithin(gauge, this.#maxClockSkewMs);
      const observed = await this.#observe();
      const refusal = observed.find((found) => 'refusal' in found)?.refusal;
      if (refusal !== undefined) return refusal;
      const free = observed as readonly Observed[];
      const stamp = stampOf(runtime);
      const openBefore = stamp.now - this.#maxClockSkewMs;
      const request = { session: this.#session.id, ...this.#wish, openBefore };
      if (!(await this.#send(free, request, stamp))) continue;
      this.#session.ensureTrusted();
      return { kind: 'acquired', right: free.map((row) => grantedRow(row, request, stamp)) };
    }
    return { kind: 'contended', key: this.#keys[0] ?? '' };
  }

  async #send(free: readonly Observed[], request: Omit<AcquireRequest, 'key'>, stamp: Stamp): Promise<boolean> {
    const { locks, unresolved } = this.#ports;
    const noteUnresolved = (): void => {
      for (const { key, record } of free)
        unresolved.add(key, { kind: 'together', askedAt: stamp.now, nonce: record?.nonce });
    };
    try {
      const outcome = await locks.acquireAll(free, request, stamp, lockLimitsOf(this.#session));
      if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') noteUnresolved();
      return outcome.kind === 'applied';
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') noteUnresolved();
      throw error;
    }
  }

  /** An attempt reads before it writes, so there is no cheaper poll. */
  read(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async #observe(): Promise<readonly (Observed | { readonly refusal: Refusal })[]> {
    const { locks, sessions } = this.#ports;
    const rows = await locks.getMany(this.#keys);
    for (const key of this.#keys) this.#ports.unresolved.see(key, rows.get(key));
    const holders = new Set([...rows.values()].flatMap((row) => (row.state === 'held' ? [row.session] : [])));
    holders.delete(this.#session.id);
    const records = holders.size === 0 ? new Map<string, never>() : await sessions.getMany([...holders]);
    const found: (Observed | { readonly refusal: Refusal })[] = [];
    // One after the other, so that the session of an expired holder of several keys is ended only once.
    for (const key of this.#keys) {
      const record = rows.get(key);
      if (record?.state !== 'held' || record.session === this.#session.id) {
        const until = opensAt(record?.notBefore ?? 0, this.#maxClockSkewMs);
        found.push(this.#refusedUntil(key, until) ?? { key, record, isFresh: false });
        continue;
      }
      const standing = await lockVerdictOf(record, records.get(record.session), this.#ports, this.#maxClockSkewMs);
      if (standing.kind === 'held') found.push({ refusal: { kind: 'held', key, by: standing.by } });
      else
        found.push(
          this.#refusedUntil(key, standing.openAt) ?? {
            key,
            record,
            isFresh: standing.disposition.behaviour === 'delete',
          },
        );
    }
    return found;
  }

  #refusedUntil(key: string, until: number): { readonly refusal: Refusal } | undefined {
    const isClosed = this.#ports.runtime.clock.now() < until;
    return isClosed ? { refusal: { kind: 'delayed', key, until } } : undefined;
  }
}
