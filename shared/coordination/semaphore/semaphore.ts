/**
 * A counting semaphore: at most `limit` permits at a time, each belonging to a session.
 *
 * Guarantees
 *   - In no state of the store do the permits add up to more than the limit: count and holders change in one conditional write.
 *   - A permit frees itself when its session is invalid and that session's lock-delay is over:
 *     a contender that needs the capacity removes the expired holder
 *     in the same write that admits it. No sweep is needed, and expired holders block no one.
 *   - A copy of a request that arrives after its permit was released, or after its caller got the result `full`,
 *     takes no permit (see below).
 *   - Releasing, evicting or pruning names one permit and its token; repeated or late, it changes nothing.
 *   - Contenders that declare different limits get an error with both numbers, and are not admitted.
 *   - Lowering the limit revokes nothing and admits no contender until enough permits have come back.
 *   - While the queue is not empty, only its contenders are admitted:
 *     fair contenders are served in the order in which the store queued them,
 *     including a large request at the head.
 *
 * Does not guarantee
 *   - That a holder has stopped after its session expired or an operator evicted it.
 *     The lock-delay is its time to stop; with 0 it may overlap with
 *     its successor until it notices.
 *   - Order among contenders that are not fair: they wait with full jitter and overtake each other, but not the queue.
 *
 * Late copies: *admit* and *queue* are blind, because their guards name no revision, so a copy of one may arrive much later.
 * A session's moments only grow, so one moment bars all its earlier blind requests. Each release stores that moment in the row
 * (`left`), and so does a contender before its caller gets `full` or gives up (*forgo*).
 * *Replace* names the revision, so it needs no bar, and it folds all marks into one moment for everyone (`floor`).
 * A claim that is barred but still wanted enters by *replace*. Safety does not depend on comparing clocks: a contender whose clock is
 * behind the floor is refused, and enters by a second request.
 *
 * Cost: one request of one write unit per KB of the row, each for acquire and release.
 * A holder adds about 55 bytes to some 200, so eight holders and the marks still fit into one unit; a contender in the queue adds 65.
 * A mark adds about 45 bytes; releases fold them when there are eight, with one more write.
 * "Full" costs one write more than the refused request, unless the row shows that the claim is barred.
 *
 *     acquire ── free capacity, the queue is empty ▶ held ── release ─▶ gone
 *        │                                            │ └── evict (an operator) ─▶ closed until the lock-delay is over,
 *        └─ full ─▶ judge the holders' sessions       │                             or its holder has noticed and released
 *                     some expired: prune and acquire └──── session invalid, lock-delay over ─▶ pruned by the next contender
 *                     all live: refused, with the earliest end; or queue, if fair
 */
import { ConfigurationError, MismatchError } from '../../core/errors.ts';
import { capacityOf } from '../../core/permit-parts.ts';
import { validWholeNumber } from '../../core/validate/options.ts';

/** Everything about a permit that is known before it is admitted: its identity. */
export interface PermitClaim {
  readonly session: string;
  /** When it was requested, by its holder's clock; made unique within the session. */
  readonly since: number;
  /** The number of permits that it takes from the limit. */
  readonly permits: number;
}

export interface PermitRecord extends PermitClaim {
  /** Grows with every admission to this semaphore and never restarts. */
  readonly token: number;
}

/** A permit as stored in the row. */
export interface HolderRecord extends PermitRecord {
  /** Set by an eviction: its capacity opens at this time, or when its holder releases it. 0: at once. */
  readonly closedUntil: number | undefined;
}

/** A position in the queue. */
export interface Ticket extends PermitClaim {
  /** When its contender gives up, by its own clock, so that abandoned entries cannot block the queue. */
  readonly until: number;
}

/** The last permit that an operator evicted. */
export interface Eviction {
  readonly by: string;
  readonly reason: string;
  readonly at: number;
  readonly session: string;
  readonly token: number;
}

