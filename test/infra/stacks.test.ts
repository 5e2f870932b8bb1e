/**
 * Whole stacks that need more than properties of one queue: a network, and tables of every kind.
 *
 * After an intended change: `npx vitest run test/infra/stacks.test.ts -u`, and read the difference.
 */
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { StreamViewType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { SecurityGroup, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { AccountPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Stack } from 'aws-cdk-lib';
import { expect, test } from 'vitest';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, newStack, synthesize } from './synthesize.ts';
import { difference, linesOf } from './template-lines.ts';

const linesIn = (stack: Stack): readonly string[] => linesOf(Template.fromStack(stack).toJSON());
const plain = linesIn(synthesize().stack);
const changesIn = (stack: Stack): string => difference(plain, linesIn(stack)).join('\n');

function functionIn(stack: Stack, id: string): LambdaFunction {
  return new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = 1'),
  });
}

test('a worker in a network, and functions that enqueue', async () => {
  const stack = newStack();
  const vpc = Vpc.fromVpcAttributes(stack, 'Network', {
    vpcId: 'vpc-0123456789abcdef0',
    availabilityZones: ['eu-west-1a', 'eu-west-1b'],
    privateSubnetIds: ['subnet-0123456789abcdef1', 'subnet-0123456789abcdef2'],
    privateSubnetRouteTableIds: ['rtb-0123456789abcdef1', 'rtb-0123456789abcdef2'],
  });
  const { workers } = synthesize(
    {
      vpc,
      vpcSubnets: {
        subnets: [
          Subnet.fromSubnetAttributes(stack, 'Chosen', {
            subnetId: 'subnet-0123456789abcdef2',
            routeTableId: 'rtb-0123456789abcdef2',
          }),
        ],
      },
      securityGroups: [SecurityGroup.fromSecurityGroupId(stack, 'Group', 'sg-0123456789abcdef0')],
      shards: 3,
      maxClockSkew: Duration.millis(700),
    },
    stack,
  );
  const other = new TaskWorkers(stack, 'Mail', { entry: ENTRY, queue: 'mail', alarms: false, dashboard: false });
  const api = functionIn(stack, 'Api');
  workers.connect(api);
  workers.connect(api);
  workers.addEnvironment('LATER', 'yes');

  expect(() => other.connect(api)).toThrow(/^connect: Theirs\/Api names queue media in its variables already/);
  expect(() => other.connect(workers.worker.function as never)).toThrow('names queue media');
  const changes = changesIn(stack).split('\n');
  await expect(changes.filter((line) => !line.includes('.Mail')).join('\n')).toMatchFileSnapshot(
    './stacks/network.golden.txt',
  );
});

test('tables of every kind, and who may coordinate', async () => {
  const stack = newStack();
  const key = Key.fromKeyArn(stack, 'Key', 'arn:aws:kms:eu-west-1:123456789012:key/one');
  const existing = Table.fromTableAttributes(stack, 'Existing', { tableName: 'leases', tableStreamArn: 'arn:stream' });
  const grantee = (id: string) =>
    new Role(stack, `${id}Role`, { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  const { RETAIN, DESTROY } = RemovalPolicy;
  const tables = {
    Trial: new CoordinationTable(stack, 'Trial', { production: false }),
    Kept: new CoordinationTable(stack, 'Kept', { production: false, removalPolicy: RETAIN }),
    Removed: new CoordinationTable(stack, 'Removed', { removalPolicy: DESTROY, tableName: 'gone' }),
    Keyed: new CoordinationTable(stack, 'Keyed', { encryptionKey: key, stream: StreamViewType.NEW_IMAGE }),
    Streamed: new CoordinationTable(stack, 'Streamed', { stream: StreamViewType.NEW_IMAGE }),
    Adopted: CoordinationTable.fromTable(stack, 'Adopted', existing, { encryptionKey: key }),
  };
  for (const id of ['Keyed', 'Adopted'] as const) tables[id].grantCoordinate(grantee(id));

  const streams = Object.entries(tables).map(([id, table]) => [id, stack.resolve(table.streamArn()) as unknown]);
  expect(streams.map((stream) => JSON.stringify(stream))).toMatchInlineSnapshot(`
    [
      "["Trial",{"Fn::GetAtt":["TrialTable73AC6D3A","StreamArn"]}]",
      "["Kept",{"Fn::GetAtt":["KeptTable44F1013B","StreamArn"]}]",
      "["Removed",{"Fn::GetAtt":["RemovedTableA9CC689E","StreamArn"]}]",
      "["Keyed",{"Fn::GetAtt":["KeyedTable317D7945","StreamArn"]}]",
      "["Streamed",{"Fn::GetAtt":["StreamedTableD3CDC788","StreamArn"]}]",
      "["Adopted","arn:stream"]",
    ]
  `);
  expect(() => tables.Trial.grantCoordinate(new AccountPrincipal('123456789012'))).toThrow(
    'a grant to a principal of account 123456789012, in a stack that does not say its account',
  );
  await expect(linesIn(stack).join('\n')).toMatchFileSnapshot('./stacks/tables.golden.txt');
});
