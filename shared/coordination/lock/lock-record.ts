/**
 * A lock: the exclusive lease of one key, held by one session, with a small value.
 *
 * Guarantees
 *   - The row names at most one session at a time, and changes it only by a conditional write.
 *   - The lease counter grows with every acquire and with every forced release, and never restarts: no release, deletion
 *     or TTL brings a used token back.
 *   - A key whose session was invalidated, or that was force-released,
 *     stays closed for the lock-delay. The end of that time is in the row, so it does not depend
 *     on any process. An orderly release imposes no delay.
 *   - A superseded holder can change nothing, because all its writes name its session and its counter.
 *   - Callers of one session exclude each other within its process: each has its own tenure and counter. With
 *     `reentrant: true` they share one: the counter stays, and the value is replaced.
 *   - A held row has no TTL attribute, so TTL can never end a tenure.
 *
 * Does not guarantee
 *   - That a superseded holder has stopped; no lease can. Guard its writes with
 *     `lock.condition()` in a transaction, or a `Fence` of the lock.
 *   - Exclusion between processes that use one session, as Consul's clients may: in the row, a lock belongs to a session.
 *   - Fairness. Waiters in one process with the same `pause` are served in order; all others are not.
 *   - Protection from a client that does not use the lock. Locks are advisory.
 *   - That the store refuses an update by a holder as soon as its session is invalid. It does so once another process has taken over or
 *   settled
 *     the key.
 *
 *                      acquire · take over (counter + 1)
 *       free ─────────────────────────────────────────────▶ held ──┐ acquire again, update
 *        ▲  ▲                                                │ │ │ ◀┘
 *        │  └── release ─────────────────────────────────────┘ │ │
 *        │ notBefore passed                                    │ │
 *      closed ◀── release by force (counter + 1) ──────────────┘ │
 *        ▲                                                       │
 *        └── its session expired: seen by the next contender ────┘   behavior `delete`: the value goes too
 *
 * Clock: `notBefore` is the clock of the process that ended the tenure plus the lock-delay;
 * a contender adds the bound on clock differences.
 *
 * Cost of an uncontended cycle on an existing key: one request and one write unit to acquire, the same to release, per KB of the row.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { validName } from '../../core/validate/options.ts';
import type { Stamp } from '../../core/lease/write.ts';
import type { Opaque } from '../../session/session-record.ts';
import { defined } from '../../core/defined.ts';

/** The content of a key. It exists from the first acquire or put until it is deleted. */
export interface Entry {
  readonly value: string | undefined;
  /** Creation time. A different value means the entry was deleted and recreated. */
  readonly createdAt: number;
  /** Data of a Consul gateway, kept with the value. Opaque here. */
  readonly consul?: Opaque | undefined;
}

/** The operator who force-released the lock, and the reason. */
export interface ForcedRelease {
  readonly by: string;
  readonly reason: string;
  readonly at: number;
  /** The tenure that was ended. */
  readonly session: string;
  readonly leaseCounter: number;
}

interface LockFacts {
  readonly key: string;
  /** The fencing token of the last tenure; 0 before the first. */
  readonly leaseCounter: number;
  /** Grows with every write, and never restarts. */
  readonly modifyIndex: number;
  /** Absent after a deletion, when only the counter remains. */
  readonly entry: Entry | undefined;
  /** The key cannot be acquired before this time. 0: it is open. */
  readonly notBefore: number;
  /** Time when the last tenure ended; 0 without one. Never goes back. */
  readonly freedAt: number;
  readonly nonce: string;
  readonly lastForced: ForcedRelease | undefined;
}

export interface FreeLock extends LockFacts {
  readonly state: 'free';
}

export interface HeldLock extends LockFacts {
  readonly state: 'held';
  readonly session: string;
  readonly acquiredAt: number;
}

export type LockRecord = FreeLock | HeldLock;

/** Identifies a tenure. Every operation of its holder is conditional on it. */
export interface LockClaim {
  readonly key: string;
  readonly session: string;
  readonly leaseCounter: number;
}

/** The content of a key after a write. */
export interface Content {
  readonly value: string;
  readonly consul?: Opaque | undefined;
}

/** The session that holds a key, and the earliest time at which another can. */
export interface Holder {
  readonly session: string;
  readonly leaseCounter: number;
  /** The session's name and node: display only. */
  readonly name: string;
  readonly node: string;
  readonly since: number;
  /** When its session expires, unless it is renewed, as it usually is. `null`: only an operator can end it. */
  readonly until: number | null;
}

/** Why an acquire was refused. Contention is returned, not thrown. */
export type Refusal =
  | {
      readonly kind: 'held';
      readonly key: string;
      readonly by: Holder;
      /** Whether the calling session holds the key. */
      readonly isOwn?: true;
    }
  /** It has no holder, but its lock-delay lasts until then. */
  | { readonly kind: 'delayed'; readonly key: string; readonly until: number }
  /** The key was free at every read, but another caller was faster each time. */
  | { readonly kind: 'contended'; readonly key: string };

