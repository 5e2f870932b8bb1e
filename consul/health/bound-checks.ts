/** The checks that a remote session is bound to, and its end when one of them has failed. */
import { CorruptItemError } from '../../shared/core/errors.ts';
import { ensureClockWithin } from '../../shared/core/lease/skew.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import type { SessionPorts } from '../../shared/session/session-contender.ts';
import type { LiveSession, Opaque, SessionRecord } from '../../shared/session/session-record.ts';
import type { CheckStore } from './check-store.ts';
import { failureOf } from './health.ts';

/** The checks in the row of a session, for a gateway; undefined if it is bound to no check. */
export function boundTo(checks: readonly string[]): Opaque | undefined {
  return checks.length === 0 ? undefined : { checks };
}

/** @throws CorruptItemError */
export function checksOf({ id, consul }: SessionRecord): readonly string[] {
  const checks = consul?.checks ?? [];
  if (Array.isArray(checks) && checks.every((check) => typeof check === 'string')) return checks;
  throw new CorruptItemError(`session#${id}`, 'consul', 'has checks that are no list of names');
}

/**
 * Ends a live session if one of its checks has failed, like an operator.
 * @returns the session as it is then; undefined if all checks pass
 * @throws ClockSkewError when our clock is proven too wrong to say that a check has expired
 */
export async function endIfFailed(
  session: LiveSession,
  { checks, sessions, runtime, gauge }: SessionPorts & { readonly checks: CheckStore },
  maxClockSkewMs: number,
): Promise<SessionRecord | undefined> {
  const { id, node } = session;
  const bound = checksOf(session);
  if (bound.length === 0) return undefined;
  const found = await checks.getMany(bound.map((check) => ({ node, id: check })));
  const now = runtime.clock.now();
  if (bound.every((check) => failureOf(found.get(check), now, maxClockSkewMs) === undefined)) return undefined;
  ensureClockWithin(gauge, maxClockSkewMs);
  const outcome = await sessions.invalidate({ id, reason: 'destroyed', ...stampOf(runtime) });
  return outcome.kind === 'applied' ? outcome.row : outcome.current;
}
