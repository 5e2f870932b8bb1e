/** The example deployment: one table, one queue with its workers, and the names that a client needs. */
import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { TaskWorkersProps } from './task-workers-props.ts';
import { TaskWorkers } from './task-workers.ts';

interface LeaseholdStackProps extends StackProps {
  readonly workers: TaskWorkersProps;
}

export class LeaseholdStack extends Stack {
  readonly workers: TaskWorkers;

  constructor(scope: Construct, id: string, props: LeaseholdStackProps) {
    super(scope, id, props);
    this.workers = new TaskWorkers(this, 'Workers', props.workers);
    const { table, worker, dispatcher, queue } = this.workers;

    this.output('TableName', table.tableName, 'The table that clients connect to');
    this.output('QueueName', queue, 'The queue that clients enqueue into');
    this.output('WorkerFunctionName', worker.function.functionName, 'Runs tasks');
    this.output('DispatcherFunctionName', dispatcher.function.functionName, 'Invokes workers');
  }

  private output(id: string, value: string, description: string): void {
    new CfnOutput(this, id, { value, description });
  }
}