/** A key's state for a reader. */
export interface LockInfo extends Entry {
  readonly key: string;
  readonly leaseCounter: number;
  readonly modifyIndex: number;
  readonly holder: Holder | undefined;
  /** The key cannot be acquired before this time. 0: it is open. */
  readonly closedUntil: number;
  readonly lastForced: ForcedRelease | undefined;
}

/**
 * The key could not be acquired within the wait:
 * the caller holds nothing. Wait longer, or retry later; `refusal` names the holder.
 */
export class LockUnavailableError extends Error {
  override readonly name = 'LockUnavailableError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal, waitedMs: number) {
    super(
      `${describeLock(refusal.key)} could not be acquired within ${Math.round(waitedMs)} ms: ${describeRefusal(refusal)}`,
    );
    this.refusal = refusal;
  }
}

/** A value is part of the row, and every acquire and release of the row is charged per KB. Store larger values elsewhere. */
export const VALUE_LIMIT_BYTES = 64 * 1024;

/** @throws ConfigurationError */
export function validKey(key: string): string {
  return validName('lock key', key);
}

/** @throws ConfigurationError as `validValue` */
export function validContent(key: string, { value }: { readonly value?: string | undefined }): Content | undefined {
  return value === undefined ? undefined : validValue(key, value);
}

/** @throws ConfigurationError if the value is not a string, or is too long */
export function validValue(key: string, value: string): Content {
  if (typeof value !== 'string' || !value.isWellFormed())
    throw new ConfigurationError(
      `the value of ${describeLock(key)} is not well-formed text: encode other data, as JSON or base64`,
    );
  const bytes = utf8Bytes(value);
  if (bytes > VALUE_LIMIT_BYTES)
    throw new ConfigurationError(
      `the value of ${describeLock(key)} has ${bytes} bytes: at most ${VALUE_LIMIT_BYTES} ` +
        'are allowed; store it elsewhere and put a reference here',
    );
  return { value };
}

/** Returns the row after a successful transaction, because transactions do not return rows. */
export function grantedRow(
  {
    key,
    record,
    isFresh,
  }: { readonly key: string; readonly record: LockRecord | undefined; readonly isFresh: boolean },
  taker: { readonly session: string; readonly content: Content | undefined },
  { now, nonce }: Stamp,
): HeldLock {
  const last = (counter: number | undefined): number => (counter === undefined || counter === 0 ? now : counter);
  const old = isFresh ? undefined : record?.entry;
  return {
    key,
    state: 'held',
    session: taker.session,
    acquiredAt: now,
    leaseCounter: last(record?.leaseCounter) + 1,
    modifyIndex: last(record?.modifyIndex) + 1,
    entry: {
      value: old?.value,
      createdAt: old?.createdAt ?? now,
      ...defined({ consul: old?.consul }),
      ...(taker.content === undefined ? {} : { consul: undefined, ...taker.content }),
    },
    notBefore: 0,
    freedAt: record?.state === 'held' ? endedAt(record, now) : (record?.freedAt ?? 0),
    nonce,
    lastForced: record?.lastForced,
  };
}

/** Returns the time to store as the end of a tenure. It is never before an earlier end in the row, even if this clock is behind. */
export function endedAt({ acquiredAt, freedAt }: HeldLock, now: number): number {
  return Math.max(now, acquiredAt, freedAt);
}

/** Returns the time at which a key opens by this contender's clock. */
export function opensAt(notBefore: number, maxClockSkewMs: number): number {
  return notBefore === 0 ? 0 : notBefore + maxClockSkewMs;
}

/** The notice for a former holder's session, read at its next heartbeat. */
export function revocationOf(claim: Pick<LockClaim, 'key' | 'leaseCounter'>): string {
  return `lock ${claim.leaseCounter} ${claim.key}`;
}

export function describeLock(key: string): string {
  return `lock ${key}`;
}

export function describeRefusal(refusal: Refusal): string {
  if (refusal.kind === 'delayed')
    return `its last holder was lost, and its lock-delay lasts until ${momentText(refusal.until)}`;
  if (refusal.kind === 'contended') return 'others acquired and released it each time it was free; try again';
  const { session, name, node, since, until } = refusal.by;
  if (refusal.isOwn === true)
    return (
      `held since ${momentText(since)} by this very session, ${session}: it is free when the caller that has it releases ` +
      'it; a session cannot wait for a lock it already holds; use `reentrant: true`'
    );
  const end =
    until === null
      ? 'it never expires: destroy it if its holder is gone'
      : `it is live until ${momentText(until)} at least`;
  return `held since ${momentText(since)} by session ${session} (${name} on ${node}); ${end}`;
}

function momentText(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
