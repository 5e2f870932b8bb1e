import assert from 'node:assert/strict';
import { createLeasehold, LeaseLostError } from 'leasehold';
import { lock } from 'leasehold/middy';
import { defineTask, DoNotRetry } from 'leasehold/tasks';
import { createTestKit } from 'leasehold/testing';

const leasehold = createLeasehold({ table: 'leasehold', endpoint: 'http://127.0.0.1:1' });
assert.equal(leasehold.table, 'leasehold');
assert.equal(typeof lock, 'function');
leasehold.close();
assert.ok(new LeaseLostError('key', 'expired', 'why') instanceof Error);

const greet = defineTask({
  name: 'greet',
  run: ({ name }) => {
    if (name === '') throw new DoNotRetry('nobody');
    return `hello ${name}`;
  },
});
const kit = createTestKit({ tasks: { greet } });
const { id } = await kit.tasks.enqueue(greet, { name: 'world' });
await kit.drain();
const task = await kit.tasks.get(id);
assert.equal(task?.state, 'done');
console.log(`a task ran, with the result ${JSON.stringify(task.result)}`);
