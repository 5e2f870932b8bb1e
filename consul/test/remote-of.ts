import type { Process } from '../../test/support/coordination.ts';
import { Remote } from '../remote/remote.ts';

/** As in a gateway of this process. */
export function remoteOf({ ports, maxClockSkewMs }: Process): Remote {
  return new Remote(ports, maxClockSkewMs);
}