export interface SemaphoreRecord {
  readonly name: string;
  /** The limit in effect: `declared`, unless an operator has set another. */
  readonly limit: number;
  /** The limit that its contenders declare; they must agree. */
  readonly declared: number;
  /** The limit, or of a part its share of the limit, minus the permits held. Below zero after the limit was lowered. */
  readonly free: number;
  readonly leaseCounter: number;
  /** Grows with each write. */
  readonly revision: number;
  readonly nonce: string;
  readonly holders: readonly HolderRecord[];
  /** Fair contenders, in the order in which they are served. */
  readonly waiting: readonly Ticket[];
  readonly lastEviction: Eviction | undefined;
  /** By session, since the last *replace*: blind requests that it made at or before this moment are refused. */
  readonly left: Readonly<Record<string, number>>;
  /** For all sessions: blind requests made at or before this moment are refused. Only grows. */
  readonly floor: number;
}

/** Keeps the row below 64 KB. For more holders, split the semaphore by name. */
export const HOLDERS_LIMIT = 1_000;
/** At this number of marks of released claims, the next contender folds them into the floor when it enters. */
export const MARKS_LIMIT = 64;
/** Maximum queue length, because each entry makes every acquire and release more expensive. Further contenders wait without a position. */
export const WAITING_LIMIT = 100;

/**
 * A claim as one short text: `<session>/<since in base 36>`, then `*<permits>` unless that is 1.
 * It is the permit's key in the row's map of holders. The key contains everything that is known before the write;
 * the value is the token, which is only known after the write.
 */
export function formatClaim({ session, since, permits }: PermitClaim): string {
  return `${session}/${since.toString(36)}${permits === 1 ? '' : `*${permits}`}`;
}

export function parseClaim(text: string): PermitClaim | undefined {
  const [, session, since = '', permits = '1'] = CLAIM.exec(text) ?? [];
  return session === undefined ? undefined : { session, since: Number.parseInt(since, 36), permits: Number(permits) };
}

/** The id of a session has at most as many characters as a name. */
const CLAIM = /^(.{1,512})\/([0-9a-z]+)(?:\*([1-9][0-9]*))?$/s;

/** A claim, then `=` and the token: this suffices to release a permit in another process. */
export function formatPermit(permit: PermitRecord): string {
  return `${formatClaim(permit)}=${permit.token}`;
}

export function parsePermit(text: string): PermitRecord | undefined {
  const [, start = '', token] = /^(.+)=([0-9]+)$/s.exec(text) ?? [];
  const claim = parseClaim(start);
  return claim === undefined ? undefined : { ...claim, token: Number(token) };
}

export function permitsHeld(holders: readonly PermitClaim[]): number {
  return holders.reduce((sum, { permits }) => sum + permits, 0);
}

export function isSamePermit(one: PermitClaim, other: PermitClaim): boolean {
  return one.session === other.session && one.since === other.since && one.permits === other.permits;
}

export function hasTicket(semaphore: SemaphoreRecord, claim: PermitClaim): boolean {
  return semaphore.waiting.some((ticket) => isSamePermit(ticket, claim));
}

/** Whether the semaphore's current state admits a contender: there is enough capacity, and it is the contender's turn. */
export function canAcquire(semaphore: SemaphoreRecord, claim: PermitClaim): boolean {
  const first = semaphore.waiting[0];
  const isItsTurn = first === undefined || isSamePermit(first, claim);
  return isItsTurn && semaphore.free >= claim.permits && semaphore.holders.length < HOLDERS_LIMIT;
}

/** Whether a contender that may enter can do so without naming the revision. */
export function mayEnterBlind(semaphore: SemaphoreRecord, claim: PermitClaim): boolean {
  const marks = Object.keys(semaphore.left).length;
  return semaphore.waiting.length === 0 && !isBarred(semaphore, claim) && marks < MARKS_LIMIT;
}

/** Returns the semaphore with one more holder, who leaves the queue. */
export function withHolder(semaphore: SemaphoreRecord, claim: PermitClaim): SemaphoreRecord {
  const token = semaphore.leaseCounter + 1;
  const { session, since, permits } = claim;
  const holders = [...semaphore.holders, { session, since, permits, token, closedUntil: undefined }];
  return { ...withoutTicket(semaphore, claim), holders, free: semaphore.free - permits, leaseCounter: token };
}

