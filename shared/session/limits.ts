/** How far a write on behalf of a session may go: never past the belief in it. */
import type { WriteLimits } from '../core/lease/outcome.ts';
import type { SessionHolder } from './keep-alive.ts';

/** No attempt is sent once the session cannot be trusted; otherwise the sender's own bounds apply. */
export function limitsOf(session: Pick<SessionHolder, 'signal' | 'ensureBelief'>): WriteLimits {
  return {
    ensureBelief: () => session.ensureBelief(),
    signal: session.signal,
  };
}

/** As `limitsOf`, and given up when the trust that the session has now is over, or sooner. */
export function limitsWithinTrust(
  session: Pick<SessionHolder, 'signal' | 'ensureBelief' | 'remainingTrustMs'>,
  mostMs = Infinity,
): WriteLimits {
  return { ...limitsOf(session), budgetMs: Math.max(1, Math.min(mostMs, session.remainingTrustMs())) };
}
