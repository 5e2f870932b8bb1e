import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import { LeaseholdStack } from '../../infra/stack.ts';
import { CDK_RULES, ENTRY, newApp } from './synthesize.ts';

const newStack = (
  production: boolean,
  wakeOnEnqueue = true,
): { app: ReturnType<typeof newApp>; stack: LeaseholdStack } => {
  const app = newApp({ [CDK_RULES]: true });
  const stack = new LeaseholdStack(app, 'Leasehold', { workers: { entry: ENTRY, production, wakeOnEnqueue } });
  return { app, stack };
};

describe('LeaseholdStack', () => {
  test('tells clients what they need, under names that do not change', () => {
    const template = Template.fromStack(newStack(true).stack);

    expect(template.findOutputs('*')).toEqual({
      DispatcherFunctionName: {
        Description: 'Invokes workers',
        Value: {
          Ref: 'WorkersDispatcherHandlerFunctionB685C9EF',
        },
      },
      QueueName: {
        Description: 'The queue that clients enqueue into',
        Value: 'default',
      },
      TableName: {
        Description: 'The table that clients connect to',
        Value: {
          Ref: 'WorkersTable91D4FC36',
        },
      },
      WorkerFunctionName: {
        Description: 'Runs tasks',
        Value: {
          Ref: 'WorkersWorkerHandlerFunctionFDEE1807',
        },
      },
    });
  });

  test('keeps the identity of what holds data: a changed logical id would replace the table', () => {
    const template = Template.fromStack(newStack(true).stack);

    expect(Object.keys(template.findResources('AWS::DynamoDB::Table'))).toEqual(['WorkersTable91D4FC36']);
    expect(Object.keys(template.findResources('AWS::SQS::Queue'))).toEqual(['WorkersDispatcherDeadLetters2AA6A865']);
  });

  test.each([
    [true, true],
    [false, true],
    [true, false],
  ])(
    'passes the solutions and serverless checks of cdk-nag (production: %s, waking on enqueue: %s)',
    (production, wakeOnEnqueue) => {
      const { app } = newStack(production, wakeOnEnqueue);
      Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));

      expect(() => app.synth()).not.toThrow();
    },
  );

  test('would not pass them with a queue that may be read in the clear', () => {
    const { app, stack } = newStack(true);
    new Queue(stack, 'Careless');
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

    expect(() => app.synth()).toThrow(/[Vv]alidation/);
    const report = readFileSync(path.join(app.outdir, 'validation-report.json'), 'utf8');
    expect(report).toContain('AwsSolutions-SQS4');
    expect(report).not.toContain('Workers/');
  });
});
