/**
 * The CDK app: `npm run deploy`, or with settings `npm run deploy -- -c production=true -c entry=src/tasks.ts`.
 *
 * | context | meaning | default |
 * | --- | --- | --- |
 * | `entry` | the module that exports the tasks | `examples/pages/tasks.ts` |
 * | `stack` | the stack's name | `Leasehold` |
 * | `production` | keep the table and the logs when the stack is deleted | `false`: a trial leaves nothing behind |
 */
import { deployment } from './deployment.ts';

deployment();
