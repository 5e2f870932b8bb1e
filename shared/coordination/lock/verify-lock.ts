/** Checks whether a sequencer belongs to the current tenure. A server does this before it serves a holder. */
import type { Sequencer } from '../../core/lease/sequencer.ts';
import type { Verification, VerifySessionPorts } from '../../session/session-contender.ts';
import { verifySession } from '../../session/session-contender.ts';
import type { LockStore } from './lock-store.ts';

export interface VerifyLockPorts extends VerifySessionPorts {
  readonly locks: LockStore;
}

/** Makes one strongly consistent request. Writes nothing. */
export async function verifyLock(sequencer: Sequencer, ports: VerifyLockPorts): Promise<Verification> {
  const { key, leaseCounter, session: id } = sequencer;
  const { lock, session } = await ports.locks.getWithSession(key, id, { consistent: true });
  // A missing row was deleted by TTL, weeks after its last use.
  if (lock === undefined) return { kind: 'released' };
  if (lock.leaseCounter !== leaseCounter) return { kind: 'superseded', leaseCounter: lock.leaseCounter };
  if (lock.state === 'free') return { kind: 'released' };
  if (lock.session !== id) return { kind: 'superseded', leaseCounter: lock.leaseCounter };
  return verifySession(session, ports);
}
