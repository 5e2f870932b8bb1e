/** An order: charge, reserve, an approval, a wait of an hour, packing, shipping. The imitation of a bank is in memory. */
import { durableTask, withStep } from 'leasehold/durable';
import { defineTask } from 'leasehold/tasks';

export const STOCK = 'stock';

export interface Order {
  readonly order: string;
  readonly items: readonly string[];
}

/** A bank that knows its requests again by their keys. */
export const bank = {
  charges: new Map<string, number>(),
  requests: 0,
  charge(key: string): Promise<string> {
    bank.requests++;
    bank.charges.set(key, 1);
    return Promise.resolve(`charge ${bank.charges.size}`);
  },
};

/** The target of an approval's link. */
export const mailbox: { callbackId?: string | undefined } = {};

export const ship = defineTask({ name: 'ship', run: ({ order }: { order: string }) => `parcel of ${order}` });

export const order = durableTask({
  name: 'order',
  run: async ({ order: id, items }: Order, ctx, task) => {
    // A worker may die after the bank has answered, so the step may run again: the bank knows the request by its key.
    const charge = await ctx.step('charge', () => bank.charge(`${task.runId}/charge`));
    // This write and the record of the step are one transaction.
    await ctx.step('reserve', () => {
      withStep({
        Update: {
          TableName: STOCK,
          Key: { id },
          UpdateExpression: 'ADD reserved :count',
          ExpressionAttributeValues: { ':count': items.length },
        },
      });
      return Promise.resolve(items.length);
    });
    const approvedBy = await ctx.waitForCallback('approval', (callbackId) => {
      mailbox.callbackId = callbackId;
      return Promise.resolve();
    });
    await ctx.wait('cool off', { hours: 1 });
    const packed = await ctx.map('pack', [...items], (branch, item) =>
      branch.step('one', () => Promise.resolve(`packed ${item}`)),
    );
    const parcel = await ctx.invoke<unknown, string>('ship', 'ship', { order: id });
    return { charge, approvedBy, packed: packed.getResults(), parcel };
  },
});
