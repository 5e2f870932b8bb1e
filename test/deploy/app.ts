/** The stacks of the deployment test: ours with a second queue, in two versions, and a stack that imports a restored table. */
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Grant } from 'aws-cdk-lib/aws-iam';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { LeaseholdStack } from '../../infra/stack.ts';
import { CoordinationTable } from '../../infra/table.ts';
import type { TaskWorkersProps } from '../../infra/task-workers-props.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import type { Revision } from './settings.ts';
import {
  BESIDE,
  DEADLINE_MARGIN_MS,
  EFFECTS_TABLE,
  QUEUE,
  QUEUES,
  RESTORED_TABLE,
  REVISIONS,
  SHARDS,
  STACK,
  stackId,
  WORKER_TIMEOUT_MS,
} from './settings.ts';

// All in one assembly, so that files shared by the revisions are bundled once.
const app = new App({ context: featureFlags, outdir: process.argv[2] ?? '' });
for (const revision of REVISIONS) addStack(revision);
app.synth();

function addStack(revision: Revision): void {
  const isRestored = revision === 'restored';
  const workers: TaskWorkersProps = {
    entry: 'test/deploy/tasks.ts',
    queue: QUEUE,
    scheduleEnabled: isRestored,
    // Shorter than a deployment, so that its dead are taken over soon.
    sessionTtl: Duration.seconds(15),
    maxClockSkew: Duration.millis(500),
    workerTimeout: Duration.millis(WORKER_TIMEOUT_MS),
    deadlineMargin: Duration.millis(DEADLINE_MARGIN_MS),
    // A changed setting and changed code, as in an upgrade.
    shards: SHARDS,
    lockDelay: Duration.seconds(revision === '2' ? 2 : 1),
    bundling: { define: { REVISION: JSON.stringify(revision) } },
  };

  if (isRestored) {
    const stack = new Stack(app, stackId(revision), { stackName: `${STACK}Restored` });
    const table = CoordinationTable.fromTable(stack, 'Leases', Table.fromTableName(stack, 'Restored', RESTORED_TABLE));
    const props = { ...workers, table, wakeOnEnqueue: false };
    for (const queue of QUEUES) allowEffects(new TaskWorkers(stack, queue, { ...props, queue }));
  } else {
    const stack = new LeaseholdStack(app, stackId(revision), { stackName: STACK, workers });
    const { table } = stack.workers;
    allowEffects(stack.workers);
    allowEffects(new TaskWorkers(stack, 'Beside', { ...workers, table, queue: BESIDE }));
  }
}

function allowEffects(grantee: TaskWorkers): void {
  const effects = Table.fromTableName(grantee, 'Effects', EFFECTS_TABLE);
  Grant.addToPrincipal({
    grantee,
    actions: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
    resourceArns: [effects.tableArn],
  });
}
