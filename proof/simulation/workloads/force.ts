/** Ends by others: an operator's. */
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
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

/** @returns the outcome */
export async function endByForce(
  place: WorkerPlace,
  sessions: SessionStore,
  id: string,
  delay: Delay,
): Promise<string> {
  const { process, profile } = place;
  const { runtime } = process;
  const client = new SessionClient({ sessions, runtime, gauge: noSkewGauge }, profile.maxClockSkewMs);
  return `session ${(await client.destroy(id, delay)).kind}`;
}
