import type { Process } from '../../test/support/coordination.ts';
import { Remote } from '../remote/remote.ts';

/** As in a gateway of this process. */
export function remoteOf({ ports, maxClockSkewMs, sender, leasehold: { table } }: Process): Remote {
  return Remote.over({ ...ports, sender }, { table, maxClockSkewMs });
}
