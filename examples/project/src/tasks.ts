/**
 * The tasks of this project. `npm run dev` runs them on this machine, and `stack.ts` deploys them.
 *
 * To enqueue one by hand, in another terminal:
 *
 *   npx leasehold enqueue greet '{"name": "Grace"}' --entry src/tasks.ts --endpoint http://127.0.0.1:8000
 */
import { leaseholdOf } from 'leasehold';
import { defineSchedule, defineTask, spawn } from 'leasehold/tasks';
import * as z from 'zod';

const REPORTS = process.env.REPORTS_TABLE ?? 'reports';

/** A task with a schema: other inputs are refused before they are written. */
export const greet = defineTask({
  name: 'greet',
  input: z.object({ name: z.string().min(1) }),
  run({ name }) {
    console.log(`Hello, ${name}!`);
    return { greeted: name };
  },
});

/** A task under a lock: two reports never run at once. Its row is written once, together with the task's end. */
export const report = defineTask({
  name: 'report',
  async run(_: null, task) {
    // The session and its lock end with this attempt.
    const session = await leaseholdOf(task).session();
    const lock = await session.lock('report', { wait: '1m' });
    task.log.info('report begins', { fencingToken: lock.fencingToken });
    return await task.commit('written', [
      {
        Update: {
          TableName: REPORTS,
          Key: { id: task.id },
          UpdateExpression: 'ADD written :one',
          ExpressionAttributeValues: { ':one': 1 },
        },
      },
    ]);
  },
});

/** At three each night, in UTC. */
export const schedules = [defineSchedule('nightly', report, null, { cron: '0 3 * * *' })];

/** Only for `npm run dev` and the tests: this table, and at the start these tasks. */
export const devTables = [{ name: REPORTS, partitionKey: 'id' }];
export const devTasks = [spawn(greet, { name: 'Ada' }), spawn(report, null)];
