/** The CDK app: `npm run synth` shows what `npm run deploy` makes. */
import { App, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { TaskWorkers } from 'leasehold/cdk';
import { schedules } from './src/tasks.ts';

const stack = new Stack(new App(), 'Project');

const reports = new Table(stack, 'Reports', {
  partitionKey: { name: 'id', type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
});

const workers = new TaskWorkers(stack, 'Workers', {
  entry: 'src/tasks.ts',
  schedules,
  maxWorkers: 10, // at most this many Lambdas
  environment: { REPORTS_TABLE: reports.tableName },
});
reports.grantWriteData(workers);
