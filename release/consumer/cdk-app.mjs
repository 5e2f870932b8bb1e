import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { TaskWorkers } from 'leasehold/cdk';

const stack = new Stack(new App(), 'Mine');
new TaskWorkers(stack, 'Greetings', {
  entry: `${import.meta.dirname}/tasks.mjs`,
  queue: 'greetings',
});
const template = Template.fromStack(stack);
const [file] = process.argv.slice(2);
if (file !== undefined) writeFileSync(file, JSON.stringify(template.toJSON(), undefined, 1));
const functions = Object.keys(template.findResources('AWS::Lambda::Function'));
for (const name of ['Worker', 'Dispatcher', 'Waker'])
  assert.ok(
    functions.some((id) => id.includes(name)),
    `no function of ${name} among ${functions.join(', ')}`,
  );
console.log(`${functions.length} functions: ${functions.join(', ')}`);
