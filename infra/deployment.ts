/** The example deployment, with settings from the CDK command's context, checked by cdk-nag. */
import { App, Tags, Validations } from 'aws-cdk-lib';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { LeaseholdStack } from './stack.ts';

interface Deployment {
  readonly stack: LeaseholdStack;
  readonly isProduction: boolean;
}

export function deployment(): Deployment {
  const app = new App({ context: featureFlags });
  const context = (name: string, byDefault: string): string => String(app.node.tryGetContext(name) ?? byDefault);
  const isProduction = context('production', 'false') === 'true';
  if (!isProduction)
    process.stderr.write(
      'the table goes with the stack, and all tasks with it: deploy with -c production=true to keep it\n',
    );
  const stack = new LeaseholdStack(app, context('stack', 'Leasehold'), {
    description: 'Leasehold: serverless task queue, locks and sessions on one DynamoDB table',
    workers: { entry: context('entry', 'examples/pages/tasks.ts'), production: isProduction },
  });
  Tags.of(app).add('application', 'leasehold');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  return { stack, isProduction };
}
