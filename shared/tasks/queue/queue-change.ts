/** What pausing or resuming a tenant changes in a queue's row, and how the row stands in words. */
import { ConfigurationError } from '../../core/errors.ts';
import type { QueueRecord, QueueSettings } from '../task/queue-store.ts';
import { MAX_PAUSED_TENANTS } from '../task/queue-store.ts';

/** The reason of the queue's own pause stays. That of a tenant's is in the audit. */
export function tenantChanged(observed: QueueRecord | undefined, tenant: string, isPaused: boolean): QueueSettings {
  const pausedTenants = new Set(observed?.pausedTenants);
  if (isPaused) pausedTenants.add(tenant);
  else pausedTenants.delete(tenant);
  if (pausedTenants.size > MAX_PAUSED_TENANTS)
    throw new ConfigurationError(
      `${MAX_PAUSED_TENANTS} tenants are paused in this queue, which is the most: resume one, or pause the queue`,
    );
  return { isPaused: observed?.isPaused === true, reason: observed?.reason ?? '', pausedTenants };
}

export function queueStanding({ isPaused, reason, pausedTenants }: QueueRecord): string {
  const tenants = pausedTenants === undefined ? '' : `, ${pausedTenants.size} of its tenants paused`;
  return `${isPaused ? 'paused' : 'open'} (${reason})${tenants}`;
}
