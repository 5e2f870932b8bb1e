/** The example of an app that adopts `TaskWorkers`. */
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { UploadsStack } from '../../examples/adopt-cdk/app.ts';
import { newApp } from './synthesize.ts';

describe('an app that adopts TaskWorkers', () => {
  const template = Template.fromStack(new UploadsStack(newApp(), 'Uploads'));

  test('keeps its own resources next to the queue and its workers', () => {
    template.resourceCountIs('AWS::S3::Bucket', 1);
    template.resourceCountIs('AWS::DynamoDB::Table', 2);
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: { LEASEHOLD_QUEUE: 'thumbnails', LEASEHOLD_MAX_WORKERS: '50', LEASEHOLD_LOCK_DELAY_MS: '0' },
      },
    });
    template.hasResourceProperties('AWS::Scheduler::Schedule', { ScheduleExpression: 'rate(1 minute)' });
  });

  test('gives its API the right to enqueue, and no right to claim what the queue has', () => {
    const policies = Object.entries(template.findResources('AWS::IAM::Policy'))
      .filter(([id]) => id.startsWith('ApiServiceRole'))
      .map(([, policy]) => JSON.stringify(policy));

    expect(policies).toHaveLength(1);
    expect(policies[0]).toContain('task#thumbnails#*');
    expect(policies[0]).not.toContain('session#*');
    expect(policies[0]).not.toContain('dynamodb:Scan');
  });

  test('tells its own topic when an alarm rings', () => {
    const alarms = Object.values(template.findResources('AWS::CloudWatch::Alarm')) as {
      readonly Properties: { readonly AlarmActions?: readonly unknown[] };
    }[];

    expect(alarms.length).toBeGreaterThan(5);
    expect(alarms.every(({ Properties }) => Properties.AlarmActions?.length === 1)).toBe(true);
  });
});
