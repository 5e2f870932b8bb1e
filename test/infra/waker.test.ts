/** The waker in the template: one for all queues of a table, its filter, its rights, and what it refuses. */
import type { Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { describe, expect, test } from 'vitest';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import type { WorkerSettings } from '../../infra/validate.ts';
import { Waker } from '../../infra/waker.ts';
import { ENTRY, newApp, newStack, printNoWarning } from './synthesize.ts';

describe('waking on enqueue', () => {
  const keysOf = (...queues: string[]): string =>
    JSON.stringify({
      eventName: ['INSERT'],
      dynamodb: {
        Keys: {
          pk: { S: queues.flatMap((queue) => [{ prefix: `task#${queue}#` }, { prefix: `arrival#${queue}#` }]) },
        },
      },
    });

  test('uses one function for all queues of a table, with their non-default settings, without queues that opted out', () => {
    const stack = newStack();
    const table = new CoordinationTable(stack, 'Shared');
    new TaskWorkers(stack, 'Media', { entry: ENTRY, table, queue: 'media' });
    new TaskWorkers(stack, 'Mail', { entry: ENTRY, table, queue: 'mail', maxWorkers: 50 });
    new TaskWorkers(stack, 'Archive', { entry: ENTRY, table, queue: 'archive', wakeOnEnqueue: false });
    const template = Template.fromStack(stack);

    template.resourceCountIs('AWS::Lambda::EventSourceMapping', 1);
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      FilterCriteria: { Filters: [{ Pattern: keysOf('media', 'mail') }] },
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Starts workers when tasks are enqueued',
      Environment: {
        Variables: {
          LEASEHOLD_WAKE_QUEUES: {
            'Fn::Join': [
              '',
              [
                '[{"queue":"media","workerFunction":"',
                { Ref: Match.stringLikeRegexp('^MediaWorker') },
                '"},{"queue":"mail","workerFunction":"',
                { Ref: Match.stringLikeRegexp('^MailWorker') },
                '","maxWorkers":50}]',
              ],
            ],
          },
        },
      },
    });
  });

  test('is in each stack whose queues share a table of another, and DynamoDB allows two', () => {
    const app = newApp();
    const table = new CoordinationTable(newStack(app, 'Data'), 'Shared');
    const add = (queue: string): Stack => {
      const stack = newStack(app, queue);
      new TaskWorkers(stack, 'Workers', { entry: ENTRY, table, queue });
      return stack;
    };
    const media = add('media');
    add('mail');

    Template.fromStack(media).resourceCountIs('AWS::Lambda::EventSourceMapping', 1);
    expect(() => add('reports')).toThrow(
      "wakeOnEnqueue in stack reports: the stacks media, mail, reports would each read the table's stream, and DynamoDB throttles more than 2 readers",
    );
  });

  test('needs a stream on an existing table: it warns without one, or fails if it was requested', () => {
    printNoWarning();
    const stack = newStack();
    const existing = Table.fromTableName(stack, 'Existing', 'leases');
    const table = CoordinationTable.fromTable(stack, 'Leases', existing);
    const { waker } = new TaskWorkers(stack, 'Media', { entry: ENTRY, table, queue: 'media' });

    expect(waker).toBeUndefined();
    Annotations.fromStack(stack).hasWarning('/Theirs/Media', Match.stringLikeRegexp('the table has no stream'));
    expect(() => new TaskWorkers(stack, 'Mail', { entry: ENTRY, table, queue: 'mail', wakeOnEnqueue: true })).toThrow(
      'wakeOnEnqueue: the table has no stream',
    );
  });

  test('refuses more queues than the variables of one function can describe', () => {
    const stack = newStack();
    const table = new CoordinationTable(stack, 'Shared');
    const waker = Waker.ofTable(stack, table, {
      production: false,
      tracing: undefined,
      isAskedFor: true,
    });
    const { worker } = new TaskWorkers(stack, 'First', { entry: ENTRY, table, queue: 'first' });
    const serve = (queue: string): void => waker?.serve({ queue } as WorkerSettings, worker.function);
    const queues = Array.from({ length: 40 }, (_, nth) => `queue-${nth}`);

    expect(() => queues.forEach(serve)).toThrow(
      /^wakeOnEnqueue of queue queue-\d\d: the settings of \d\d queues take \d+ characters/,
    );
  });
});
