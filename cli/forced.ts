/** What commands say of something that is taken away from its holder by force: when it opens, and until when that holder may go on. */
import type { Option } from 'commander';
import { spanOption } from './arguments.ts';
import { moment } from './output.ts';

export interface ForceOptions {
  readonly lockDelay?: number;
}

export function lockDelayOption(what: string): Option {
  return spanOption(
    '--lock-delay <span>',
    `how long ${what} (default: its session's lock-delay, and until its holder has stopped for certain)`,
  );
}

export const FORCE_HELP = `
The holder learns of it at its next heartbeat. A holder that no heartbeat reaches goes on until its session would have
expired, and nobody else gets what it had before that. If you cannot wait, because you know that it is gone,
give '--lock-delay 0s'. If it is not gone, two holders may then go on at once; only fenced writes of the old one are refused.`;

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
    ? `${opening}; its old holder may go on until ${moment(trustedUntil)}`
    : opening;
}
