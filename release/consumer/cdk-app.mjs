import assert from 'node:assert/strict';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { TaskWorkers } from 'leasehold/cdk';

const stack = new Stack(new App(), 'Mine');
new TaskWorkers(stack, 'Greetings', { entry: `${import.meta.dirname}/tasks.mjs`, queue: 'greetings' });
const functions = Object.keys(Template.fromStack(stack).findResources('AWS::Lambda::Function'));
assert.ok(functions.length >= 2);
console.log(`${functions.length} functions: ${functions.join(', ')}`);
