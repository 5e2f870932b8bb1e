/** What `npm run synth` refuses. */
import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Tracing } from 'aws-cdk-lib/aws-lambda';
import { expect, test } from 'vitest';
import { assertPromised } from '../../infra/promised.ts';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, newApp } from './synthesize.ts';

function complaintsOf(props: Partial<TaskWorkersProps>, change?: (stack: Stack) => void): string[] {
  const stack = new Stack(newApp(), 'Example');
  new TaskWorkers(stack, 'Workers', { entry: ENTRY, ...props });
  change?.(stack);
  assertPromised(stack, { isTraced: false });
  return stack.node.validate();
}

test('accepts the defaults', () => {
  expect(complaintsOf({})).toEqual([]);
});

test('misses alarms that are switched off', () => {
  expect(complaintsOf({ alarms: false })).toContain('no alarm leads to the runbook dead-tasks');
  expect(complaintsOf({ wakeOnEnqueue: false })).toContain('no alarm leads to the runbook waker-silent');
});

test('finds an alarm without a runbook', () => {
  const addAlarm = (stack: Stack): void => {
    const metric = new Metric({ namespace: 'n', metricName: 'm', period: Duration.minutes(5) });
    const alarmDescription = 'Runbook: docs/operating.md#runbook-nothing';
    new Alarm(stack, 'Mine', { metric, threshold: 1, evaluationPeriods: 1, alarmDescription });
  };

  expect(complaintsOf({}, addAlarm)).toEqual(['an alarm leads to no runbook: nothing']);
});

test('finds functions that are traced', () => {
  expect(complaintsOf({ tracing: Tracing.ACTIVE })).toHaveLength(3);
});
