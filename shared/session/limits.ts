/** Limits of writes on behalf of a session: none is sent after its trust window. */
import type { WriteLimits } from '../core/lease/write.ts';
import type { SessionHolder } from './keep-alive.ts';

/** No attempt is sent once the session cannot be trusted; otherwise the sender's own bounds apply. */
export function limitsOf(session: Pick<SessionHolder, 'signal' | 'ensureTrusted'>): WriteLimits {
  return {
    ensureTrusted: () => session.ensureTrusted(),
    signal: session.signal,
  };
}

/** As `limitsOf`, but the write is given up at the end of the session's current trust window, or earlier. */
export function limitsWithinTrust(
  session: Pick<SessionHolder, 'signal' | 'ensureTrusted' | 'remainingTrustMs'>,
  mostMs = Infinity,
): WriteLimits {
  return { ...limitsOf(session), budgetMs: Math.max(1, Math.min(mostMs, session.remainingTrustMs())) };
}
