/**
 * Webhooks in order per customer: what happened first arrives first, however often it has to be tried.
 *
 *   node examples/webhooks/main.ts
 *
 * Three customers get ten events each. One of them does not answer at first, so its events wait for each other, and nobody else waits for them.
 */
import { parseArgs } from 'node:util';
import { systemClock as clock } from '../../shared/runtime/clock.ts';
import { RetryAfter } from '../../shared/task/control.ts';
import { defineTask } from '../../shared/task/definition.ts';
import { check, openQueue } from '../queue.ts';

interface Event {
  readonly customer: string;
  readonly number: number;
}

const { values: options } = parseArgs({ options: { endpoint: { type: 'string' } } });
const CUSTOMERS = ['acme', 'globex', 'initech'];
const SLOW = 'globex';
const EVENTS = 10;
const RETRY_MS = 200;

const received = new Map<string, number[]>(CUSTOMERS.map((customer) => [customer, []]));
const underWay = new Set<string>();
let isOrderKept = true;
let failures = 0;

const deliver = defineTask({
  name: 'webhook.deliver',
  async run({ customer, number }: Event) {
    if (underWay.has(customer)) isOrderKept = false;
    underWay.add(customer);
    await clock.sleep(5);
    underWay.delete(customer);
    if (customer === SLOW && failures < 3) {
      failures++;
      throw new RetryAfter(RETRY_MS, `${customer} answered 503`);
    }
    received.get(customer)?.push(number);
    console.log(`${customer} has event ${number}`);
  },
});

await using queue = await openQueue(options.endpoint);
for (let number = 1; number <= EVENTS; number++)
  for (const customer of CUSTOMERS)
    await queue.client.enqueue(deliver, { customer, number }, { key: customer, ordered: true });

await queue.drain({ deliver }, { workers: 2 });

const inOrder = Array.from({ length: EVENTS }, (_, index) => index + 1).join();
for (const customer of CUSTOMERS)
  check(received.get(customer)?.join() === inOrder, `${customer} has all its events, in order`);
check(isOrderKept, 'no two deliveries to one customer were under way at a time');
check(failures === 3, `${SLOW} failed three times, and its later events waited`);
