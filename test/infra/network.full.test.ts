import { Stack, Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import type { IVpc } from 'aws-cdk-lib/aws-ec2';
import { SecurityGroup, SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, newApp, synthesize } from './synthesize.ts';

describe('a network', () => {
  test('is the worker’s alone, with the rights to make its interfaces', () => {
    const stack = new Stack(newApp(), 'Theirs');
    // The construct library's own types disagree where an absent property is not an undefined one.
    const vpc = new Vpc(stack, 'Network') as IVpc;
    const group = new SecurityGroup(stack, 'Group', { vpc });
    new TaskWorkers(stack, 'Media', {
      entry: ENTRY,
      queue: 'media',
      vpc,
      securityGroups: [group],
      vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
    });
    const template = Template.fromStack(stack);

    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Runs tasks of the queue media',
      VpcConfig: {
        SubnetIds: vpc.privateSubnets.map(({ subnetId }): unknown => stack.resolve(subnetId)),
        SecurityGroupIds: [stack.resolve(group.securityGroupId)],
      },
    });
    template.hasResourceProperties('AWS::Lambda::Function', {
      Description: 'Invokes workers for the queue media',
      VpcConfig: Match.absent(),
    });
    const roles = Object.entries(template.findResources('AWS::IAM::Role'))
      .filter(([, { Properties }]) => JSON.stringify(Properties).includes('AWSLambdaVPCAccessExecutionRole'))
      .map(([id]) => id);
    expect(roles).toEqual([expect.stringContaining('WorkerHandlerRole')]);
  });

  test('passes the checks of its construct', () => {
    const app = newApp();
    const stack = new Stack(app, 'Theirs');
    const network = Vpc.fromVpcAttributes(stack, 'Network', {
      vpcId: 'vpc-0123456789abcdef0',
      availabilityZones: ['eu-west-1a'],
      privateSubnetIds: ['subnet-0123456789abcdef0'],
    });
    new TaskWorkers(stack, 'Media', { entry: ENTRY, vpc: network });
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));

    expect(() => app.synth()).not.toThrow();
  });

  test('has to be there for a place in it', () => {
    expect(() => synthesize({ vpcSubnets: { onePerAz: true } })).toThrow(
      'vpcSubnets and securityGroups are of a network: pass vpc as well',
    );
  });
});
