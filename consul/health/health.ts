/**
 * Nodes and health checks: liveness that does not depend on the session's own heartbeat.
 * A check belongs to a node. A program that monitors something on the node reports it: pass, warn, fail.
 * A remote session may be bound to checks of its node. It ends as soon as a gateway sees one of them critical, expired, or deregistered:
 *   - with the report of the failure, or with the deregistration;
 *   - whenever it reads the session, and once a second for each waiting query.
 * It ends as an operator ends it. The library's own contenders read no checks.
 * A node is the check named `node`; deregistering the node deregisters all its checks.
 *
 * Does not guarantee
 *   - That a failure ends a session at once. The next request that reads the session, or something that it holds, sees the failure.
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
