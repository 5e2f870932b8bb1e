import type { Process } from '../../test/support/coordination.ts';
import { Remote } from '../remote/remote.ts';

/** What a gateway in this process would have. */
export function remoteOf({ ports, maxClockSkewMs }: Process): Remote {
  return new Remote(ports, maxClockSkewMs);
}
