/**
 * An order becomes an invoice, which is paid by a service that fails, and a line in the statement of its account.
 *
 * | requirement | mechanism |
 * | --- | --- |
 * | an order is charged once, whatever fails | the task's own `runId` as the key of the payment, and `commit` for our rows |
 * | the service is called for one charge of a card at a time | a lock, across all accounts and workers |
 * | at most eight calls at a time | a permit |
 * | the orders of an account are paid, and stated, in the order in which they were placed | `ordered` |
 */
import { leaseholdOf } from 'leasehold';
import { DoNotRetry, RetryAfter, defineSchedule, defineTask, spawn } from 'leasehold/tasks';
import * as z from 'zod';
import { ORDERS } from './orders.ts';

const PAYMENT_TIMEOUT_MS = 2_000;

const Order = z.object({
  id: z.string().min(1),
  account: z.string().min(1),
  card: z.string(),
  cents: z.int().positive(),
});
export type Order = z.infer<typeof Order>;

export const invoice = defineTask({
  name: 'invoice',
  input: Order,
  timeout: '5m',
  retry: { maxAttempts: 50, backoff: '100ms', backoffCap: '1s' },
  async run({ id, account, card, cents }, task) {
    await using session = await leaseholdOf(task).session({ ttl: '5s', name: `invoice ${id}` });
    await using lock = await session.lock(`card/${card}`, { wait: '1m' });
    await using permit = await session.permit('payments', { limit: 8, wait: '1m' });
    const ended = [task.signal, lock.signal, permit.signal, AbortSignal.timeout(PAYMENT_TIMEOUT_MS)];
    await pay({ card, cents, key: task.runId, signal: AbortSignal.any(ended) });
    const line = spawn(
      statement,
      { account, id },
      { id: `${task.runId}/line`, key: `statement/${account}`, ordered: true },
    );
    // With `await`, the lock is held until the commit has ended.
    return await task.commit({ charged: cents }, [PAID(id)], { spawn: [line] });
  },
});

/** A line of the statement of an account. */
export const statement = defineTask({
  name: 'statement',
  input: z.object({ account: z.string(), id: z.string() }),
  async run({ account, id }, task) {
    return await task.commit(null, [
      {
        Update: {
          TableName: ORDERS,
          Key: { id: `statement/${account}` },
          UpdateExpression: 'SET #lines = list_append(if_not_exists(#lines, :none), :line)',
          ExpressionAttributeNames: { '#lines': 'lines' },
          ExpressionAttributeValues: { ':none': [], ':line': [id] },
        },
      },
    ]);
  },
});

/** Once a night, though the occurrence may be delivered twice. */
export const closeDay = defineTask({
  name: 'close-day',
  async run(_: unknown, task) {
    const night = task.schedule?.at.toISOString().slice(0, 10) ?? task.id;
    return await task.commit(night, [
      {
        Update: {
          TableName: ORDERS,
          Key: { id: `night/${night}` },
          UpdateExpression: 'ADD #closed :one',
          ExpressionAttributeNames: { '#closed': 'closed' },
          ExpressionAttributeValues: { ':one': 1 },
        },
      },
    ]);
  },
});

export const schedules = [defineSchedule('close-day', closeDay, null, { cron: '0 3 * * *', zone: 'Europe/Berlin' })];

function PAID(id: string) {
  return {
    Update: {
      TableName: ORDERS,
      Key: { id },
      ConditionExpression: 'attribute_exists(id)',
      UpdateExpression: 'SET #state = :paid ADD charges :one',
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: { ':paid': 'paid', ':one': 1 },
    },
  };
}

interface Payment {
  readonly card: string;
  readonly cents: number;
  readonly key: string;
  readonly signal: AbortSignal;
}

async function pay({ card, cents, key, signal }: Payment): Promise<void> {
  const response = await fetch(`${process.env.PAYMENTS_URL ?? 'http://127.0.0.1:8199'}/charge`, {
    method: 'POST',
    signal,
    headers: { 'idempotency-key': key },
    body: JSON.stringify({ card, cents }),
  });
  if (response.status === 503) throw new RetryAfter('200ms', 'the payment service is busy');
  if (response.status === 400) throw new DoNotRetry(`the payment service refuses it: ${await response.text()}`);
  if (!response.ok) throw new Error(`the payment service answered ${response.status}: ${await response.text()}`);
}
