/**
 * Nodes and health checks: liveness that does not depend on the session's own heartbeat.
 * A check belongs to a node. A program that monitors something on the node reports it: pass, warn, fail.
 * A session may be bound to checks of its node. It ends as soon as one of them is seen critical, expired, or deregistered:
 *   - the program that reports the failure, or deregisters, ends the sessions that are bound to it;
 *   - the session's own holder reads its checks with every heartbeat;
 *   - a contender that is blocked by a live session reads that session's checks.
 * A node is the check named `node`; deregistering the node deregisters all its checks.
 *
 * Does not guarantee
 *   - That a failure ends a session at once. A contender that needs something that the session holds sees the failure.
 *   - That a check is right. A false positive costs a live holder its session.
 *
 *     register ──▶ passing ⇄ warning ⇄ critical      reports renew the check's own TTL
 *                     └──────── expired, judged as critical
 *                  any ──▶ deregistered, and stays so
 */

export const CHECK_STATUSES = ['passing', 'warning', 'critical', 'deregistered'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

/** The check of the node itself. */
export const NODE_CHECK = 'node';

export interface CheckKey {
  readonly node: string;
  readonly id: string;
}

export interface CheckRecord extends CheckKey {
  readonly status: CheckStatus;
  /** The reporter's note, display only. */
  readonly note: string;
  /** How long a report is valid. `null`: until the next report. */
  readonly ttlMs: number | null;
  readonly expiresAt: number | null;
  readonly updatedAt: number;
  readonly nonce: string;
}

/**
 * Returns why a check ends the sessions that are bound to it; undefined if it does not. A warning ends no session.
 * @param check absent: never registered, or deleted by TTL long after it was deregistered
 */
export function failureOf(check: CheckRecord | undefined, now: number, maxClockSkewMs: number): string | undefined {
  if (check === undefined) return 'not registered';
  if (check.status === 'critical' || check.status === 'deregistered') return check.status;
  const isExpired = check.expiresAt !== null && check.expiresAt + maxClockSkewMs <= now;
  return isExpired ? 'expired' : undefined;
}

/** Describes the first failed check of a session. */
export function firstFailure(
  session: { readonly node: string; readonly checks: readonly string[] },
  checks: ReadonlyMap<string, CheckRecord>,
  now: number,
  maxClockSkewMs: number,
): string | undefined {
  for (const id of session.checks) {
    const failure = failureOf(checks.get(id), now, maxClockSkewMs);
    if (failure !== undefined) return `check ${id} of node ${session.node} is ${failure}`;
  }
  return undefined;
}
