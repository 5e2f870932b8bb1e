/** Messages about a revoked lock, permit or session: when it opens, and how long its holder may continue. */
import type { Option } from 'commander';
import { spanOption } from './arguments.ts';
import type { AuditOptions } from './confirm.ts';
import { moment } from './output.ts';

export interface ForceOptions extends AuditOptions {
  readonly lockDelay?: number;
}

export interface TenureOptions extends ForceOptions {
  readonly token: number;
}

export function lockDelayOption(what: string): Option {
  return spanOption(
    '--lock-delay <span>',
    `how long ${what} (default: its session's lock-delay, and until its holder has stopped for certain)`,
  );
}

export const FORCE_HELP = `
The holder learns of it at its next heartbeat. If no heartbeat gets through, the holder continues until its session would have
expired, and until then nobody else gets what it had. If you know that it is gone, use '--lock-delay 0s': the next holder need not
wait. If it is not gone, both may run at once, and only fenced writes of the old one are refused.`;

/**
 * @param closedUntil 0: open
 * @param trustedUntil by the holder's clock; 0: it does not trust it any more
 */
export function openingText(
  { closedUntil, trustedUntil }: { readonly closedUntil: number; readonly trustedUntil: number },
  now: number,
): string {
  const opening = closedUntil > now ? `closed until ${moment(closedUntil)}` : 'open now';
  return trustedUntil > closedUntil && trustedUntil > now
    ? `${opening}; its old holder may continue until ${moment(trustedUntil)}`
    : opening;
}
