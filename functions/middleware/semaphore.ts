import type { Permit } from '../../shared/coordination/semaphore/permit.ts';
import type { SemaphoreFullError } from '../../shared/coordination/semaphore/semaphore-contender.ts';
import type { HeldRightMiddleware, HeldRightOptions, NameOf } from './held-right.ts';
import { heldRight, nameFrom, validRight } from './held-right.ts';

export interface SemaphoreOptions<Event> extends HeldRightOptions<Event, SemaphoreFullError> {
  readonly semaphore: NameOf<Event>;
  /** Number of permits; all users of this semaphore must pass the same. */
  readonly limit: number;
  /** Number of permits that one invocation takes. Default: 1. */
  readonly permits?: number | undefined;
}

/**
 * A limit on concurrent invocations of this function and of any other that names the same semaphore.
 *
 *   const vendor = semaphore({ leasehold, semaphore: 'vendor-api', limit: 15, wait: '20s' });
 *   export const handler = middy(async (event, context) => call(event, { signal: signalOf(context) })).use(vendor);
 */
export function semaphore<Event = unknown>(options: SemaphoreOptions<Event>): HeldRightMiddleware<Permit, Event> {
  validRight('semaphore', options, 'semaphore', ['limit', 'permits']);
  const { limit, permits } = options;
  return heldRight('semaphore', options, (session, request, wait) =>
    session.permit(nameFrom(options.semaphore, request), { limit, permits, wait }),
  );
}
