import { Stack, Validations } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { ENTRY, newApp, synthesize } from './synthesize.ts';

describe('a network', () => {
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
