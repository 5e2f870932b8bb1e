/** `leaseholdOf(task)`: the client of the worker that runs a task, and sessions that end with its attempt. */
import { expect, test } from 'vitest';
import { leaseholdOf } from '../../../shared/client/leasehold-of.ts';
import type { Session } from '../../../shared/client/session.ts';
import { ConfigurationError, LeaseLostError } from '../../../shared/core/errors.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import { simulatedWorld } from '../../support/coordination.ts';

/** Runs a task that opens a session and takes a lock with it. */
async function held(then: (task: TaskContext, session: Session) => unknown, options = {}) {
  const opened: Session[] = [];
  const t = defineTask({
    name: 't',
    timeout: '10s',
    async run(_: unknown, task) {
      const session = await leaseholdOf(task).session();
      opened.push(session);
      await session.lock('k');
      return (await then(task, session)) as never;
    },
  });
  const kit = createTestKit({ tasks: { t }, log: silent });
  await kit.tasks.enqueue(t, null, { id: 't' });
  await kit.drain(options);
  return { kit, session: opened[0]!, task: (await kit.tasks.get('t'))! };
}

test.each<[string, (task: TaskContext) => unknown, object]>([
  ['returns', () => 'done', {}],
  ['commits', (task) => task.commit('done'), {}],
  ['throws', () => Promise.reject(new Error('no')), {}],
  ['is snoozed', (task) => task.snooze('1h'), {}],
  ['ignores its timeout', () => Promise.race([]), { timePasses: true, lifetime: '1m' }],
])('a session ends with an attempt that %s', async (_how, then, options) => {
  const { kit, session } = await held(then, options);

  expect(session.signal.aborted).toBe(true);
  expect(await Array.fromAsync(kit.leasehold.sessions.list())).toEqual([]);
  expect(await kit.leasehold.locks.get('k')).not.toMatchObject({ status: 'held' });
});

test('it is the client of the worker, which only the worker closes', async () => {
  const seen: unknown[] = [];
  await held(async (task) => {
    const own = leaseholdOf(task);
    seen.push(own === leaseholdOf({ ...task }), own.table, await own.tasks.get(task.id));
    expect(() => own.close()).toThrow(ConfigurationError);
  });
  expect(seen).toEqual([true, 'leasehold', expect.objectContaining({ id: 't', state: 'running' })]);
});

test('it opens no session for an attempt that has ended', async () => {
  const late = Promise.withResolvers<TaskContext>();
  await held((task) => late.resolve(task));

  await expect(leaseholdOf(await late.promise).session()).rejects.toThrow(LeaseLostError);
});

test('it refuses all except the context of a task', () => {
  expect(() => leaseholdOf({} as TaskContext)).toThrow('run(input, task)');
});

test('a denied lock names the grant, and a denied task does not', async () => {
  const { leasehold, driver } = simulatedWorld().start();
  await using session = await leasehold.session();
  driver.attempt = () =>
    Promise.reject(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }));

  await expect(session.lock('k')).rejects.toThrow('in CDK, workers.grantCoordinate(workers) allows it to tasks');
  await expect(leasehold.tasks.get('t')).rejects.toThrow(/^(?!.*grantCoordinate).*not allowed/s);
});
