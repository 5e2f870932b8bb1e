/** Delivers webhooks. One customer does not answer at first. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RetryAfter, defineTask } from 'leasehold/tasks';
import * as z from 'zod';

export const SLOW = { customer: 'globex', failures: 3 };
const RETRY_MS = 200;

export const deliver = defineTask({
  name: 'webhook.deliver',
  input: z.object({ customer: z.string(), number: z.number() }),
  async run({ customer, number }, { attempt }) {
    const began = now();
    await sleep(5);
    const isRefused = customer === SLOW.customer && number === 1 && attempt <= SLOW.failures;
    console.log(JSON.stringify({ customer, number, isRefused, began, ended: now() } satisfies Delivery));
    if (isRefused) throw new RetryAfter(RETRY_MS, `${customer} answered 503`);
  },
});

/** The events that the customer received. */
export interface Delivery {
  readonly customer: string;
  readonly number: number;
  readonly isRefused: boolean;
  readonly began: number;
  readonly ended: number;
}

/** Comparable between the processes of a machine. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