export function withoutTicket(semaphore: SemaphoreRecord, claim: PermitClaim): SemaphoreRecord {
  return { ...semaphore, waiting: semaphore.waiting.filter((ticket) => !isSamePermit(ticket, claim)) };
}

/**
 * Returns the semaphore without holders and waiters of expired sessions, evictions that have opened, and tickets that have lapsed.
 * @param openBefore now, by the contender's clock, less the bound on clock differences
 */
export function withoutDead(
  semaphore: SemaphoreRecord,
  isDead: (claim: HolderRecord | Ticket) => boolean,
  openBefore: number,
): SemaphoreRecord {
  const holders = semaphore.holders.filter(
    (holder) => !isDead(holder) && (holder.closedUntil === undefined || openBefore < holder.closedUntil),
  );
  const waiting = semaphore.waiting.filter((ticket) => !isDead(ticket) && openBefore < ticket.until);
  const kept = new Set<PermitClaim>([...holders, ...waiting]);
  const removed = [...semaphore.holders, ...semaphore.waiting].filter((claim) => !kept.has(claim));
  return { ...withLeft(semaphore, removed), holders, waiting, free: capacityOf(semaphore) - permitsHeld(holders) };
}

/** Returns the semaphore after these claims were released or abandoned: their blind requests are refused from now on. */
export function withLeft(semaphore: SemaphoreRecord, claims: readonly PermitClaim[]): SemaphoreRecord {
  const left = { ...semaphore.left };
  for (const { session, since } of claims) left[session] = Math.max(left[session] ?? 0, since);
  return { ...semaphore, left };
}

/** Whether blind requests of this claim are refused. */
export function isBarred({ left, floor }: SemaphoreRecord, { session, since }: PermitClaim): boolean {
  return since <= Math.max(floor, left[session] ?? 0);
}

/** Returns the floor that bars everything that the marks bar, so that all marks can be removed. */
export function foldedFloor({ left, floor }: SemaphoreRecord): number {
  return Math.max(floor, ...Object.values(left));
}

/** Returns the semaphore with another limit in effect; current holders keep their permits. */
export function withLimit(semaphore: SemaphoreRecord, limit: number): SemaphoreRecord {
  return { ...semaphore, limit, free: capacityOf({ ...semaphore, limit }) - permitsHeld(semaphore.holders) };
}

/** Returns the semaphore with another declared limit, which is also in effect unless an operator has set one. */
export function withDeclared(semaphore: SemaphoreRecord, declared: number): SemaphoreRecord {
  const isSetByOperator = semaphore.limit !== semaphore.declared;
  return { ...(isSetByOperator ? semaphore : withLimit(semaphore, declared)), declared };
}

/** @throws ConfigurationError */
export function validLimit(what: string, limit: number): number {
  return validWholeNumber(`${what}: limit`, limit, { min: 1 });
}

/** @throws ConfigurationError */
export function validPermits(what: string, permits: number, limit: number): number {
  validWholeNumber(`${what}: permits`, permits, { min: 1 });
  if (permits > limit)
    throw new ConfigurationError(
      `${what}: permits = ${permits} is more than limit = ${limit}: it could never be admitted`,
    );
  return permits;
}

/** @throws MismatchError when this contender declares another limit than the others */
export function ensureSameLimit(semaphore: SemaphoreRecord, declared: number): void {
  if (semaphore.declared === declared) return;
  const what = describeSemaphore(semaphore.name);
  throw new MismatchError(
    what,
    `${what} has a limit of ${semaphore.declared}, and this contender declares ${declared}: ` +
      `give all contenders the same, or declare the new one first`,
  );
}

/** Returns the text that reports an eviction at the next heartbeat of the holder's session. */
export function revocationOf(name: string, token: number): string {
  return `semaphore ${token} ${name}`;
}

export function describeSemaphore(name: string): string {
  return `semaphore ${name}`;
}
