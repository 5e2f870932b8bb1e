import assert from 'node:assert/strict';
import { durableTask } from 'leasehold/durable';
import { createTestKit } from 'leasehold/testing';

const order = durableTask({
  name: 'order',
  run: async ({ of }, ctx) => {
    const charge = await ctx.step('charge', async () => `charged ${of}`);
    await ctx.wait('cool off', { hours: 1 });
    return charge;
  },
});
const kit = createTestKit({ tasks: { order } });
const { id } = await kit.tasks.enqueue(order, { of: 'world' });
await kit.drain();
assert.notEqual((await kit.tasks.get(id))?.state, 'done');
await kit.advance('1h');
await kit.drain();
const task = await kit.tasks.get(id);
assert.equal(task?.state, 'done');
console.log(`a durable task waited an hour, with the result ${JSON.stringify(task.result)}`);
