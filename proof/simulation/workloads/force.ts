/** Ends by others: an operator's, or those of whoever sees that a health check has failed. */
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { stampOf } from '../../../shared/core/lease/stamp.ts';
import { SessionClient } from '../../../shared/session/session-client.ts';
import type { SessionStore } from '../../../shared/session/session-store.ts';
import type { WorkerPlace } from './worker-place.ts';

/** The options of a forced end. */
type Delay = { readonly lockDelay?: number };

/** Some operators cannot wait: they ask for less than the holder's trust. */
const HASTY_SHARE = 0.15;

export function hurry<T>({ process, prng, recorder }: WorkerPlace, act: (delay: Delay) => Promise<T>): Promise<T> {
  return prng.chance(HASTY_SHARE) ? recorder.hastily(process, () => act({ lockDelay: 0 })) : act({});
}

/** @returns what became of it */
export async function endByForce(
  place: WorkerPlace,
  sessions: SessionStore,
  id: string,
  delay: Delay,
): Promise<string> {
  const { process, profile, prng } = place;
  const { runtime } = process;
  if (delay.lockDelay === undefined && prng.chance(0.5)) {
    const { kind } = await sessions.invalidate({ id, reason: 'check', ...stampOf(runtime) });
    return `check failed: ${kind}`;
  }
  const client = new SessionClient({ sessions, runtime, gauge: noSkewGauge }, profile.maxClockSkewMs);
  return `session ${(await client.destroy(id, delay)).kind}`;
}
