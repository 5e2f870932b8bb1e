import type { Lock } from '../../shared/coordination/lock/lock.ts';
import type { LockUnavailableError } from '../../shared/coordination/lock/lock-record.ts';
import type { HeldRightMiddleware, HeldRightOptions, NameOf } from './held-right.ts';
import { heldRight, nameFrom, validRight } from './held-right.ts';

export interface LockOptions<Event> extends HeldRightOptions<Event, LockUnavailableError> {
  readonly key: NameOf<Event>;
  /** A value stored with the lock while it is held, for operators. */
  readonly value?: string | undefined;
  /**
   * Whether listings include the key. False saves a write unit, and leaves no entry, for keys that are used once, such as one per order.
   * Default:
   * true.
   */
  readonly listed?: boolean | undefined;
}

/**
 * One invocation at a time for each key, of this function and of any other that names the same key.
 *
 *   const account = lock({ leasehold, key: (event: Order) => `accounts/${event.account}`, wait: '5s' });
 *   export const handler = middy(async (event: Order, context) => book(event, account.of(context).sequencer)).use(account);
 */
export function lock<Event = unknown>(options: LockOptions<Event>): HeldRightMiddleware<Lock, Event> {
  validRight('lock', options, 'key', ['value', 'listed']);
  return heldRight('lock', options, (session, request, wait) =>
    session.lock(nameFrom(options.key, request), { value: options.value, listed: options.listed, wait }),
  );
}
