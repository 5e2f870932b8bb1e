/** A session of a process whose clock nothing proves wrong, and whose locks are released at its end. */
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';

type Create = Parameters<typeof SessionHolder.create>;

export function openHolder(
  settings: Omit<Create[0], 'behaviour'>,
  ports: Omit<Create[1], 'gauge'>,
): Promise<SessionHolder> {
  return SessionHolder.create({ ...settings, behaviour: 'release' }, { ...ports, gauge: noSkewGauge });
}
