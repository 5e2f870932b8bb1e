/**
 * An hourly job server: orders come in, and each hour all new ones are priced by four workers, each order exactly once.
 *
 *   node examples/job-server/main.ts
 *
 * Three hours pass, in seconds. Each hour is started twice, as by two machines that do not know of each other, and in the second one a worker
 * is killed at work. At the end the claims are checked, and the exit code says whether they hold.
 * The workers are `npx leasehold work --entry examples/job-server/tasks.ts`; in AWS a `TaskWorkers` runs the same module.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { localSettings, openLeasehold } from '../store.ts';

const { values: options } = parseArgs({ options: { endpoint: { type: 'string' } } });

const HOURS = 3;
const ORDERS_PER_HOUR = 60;
const WORKERS = 4;
const DONE_BEFORE_KILL = 2;
const PATIENCE_MS = 60_000;

// Before the modules are loaded that make clients.
const settings = await localSettings(options.endpoint);
Object.assign(process.env, settings);
const { ORDERS, createOrdersTable, placeOrder, readOrder } = await import('./orders.ts');
const { QUEUE, TABLE, collect } = await import('./tasks.ts');

using leasehold = await openLeasehold(options.endpoint);
await createOrdersTable();
// What a deployment does, once: from then on the dispatcher, or `leasehold work`, makes a task of each hour.
await leasehold.schedules.define('hourly', collect, null, { cron: '0 * * * *', queue: QUEUE });

/** Orders and hours of one run are apart from those of another on the same store. */
const run = Date.now().toString(36);
const startedAt = performance.now();
const doneBy = new Map<ChildProcess, number>();
const workers = Array.from({ length: WORKERS }, startWorker);
say(`${WORKERS} workers wait for orders, which are in the table ${ORDERS}`);

for (let hour = 1; hour <= HOURS; hour++) {
  await Promise.all(ordersOf(hour).map((id) => placeOrder(id, [100, id.length])));
  const [first, second] = await Promise.all([startHour(hour), startHour(hour)]);
  check(first !== second, `hour ${hour} was started twice, and is one task`);
  if (hour === 2) await killAtWork();
  await untilPriced(hour, ORDERS_PER_HOUR);
  say(`hour ${hour}: ${ORDERS_PER_HOUR} orders are priced`);
}
await stop(workers);

const ids = Array.from({ length: HOURS }, (_, hour) => ordersOf(hour + 1)).flat();
const tasks = await Promise.all(ids.map((id) => leasehold.tasks.get(id, QUEUE)));
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

function startWorker(): ChildProcess {
  const command = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
  const tasks = fileURLToPath(new URL('tasks.ts', import.meta.url));
  const words = ['work', '--entry', tasks, '--table', TABLE, '--queue', QUEUE];
  const child = spawn(process.execPath, [command, ...words, '--session-ttl', '3s', '--concurrency', '5'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  createInterface(child.stderr).on('line', (line) => {
    if (line.startsWith(`done ${run}/`)) doneBy.set(child, (doneBy.get(child) ?? 0) + 1);
    else if (!line.startsWith('done ')) process.stderr.write(`${line}\n`);
  });
  return child;
}

/** Whoever is first to have done some of the hour's orders has others in its hands. */
async function killAtWork(): Promise<void> {
  doneBy.clear();
  const isBusy = (worker: ChildProcess): boolean => (doneBy.get(worker) ?? 0) >= DONE_BEFORE_KILL;
  while (!workers.some(isBusy)) await sleep(10);
  workers.find(isBusy)?.kill('SIGKILL');
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

/** They hand back what they have, and end. */
async function stop(children: readonly ChildProcess[]): Promise<void> {
  const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const ended = running.map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGINT');
  await Promise.all(ended);
}

function check(holds: boolean, claim: string): void {
  say(`${holds ? 'yes' : 'NO '}  ${claim}`);
  if (!holds) process.exitCode = 1;
}

function say(line: string): void {
  process.stdout.write(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
}
