/**
 * Invoices: orders come in through an API, are paid by a service that fails, and stand in the statements of their accounts.
 *
 *   node examples/invoices/main.ts
 *
 * Meanwhile two workers are killed at work, and the service hangs once.
 * At the end each order has been charged exactly once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { check } from '../claims.ts';
import { inSlices } from '../in-slices.ts';
import { exampleOptions } from '../options.ts';
import { ask, openQueue } from '../queue.ts';
import { placeOrder } from './api.ts';
import { ORDERS, openOrders } from './orders.ts';
import { startPaymentServer } from './payment-server.ts';
import type { Order } from './tasks.ts';

const options = await exampleOptions({ orders: '60' });

const TASKS = new URL('tasks.ts', import.meta.url);
const ACCOUNTS = 30;
const CARDS = 15;
const HANGS_FOR_MS = 5_000;
const PATIENCE_MS = 900_000;
const WORKER = { concurrency: 4, ttl: '3s', listFinished: true };

const count = Number(options.orders);
const run = Date.now().toString(36);
const orders = Array.from({ length: count }, (_, nth): Order => {
  const account = `${run}-a${nth % ACCOUNTS}`;
  return { id: `${run}-o${nth}`, account, card: `${run}-c${nth % CARDS}`, cents: 100 + nth };
});
const accounts = [...new Set(orders.map(({ account }) => account))];
const ofAccount = (name: string) => orders.filter(({ account }) => account === name).map(({ id }) => id);

await using payments = await startPaymentServer();
process.env.PAYMENTS_URL = payments.url;
await using queue = await openQueue('invoices', options.endpoint);
const table = await openOrders();
console.log(`${count} orders of ${accounts.length} accounts, in the table ${ORDERS}; payments at ${payments.url}`);

const workers = queue.start(TASKS, { ...WORKER, workers: 3 });
const placed = await inSlices(accounts, async (account) => {
  const mine = orders.filter((order) => order.account === account);
  const answers: number[] = [];
  for (const [nth, order] of mine.entries()) {
    answers.push((await placeOrder(queue.leasehold, order)).status);
    // One in three is sent twice, as by a client that had no answer.
    if (nth % 3 === 0 && (await placeOrder(queue.leasehold, order)).status !== 200) answers.push(0);
  }
  return answers;
});
const refused = await placeOrder(queue.leasehold, { id: `${run}-bad`, account: 'a', card: 'c', cents: -1 });

for (const [nth, share] of [0.2, 0.5].entries()) {
  await untilCharged(share * count);
  workers[nth]?.kill();
  queue.start(TASKS, WORKER);
  console.log(`${payments.charges.length} are charged: a worker is killed at work`);
}
payments.isHanging = true;
console.log('the payment service hangs');
await sleep(HANGS_FOR_MS);
payments.isHanging = false;
await queue.ended(orders.flatMap(({ id }) => [`invoice/${id}`, `invoice/${id}/line`]));

const rows = await inSlices(orders, ({ id }) => table.read(id));
const tasks = await inSlices(orders, ({ id }) => queue.leasehold.tasks.get(`invoice/${id}`));
const statements = await inSlices(accounts, (account) => table.read(`statement/${account}`));
const charged = payments.charges.map(({ key }) => key.slice('invoice/'.length));
const calls = payments.charges.reduce((sum, charge) => sum + charge.calls, 0);
console.log(`${calls} calls for ${charged.length} charges; ${count} tasks took ${attempts()} attempts`);

check(
  placed.flat().every((status) => status === 202),
  'each order was taken once, though some were sent twice',
);
check(
  refused.status === 400 && JSON.stringify(refused.body).includes('"path":["cents"]'),
  'a bad order is told its field',
);
check(
  rows.every((row) => row?.state === 'paid' && row.charges === 1),
  `each of ${count} orders is paid once in its row`,
);
check(new Set(charged).size === count && charged.length === count, 'and charged once by its key, none is lost');
check(payments.collisions === 0, 'no card was charged twice at a time');
check(
  accounts.every((account) =>
    isSame(
      charged.filter((id) => ofAccount(account).includes(id)),
      ofAccount(account),
    ),
  ),
  'the orders of an account were charged in the order in which they were placed',
);
check(
  accounts.every((account, at) => isSame(statements[at]?.lines ?? [], ofAccount(account))),
  'and stand so in its statement, each once',
);

// As somebody who has only the order's number asks; the last one is a part of no other.
const order = `order ${orders.at(-1)?.id ?? ''}`;
console.log(`what happened to ${order}?\n${await ask(['tasks', 'find', order, ...queue.place])}`);
const [found] = JSON.parse(await ask(['tasks', 'find', order, '--json', ...queue.place])) as readonly { id: string }[];
const story = await ask(['tasks', 'show', found?.id ?? '', ...queue.place]);
console.log(story);
check(
  /^state +done$/m.test(story) && story.includes(order),
  'the command finds it by its label, without the id of its task, and tells its story',
);
console.log(`in a browser: node api/command.ts console ${queue.place.join(' ')}, there Tasks, Finished, ${order}`);

function attempts(): number {
  return tasks.reduce((sum, task) => sum + (task?.attempts ?? 0), 0);
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

async function untilCharged(wanted: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (payments.charges.length < wanted) {
    if (performance.now() > deadline) throw new Error(`only ${payments.charges.length} orders were charged`);
    await sleep(20);
  }
}
