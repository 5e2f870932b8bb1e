/**
 * A restored table has forgotten the numbers that it issued after its restore point.
 * Counters start at the clock, and a row takes at most a thousand writes a second, so the clock is now above every counter.
 * Each counter is raised to the clock, so every number issued next is new; that of a part of a fleet's permits, to the clock in its range.
 *
 * | row | counters |
 * | --- | --- |
 * | lock | leaseCounter, modifyIndex; only modifyIndex if the entry was never locked |
 * | task | leaseCounter |
 * | semaphore | leaseCounter, revision |
 * | complete wait group | generation; an incomplete group keeps its generation, because its members are in it |
 */
import type { Stamp } from '../../core/lease/write.ts';
import { TOKENS_PER_PART } from '../../core/permit-parts.ts';
import type { RowKey } from '../../dynamo/engine/keys.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { updateStatement } from '../../dynamo/engine/statement.ts';

export type CountingRow = RowKey & { readonly raise: Raise; readonly counter: number };

/** How to raise the counters of one kind of row. */
interface Raise {
  /** The counter that shows whether the row was raised. */
  readonly counter: string;
  readonly guard: string;
  readonly effect: string;
}

const TOKENS = {
  counter: 'leaseCounter',
  guard: '#leaseCounter = :observed',
} as const;
const SEMAPHORE: Raise = { ...TOKENS, effect: 'SET #leaseCounter = :floor, #revision = :floor, #nonce = :nonce' };

/** By the first part of the sort key. If there are several, the first one whose counter the row has. */
export const RAISES: Readonly<Record<string, readonly Raise[]>> = {
  lock: [
    { ...TOKENS, effect: 'SET #leaseCounter = :floor, #modifyIndex = :floor, #nonce = :nonce' },
    {
      counter: 'modifyIndex',
      guard: '#modifyIndex = :observed AND attribute_not_exists(#leaseCounter)',
      effect: 'SET #modifyIndex = :floor, #nonce = :nonce',
    },
  ],
  task: [{ ...TOKENS, effect: 'SET #leaseCounter = :floor, #nonce = :nonce' }],
  semaphore: [SEMAPHORE],
  permits: [SEMAPHORE],
  waitgroup: [
    {
      counter: 'generation',
      guard: '#generation = :observed AND #state = :complete',
      effect: 'SET #generation = :floor, #nonce = :nonce',
    },
  ],
};

/**
 * Guard: its counter is as observed; a wait group is complete.
 * Effect: its counters are at the floor.
 * Outcomes: refused = another program writes to this table, or the wait group is not complete.
 */
export function raiseCounters(
  table: string,
  { pk, sk, raise, counter }: CountingRow,
  floor: number,
  stamp: Stamp,
): Statement<'update'> {
  const { guard, effect } = raise;
  return updateStatement('epoch.raise', {
    table,
    key: { pk, sk },
    guard,
    effect,
    stamp,
    values: {
      ':observed': counter,
      ':floor': counter - (counter % TOKENS_PER_PART) + floor,
      ':complete': 'complete',
    },
    omitsNewRow: true,
  });
}
