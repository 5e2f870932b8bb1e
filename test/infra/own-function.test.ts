import path from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import type { CfnRole, IRole } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { describe, expect, test } from 'vitest';
import { ENV } from '../../functions/env.ts';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import { statementsOf } from './policy.ts';
import { newStack, printNoWarning, synthesize } from './synthesize.ts';

function withOwn(
  props: Partial<TaskWorkersProps> = {},
  timeout: Duration | null = Duration.minutes(5),
): { readonly stack: Stack; readonly workers: TaskWorkers; readonly own: LambdaFunction } {
  const stack = newStack();
  const own = new LambdaFunction(stack, 'Own', {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = 1'),
    ...(timeout === null ? {} : { timeout }),
  });
  return { stack, own, workers: new TaskWorkers(stack, 'Media', { workerFunction: own, queue: 'media', ...props }) };
}

/** A role's rights to tables and functions, without resource names. */
function rightsOf(template: Template, role: IRole | undefined): readonly string[] {
  const id = Stack.of(role!).getLogicalId(role!.node.defaultChild as CfnRole);
  return statementsOf(template, id)
    .map(({ Action }) => JSON.stringify(Action))
    .filter((actions) => /dynamodb:|lambda:/.test(actions))
    .sort();
}

describe('a worker that is a function of the user’s own', () => {
  test('gets the same variables and rights as ours, and replaces it', () => {
    const { stack, workers, own } = withOwn({ maxWorkers: 3 });
    const template = Template.fromStack(stack);
    const theirs = synthesize({ maxWorkers: 3 });
    const ours = { ...theirs, template: theirs.template() };
    const environmentOf = (from: Template, description: object): Record<string, unknown> => {
      const [found] = Object.values(from.findResources('AWS::Lambda::Function', { Properties: description }));
      const properties = found?.Properties as { Environment: { Variables: Record<string, unknown> } } | undefined;
      return Object.fromEntries(
        Object.entries(properties?.Environment.Variables ?? {}).filter(([name]) => name.startsWith('LEASEHOLD_')),
      );
    };

    expect(workers.worker.function).toBe(own);
    expect(Object.keys(environmentOf(template, { Handler: 'index.handler' })).sort()).toEqual(
      Object.keys(environmentOf(ours.template, { Description: 'Runs tasks of the queue media' })).sort(),
    );
    expect(environmentOf(template, { Handler: 'index.handler' })[ENV.maxWorkers]).toBe('3');
    expect(rightsOf(template, own.role)).toEqual(rightsOf(ours.template, ours.workers.worker.role));
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: stack.getLogicalId(own.node.defaultChild as never) },
      MaximumRetryAttempts: 0,
    });
    template.resourcePropertiesCountIs('AWS::Lambda::Function', { RecursiveLoop: Match.anyValue() }, 0);
    template.resourcePropertiesCountIs(
      'AWS::Lambda::Function',
      { Description: Match.stringLikeRegexp('Runs tasks') },
      0,
    );
  });

  test.each<[string, () => unknown, string]>([
    ['an entry as well', () => withOwn({ entry: 'tasks.ts' }), 'entry and workerFunction are mutually exclusive'],
    ['memory', () => withOwn({ workerMemory: 1_024 }), 'workerMemory is of the function that we make of entry'],
    ['variables', () => withOwn({ environment: { A: '1' } }), 'environment is of the function that we make of entry'],
    ['Lambda’s short default of time', () => withOwn({}, null), 'workerTimeout = 3 s leaves less than 5 s for work'],
  ])('is refused with %s', (_what, make, message) => {
    expect(make).toThrow(message);
  });
});

describe('schedules of the stack', () => {
  const nightly = defineSchedule('nightly', 'report', { kind: 'sales' }, { cron: '0 3 * * *', zone: 'Europe/Berlin' });

  test('are handed to the dispatcher, which may define them', () => {
    const synthesized = synthesize({ schedules: [nightly] });

    synthesized.template().hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Invokes workers for the queue media',
      Environment: {
        Variables: Match.objectLike({
          [ENV.schedules]: '[["nightly","report",{"kind":"sales"},{"cron":"0 3 * * *","zone":"Europe/Berlin"}]]',
        }),
      },
    });
    expect(
      Annotations.fromStack(synthesized.stack).findWarning('*', Match.stringLikeRegexp('exports schedules')),
    ).toEqual([]);
  });

  test('are missed, with a warning, where only the module of tasks has them', () => {
    printNoWarning();
    const { stack } = synthesize({ entry: path.join(import.meta.dirname, 'fixtures/recurring.ts') });

    expect(Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('exports schedules'))).toHaveLength(1);
  });

  test.each<[string, unknown, string]>([
    ['an expression that never comes', [defineSchedule('n', 't', null, { cron: '0 0 31 2 *' })], 'schedule n: cron'],
    ['a zone that is none', [defineSchedule('n', 't', null, { cron: '0 3 * * *', zone: 'Mars' })], 'zone = "Mars"'],
    [
      'another queue',
      [defineSchedule('n', 't', null, { cron: '0 3 * * *', queue: 'b' })],
      'the dispatcher serves queue "media"',
    ],
    ['two of one name', [nightly, nightly], 'two of them are named "nightly"'],
    ['no list', nightly, 'must be a list of defineSchedule('],
    [
      'inputs that do not fit',
      [defineSchedule('n', 't', 'x'.repeat(4_000), { cron: '0 3 * * *' })],
      'and 3000 are free',
    ],
  ])('are refused with %s', (_what, schedules, message) => {
    expect(() => synthesize({ schedules: schedules as never })).toThrow(message);
  });
});
