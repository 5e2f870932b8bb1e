/** An order as a durable task, and what it was asked to do. */
import { defineTask } from '../../../../api/tasks.ts';
import { durableTask, withStep } from '../../../../api/durable.ts';
import { DurableWorld } from '../../../support/durable-world.ts';

export const STOCK = 'stock';
export const RESULT = { charge: 'ch-o-1', ok: '"yes"', items: [2, 4, 6], shipped: 'shipped o-1', last: 'mailed' };

export interface Told {
  /** Steps that have run, in order; each begins with its rank. */
  readonly ran: string[];
  approval?: string | undefined;
}

export function orderTask(told: Told) {
  const does = <Result>(what: string, result: Result) => {
    told.ran.push(what);
    return Promise.resolve(result);
  };
  return durableTask({
    name: 'order',
    run: async (input: { readonly order: string }, ctx) => {
      const charge = await ctx.step('charge', () => does('1 charge', `ch-${input.order}`));
      await ctx.step('reserve', () => {
        withStep({
          Update: {
            TableName: STOCK,
            Key: { id: input.order },
            UpdateExpression: 'ADD reserved :one',
            ExpressionAttributeValues: { ':one': 1 },
          },
        });
        return does('2 reserve', 1);
      });
      const ok = await ctx.waitForCallback('approval', async (id) => {
        told.approval = id;
        await does('3 ask', undefined);
      });
      await ctx.wait('cool off', { hours: 1 });
      const items = await ctx.map('items', [1, 2, 3], (branch, item) =>
        branch.step('pack', () => does(`4 pack ${item}`, item * 2)),
      );
      const shipped = await ctx.invoke<unknown, string>('ship it', 'ship', { order: input.order });
      const last = await ctx.step('mail', () => does('5 mail', 'mailed'));
      return { charge, ok, items: items.getResults(), shipped, last };
    },
  });
}

export const ship = defineTask({ name: 'ship', run: ({ order }: { order: string }) => `shipped ${order}` });

export function orderWorld(): { readonly world: DurableWorld; readonly told: Told } {
  const told: Told = { ran: [] };
  return { told, world: new DurableWorld({ tasks: { order: orderTask(told), ship }, tables: [STOCK] }) };
}
