/**
 * An existing app that adopts `TaskWorkers`: an API that accepts uploads, and now lets workers make its thumbnails.
 *
 *   npx cdk synth --app 'node examples/adopt-cdk/app.ts'
 *
 * New lines are marked. Existing constructs keep their place in the tree, so no resource with data is replaced.
 */
import { fileURLToPath } from 'node:url';
import type { StackProps } from 'aws-cdk-lib';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { TaskWorkers } from 'leasehold/cdk';

export class UploadsStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const uploads = new Bucket(this, 'Uploads');
    const thumbnails = new Table(this, 'Thumbnails', {
      partitionKey: { name: 'key', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
    });
    const onCall = new Topic(this, 'OnCall');
    const api = new LambdaFunction(this, 'Api', {
      runtime: Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = async () => ({ statusCode: 202 })'),
    });
    uploads.grantPut(api);

    // From here on it is new.
    const workers = new TaskWorkers(this, 'Thumbnailers', {
      entry: fileURLToPath(new URL('tasks.ts', import.meta.url)),
      queue: 'thumbnails',
      schedule: ScheduleExpression.rate(Duration.minutes(1)),
      maxWorkers: 50,
      // Its tasks write through `commit`, so no caller has to wait after a worker has vanished.
      lockDelay: Duration.seconds(0),
      environment: { THUMBNAILS: thumbnails.tableName },
      alarmTopic: onCall,
    });
    workers.grantEnqueue(api);
    api.addEnvironment('LEASEHOLD_TABLE', workers.table.tableName);
    uploads.grantRead(workers);
    thumbnails.grantWriteData(workers);
  }
}

/** Started as the app of `cdk`, and not imported by a test. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  new UploadsStack(new App(), 'Uploads');
}
