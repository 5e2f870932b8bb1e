/**
 * The CDK app: `npm run deploy`, or with settings `npm run deploy -- -c production=true -c entry=src/tasks.ts`.
 *
 * | context | meaning | default |
 * | --- | --- | --- |
 * | `entry` | the module that exports the tasks | `examples/pages/tasks.ts` |
 * | `stack` | the stack's name | `Leasehold` |
 * | `consul` | Consul's session and KV API behind a function URL | `false` |
 * | `production` | keep the table and the logs when the stack goes | `false`: what was tried out leaves nothing behind |
 */
import { App, Tags, Validations } from 'aws-cdk-lib';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { LeaseholdStack } from './stack.ts';

const app = new App({ context: featureFlags });
const context = (name: string, byDefault: string): string => String(app.node.tryGetContext(name) ?? byDefault);

const isProduction = context('production', 'false') === 'true';
if (!isProduction)
  process.stderr.write(
    'the table goes with the stack, and all tasks with it: deploy with -c production=true to keep it\n',
  );

new LeaseholdStack(app, context('stack', 'Leasehold'), {
  description: 'Leasehold: serverless task queue, locks and sessions on one DynamoDB table',
  workers: {
    entry: context('entry', 'examples/pages/tasks.ts'),
    production: isProduction,
  },
  consul: context('consul', 'false') === 'true',
});
Tags.of(app).add('application', 'leasehold');
Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
