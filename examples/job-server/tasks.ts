/** The hour's work: each new order becomes a task, and each task writes its result back exactly once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseholdOf } from 'leasehold';
import { DoNotRetry, defineTask } from 'leasehold/tasks';
import * as z from 'zod';
import { ORDERS, newOrders, readOrder } from './orders.ts';

export const QUEUE = 'job-server';

/** An order's total. Work that takes its time, as a call to another service would. */
export const price = defineTask({
  name: 'order.price',
  input: z.object({ id: z.string() }),
  retry: { maxAttempts: 5, backoff: '200ms' },
  timeout: '1m',
  async run({ id }, task) {
    const order = await readOrder(id);
    if (order === undefined) throw new DoNotRetry(`there is no order ${id}`);
    await sleep(250, undefined, { signal: task.signal });
    const total = order.cents.reduce((sum, cents) => sum + cents, 0);
    // The order leaves the index of new ones in the very transaction that completes the task; the count shows whether that happened twice.
    return await task.commit({ total }, [
      {
        Update: {
          TableName: ORDERS,
          Key: { id },
          UpdateExpression: 'SET #total = :total REMOVE #state ADD #priced :one',
          ExpressionAttributeNames: { '#total': 'total', '#state': 'state', '#priced': 'priced' },
          ExpressionAttributeValues: { ':total': total, ':one': 1 },
        },
      },
    ]);
  },
});

/** Started every hour. The hour only triggers it: orders left by a failed hour are found by the next. */
export const collect = defineTask({
  name: 'orders.collect',
  async run(_: unknown, task) {
    let found = 0;
    for await (const id of newOrders()) {
      task.signal.throwIfAborted();
      // The order's id is the task's: asked for twice, by a second hour or a second attempt, it is one task.
      await leaseholdOf(task).tasks.enqueue(price, { id }, { id });
      found++;
    }
    return { found };
  },
});
