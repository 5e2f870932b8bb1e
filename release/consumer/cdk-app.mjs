import assert from 'node:assert/strict';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { ConsulGateway, TaskWorkers } from 'leasehold/cdk';

const stack = new Stack(new App(), 'Mine');
const { table } = new TaskWorkers(stack, 'Greetings', {
  entry: `${import.meta.dirname}/tasks.mjs`,
  queue: 'greetings',
  wakeOnEnqueue: true,
});
new ConsulGateway(stack, 'Consul', { table });
const functions = Object.keys(Template.fromStack(stack).findResources('AWS::Lambda::Function'));
for (const name of ['Worker', 'Dispatcher', 'Waker', 'Consul'])
  assert.ok(
    functions.some((id) => id.includes(name)),
    `no function of ${name} among ${functions.join(', ')}`,
  );
console.log(`${functions.length} functions: ${functions.join(', ')}`);
