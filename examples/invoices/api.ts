/** A request for a new order: writes the row and the task in one call, and answers with the faults of its input. */
import type { Leasehold } from 'leasehold';
import { CommitRefusedError, InvalidInputError } from 'leasehold/tasks';
import { ORDERS } from './orders.ts';
import type { Order } from './tasks.ts';
import { invoice } from './tasks.ts';

interface Answer {
  readonly status: 202 | 200 | 400 | 409;
  readonly body: unknown;
}

export async function placeOrder({ tasks }: Pick<Leasehold, 'tasks'>, body: unknown): Promise<Answer> {
  const order = body as Order;
  try {
    const { created } = await tasks.enqueue(invoice, order, {
      id: `invoice/${order.id}`,
      label: `order ${order.id}`,
      key: `account/${order.account}`,
      ordered: true,
      writes: [
        {
          Put: {
            TableName: ORDERS,
            Item: { ...order, state: 'new' },
            ConditionExpression: 'attribute_not_exists(id)',
          },
        },
      ],
    });
    return { status: created ? 202 : 200, body: `invoice/${order.id}` };
  } catch (error) {
    if (error instanceof InvalidInputError)
      return { status: 400, body: error.issues.map(({ message, path }) => ({ message, path })) };
    if (error instanceof CommitRefusedError) return { status: 409, body: `there is an order ${order.id}` };
    throw error;
  }
}
