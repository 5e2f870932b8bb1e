import { durableTask, withStep } from 'leasehold/durable';
import type { TaskDefinition } from 'leasehold/tasks';

export const order: TaskDefinition<{ readonly of: string }, string> = durableTask({
  name: 'order',
  run: async (input: { readonly of: string }, ctx, task) => {
    await ctx.step('reserve', async () => withStep({ Put: { TableName: 'stock', Item: { id: task.id } } }));
    return ctx.step('charge', async () => `charged ${input.of}`);
  },
});
