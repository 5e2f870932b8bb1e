/**
 * An hourly job server: orders come in, and each hour all new ones are priced by four workers, each order exactly once.
 *
 *   node examples/job-server/main.ts
 *
 * Three hours pass, in seconds. Each hour is started twice,
 * as by two machines that do not know of each other, and in the second one a worker
 * is killed at work. At the end the claims are checked, and the exit code says whether they hold.
 * The workers are `npx leasehold work --entry examples/job-server/tasks.ts`; in AWS a `TaskWorkers` runs the same module.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { check, endingWith } from '../claims.ts';
import { inSlices } from '../in-slices.ts';
import { exampleOptions } from '../options.ts';
import type { ExampleWorker } from '../queue.ts';
import { startWorkers } from '../queue.ts';
import { localSettings, openLeasehold } from '../store.ts';
import { schedulesOf } from 'leasehold';

const options = await exampleOptions({});

const HOURS = 3;
const ORDERS_PER_HOUR = 60;
const WORKERS = 4;
const DONE_BEFORE_KILL = 2;
const PATIENCE_MS = 300_000;

// Before the modules are loaded that make clients.
Object.assign(process.env, await localSettings(options.endpoint));
const { ORDERS, createOrdersTable, placeOrder, readOrder } = await import('./orders.ts');
const { QUEUE, collect } = await import('./tasks.ts');

using leasehold = await openLeasehold(options.endpoint);
await createOrdersTable();
// A deployment does this once. From then on the dispatcher, or `leasehold work`, enqueues a task every hour.
await schedulesOf(leasehold).define('hourly', collect, null, { cron: '0 * * * *', queue: QUEUE });

/** Each run has its own orders and hours in a shared store. */
const run = Date.now().toString(36);
const startedAt = performance.now();
// All runs share one queue, for an order that two of them find is one task.
const workers = startWorkers(QUEUE, new URL('tasks.ts', import.meta.url), { workers: WORKERS, ttl: '3s' });
using _processes = endingWith(workers);
say(`${WORKERS} workers wait for orders, which are in the table ${ORDERS}`);

for (let hour = 1; hour <= HOURS; hour++) {
  await Promise.all(ordersOf(hour).map((id) => placeOrder(id, [100, id.length])));
  const [first, second] = await Promise.all([startHour(hour), startHour(hour)]);
  check(first !== second, `hour ${hour} was started twice, and is one task`);
  if (hour === 2) await killAtWork(hour);
  await untilPriced(hour, ORDERS_PER_HOUR);
  say(`hour ${hour}: ${ORDERS_PER_HOUR} orders are priced`);
}
await Promise.all(workers.map((worker) => worker.stop()));

const ids = Array.from({ length: HOURS }, (_, hour) => ordersOf(hour + 1)).flat();
const tasks = await inSlices(ids, (id) => leasehold.tasks.get(id, QUEUE));
const takenOver = tasks.filter((task) => (task?.attempts ?? 0) > 1).length;
say(`${takenOver} orders were taken over from the killed worker`);
const orders = await Promise.all(ids.map(readOrder));
check(
  orders.every((order) => order?.priced === 1),
  `each of ${orders.length} orders was priced exactly once`,
);
check(
  orders.every((order) => order?.total === order?.cents.reduce((sum, cents) => sum + cents, 0)),
  'and each total is right',
);

/** @returns whether it was this caller's request that made the task */
async function startHour(hour: number): Promise<boolean> {
  const { created } = await leasehold.tasks.enqueue(collect, null, { id: `${run}/hour-${hour}`, queue: QUEUE });
  return created;
}

function ordersOf(hour: number): string[] {
  return Array.from({ length: ORDERS_PER_HOUR }, (_, n) => `${run}/hour-${hour}/${n}`);
}

/** The first worker to finish some of the hour's orders is still running others. */
async function killAtWork(hour: number): Promise<void> {
  const isOfHour = (note: string): boolean => note.startsWith(`done ${run}/hour-${hour}/`);
  const isBusy = ({ notes }: ExampleWorker): boolean => notes.filter(isOfHour).length >= DONE_BEFORE_KILL;
  const deadline = performance.now() + PATIENCE_MS;
  while (!workers.some(isBusy)) {
    if (performance.now() > deadline) throw new Error(`no worker was at work within ${PATIENCE_MS} ms`);
    await sleep(10);
  }
  workers.find(isBusy)?.kill();
  say('a worker is killed at work');
}

async function untilPriced(hour: number, count: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const read = await Promise.all(ordersOf(hour).map(readOrder));
    if (read.filter((order) => order?.priced !== undefined).length >= count) return;
    if (performance.now() > deadline) throw new Error(`hour ${hour} was not over in ${PATIENCE_MS} ms`);
    await sleep(100);
  }
}

function say(line: string): void {
  process.stdout.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
}
