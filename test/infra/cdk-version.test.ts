import * as cdk from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { expect, test } from 'vitest';
import { acknowledge, node24 } from '../../infra/cdk-version.ts';

test('an aws-cdk-lib without Node.js 24 is refused by name', () => {
  expect(() => node24({})).toThrow(/^aws-cdk-lib \d+\.\d+\.\d+ has no Node\.js 24 runtime.*2\.224\.0 or later$/);
  expect(node24()).toBe(Runtime.NODEJS_24_X);
});

test('a finding of cdk-nag is acknowledged on its scope', () => {
  const stack = new cdk.Stack();

  acknowledge(stack, { id: 'AwsSolutions-XYZ1', reason: 'a test' });

  expect(JSON.stringify(stack.node.metadata)).toContain('AwsSolutions-XYZ1');
});
