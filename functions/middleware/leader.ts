import type { Leadership } from '../../shared/coordination/election/election.ts';
import type { LockUnavailableError } from '../../shared/coordination/lock/lock-record.ts';
import type { HeldRightMiddleware, HeldRightOptions, NameOf } from './held-right.ts';
import { heldRight, nameFrom, validRight } from './held-right.ts';

export interface LeaderOptions<Event> extends HeldRightOptions<Event, LockUnavailableError> {
  readonly election: NameOf<Event>;
  /** The leader's value for observers. */
  readonly value?: string | undefined;
}

/**
 * Runs the handler only in the leader. The others fail, or return the result of `onUnavailable`.
 *
 *   const sole = leader({ leasehold, election: 'compaction', onUnavailable: () => 'another worker compacts' });
 *   export const handler = middy(async (event, context) => compact(sole.of(context).term)).use(sole);
 */
export function leader<Event = unknown>(options: LeaderOptions<Event>): HeldRightMiddleware<Leadership, Event> {
  validRight('leader', options, 'election', ['value']);
  return heldRight('leader', options, (session, request, wait) =>
    session.campaign(nameFrom(options.election, request), { value: options.value, wait }),
  );
}
