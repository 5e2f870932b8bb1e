import type { Claim } from './task.ts';

/**
 * (key, lease counter, session) as one text, to pass to other processes.
 * Parts are URI-encoded, so that no name can pose as another part.
 */
export function sequencerOf(
  kind: 'task' | 'lock',
  key: string,
  claim: { readonly leaseCounter: number; readonly session: string },
): string {
  return [kind, key, String(claim.leaseCounter), claim.session].map(encodeURIComponent).join(':');
}

export function taskSequencer(claim: Claim): string {
  return sequencerOf('task', `${encodeURIComponent(claim.queue)}/${encodeURIComponent(claim.id)}`, claim);
}
