/**
 * Webhooks in order per customer: earlier events arrive first, after any number of retries.
 *
 *   node examples/webhooks/main.ts
 *
 * Three customers get ten events each, from two workers. One of them does not answer at first, so its events wait for each other,
 * and the other receivers do not wait.
 */
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import type { Delivery } from './tasks.ts';
import { SLOW, deliver } from './tasks.ts';

const options = await exampleOptions({});
const CUSTOMERS = ['acme', SLOW.customer, 'initech'];
const EVENTS = 10;

await using queue = await openQueue('webhooks', options.endpoint);
const ids: string[] = [];
for (let number = 1; number <= EVENTS; number++)
  for (const customer of CUSTOMERS) {
    const { id } = await queue.leasehold.tasks.enqueue(deliver, { customer, number }, { key: customer, ordered: true });
    ids.push(id);
  }

const lines = await queue.finish(new URL('tasks.ts', import.meta.url), ids, { workers: 2 });

const deliveries = lines
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line) as Delivery)
  .sort((one, other) => one.began - other.began);
for (const { customer, number, isRefused } of deliveries)
  console.log(`${customer} ${isRefused ? 'answers 503 to' : 'has'} event ${number}`);

const inOrder = Array.from({ length: EVENTS }, (_, index) => index + 1).join();
for (const customer of CUSTOMERS) {
  const received = deliveries.filter((delivery) => delivery.customer === customer && !delivery.isRefused);
  check(
    received.map(({ number }) => number).join() === inOrder,
    `${customer} has all its events, once each and in order`,
  );
}
const isOverlapping = ({ customer, began }: Delivery, at: number): boolean =>
  deliveries.slice(0, at).some((before) => before.customer === customer && before.ended > began);
check(!deliveries.some(isOverlapping), 'no two deliveries to one customer were under way at a time');
const refusals = deliveries.filter(({ isRefused }) => isRefused).length;
check(refusals === SLOW.failures, `${SLOW.customer} failed three times, and its later events waited`);
