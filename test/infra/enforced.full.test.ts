/**
 * The policies at work: each principal does all that it is for, through a gate that enforces its synthesized policies.
 * A verb that needs more than `infra/access.ts` gives is refused here by name, before it is refused in a user's account.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { createWorkHandler } from '../../functions/work.ts';
import { taskKey } from '../../shared/dynamo/engine/keys.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { createClientStores } from '../../shared/client/stores.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { callbackIdOf } from '../../shared/tasks/durable/callback-id.ts';
import { Callbacks } from '../../shared/tasks/durable/callbacks.ts';
import { createJournalStore } from '../../shared/tasks/rows/task/dynamo-journal-store.ts';
import type { ReadyTask, RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import { SPAWNED_IN_ORDER, tasks } from './enforced-tasks.ts';
import { Gates, lambdaContext, newRole, stubHandler, upstream } from './gates.ts';
import type { PolicyGate } from './policy-gate.ts';
import { synthesize } from './synthesize.ts';
import type { Tools } from './tools.ts';
import { clientConfig, look, openTools } from './tools.ts';
import { newTables } from '../support/new-tables.ts';

const QUEUE = 'media';
const SHARDS = 2;
const IN_ORDER = ['first', 'second'];
const settings = { queue: QUEUE, shards: SHARDS };

const { stack, workers } = synthesize({ shards: SHARDS });
const roles = {
  enqueue: newRole(stack, 'enqueue', (role) => workers.grantEnqueue(role)),
  replace: newRole(stack, 'replace', (role) => workers.grantReplace(role)),
  coordinate: newRole(stack, 'coordinate', (role) => workers.grantCoordinate(role)),
  callbacks: newRole(stack, 'callbacks', (role) => workers.grantCallbacks(role)),
  observe: newRole(stack, 'observe', (role) => workers.grantObserve(role)),
  operate: newRole(stack, 'operate', (role) => workers.grantOperate(role)),
  work: workers.worker.role,
  dispatch: workers.dispatcher.handler.role,
  wake: workers.waker!.handler.role,
};
const table = `enforced-${systemRuntime.ids.unique()}`;
const gates = new Gates(stack, workers, table);

describe.skipIf(upstream === null)('a worker with its policies enforced', () => {
  beforeAll(async () => {
    await newTables(upstream ?? '', table, `${table}-effects`);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await gates.close();
  });

  test.each(['enqueue', 'replace'] as const)(
    'a producer that may %s enqueues and looks, and replaces where it may',
    async (role) => {
      const gate = await gateFor(role);
      using leasehold = createLeasehold({ table, endpoint: gate.endpoint, clientConfig, ...settings });

      const [one, batchId, prefix] = [`${role}-one`, `${role}-batch`, `${role}-`];
      const enqueue = (input: object, options: object) =>
        leasehold.tasks.enqueue('any', input, { id: one, ...options });
      await enqueue({ a: 1 }, { delay: '1h' });
      await enqueue({ a: 1 }, {});
      await enqueue({ a: 2 }, { onDuplicate: 'keep' });
      const replaced = [
        await enqueue({ a: 3 }, { onDuplicate: 'replace', delay: '1h' }).catch(String),
        await enqueue({ a: 4 }, { onDuplicate: 'debounce', delay: '1h' }).catch(String),
      ];

      const children = [{ task: 'any', input: {}, options: { id: `${prefix}child` } }];
      const batch = await leasehold.tasks.enqueueBatch(children, {
        id: batchId,
        then: { task: 'any', input: {}, options: {} },
      });
      await leasehold.tasks.getBatch(batch.id);

      await enqueue({}, { id: `${prefix}p1`, key: role, ordered: true, delay: '1h' });
      await enqueue({}, { id: `${prefix}p2`, key: role, ordered: true, delay: '1h' });
      await enqueue({ text: 'x'.repeat(20_000) }, { id: `${prefix}p3`, tenant: 'acme', delay: '1h' });

      const mayReplace = role === 'replace';
      expect(replaced.every((outcome) => (typeof outcome === 'object') === mayReplace)).toBe(true);
      expect(await leasehold.tasks.get(one)).toMatchObject({ input: { a: mayReplace ? 4 : 1 } });
      expect(gate.refusals()).toEqual(mayReplace ? [] : [`dynamodb:UpdateItem on the table for task#${QUEUE}#${one}`]);
    },
  );

  test('a dispatcher makes tasks of due schedules and invokes workers', async () => {
    const gate = await gateFor('dispatch');
    const root = asRoot();
    const soon = { cron: '* * * * * *', missed: 'last' } as const;
    await root.schedules.define('often', 'any', {}, soon);
    await root.leasehold.tasks.enqueue('any', {}, { id: 'backlog' });
    await wait(1_100);
    stubHandlerEnvironment(gate, dispatcherVariables(gate));
    const { handler } = await import('../../functions/dispatch.ts');

    const report = await handler({ schedule: QUEUE, scheduledTime: '2026-08-01T00:00:00Z' }, lambdaContext());

    expect(gate.refusals()).toEqual([]);
    expect(report).toMatchObject({ duplicate: false, recurred: 1, failedStarts: 0 });
    expect(gate.invoked).toContain(gates.logicalIdOf(workers.worker.function));
    await root.schedules.remove('often');
    root.close();
  });

  test('lets the waker query and invoke a worker for an inserted task', async () => {
    const gate = await gateFor('wake');
    const root = asRoot();
    await root.leasehold.tasks.enqueue('any', {}, { id: 'inserted', tenant: 'acme', priority: 'low' });
    const { [ENV.workerFunction]: workerFunction, ...variables } = dispatcherVariables(gate);
    const queues = JSON.stringify([{ queue: QUEUE, workerFunction, shards: SHARDS }]);
    stubHandlerEnvironment(gate, { [ENV.wakeQueues]: queues, ...variables });
    const { handler } = await import('../../functions/wake.ts');
    const dynamodb = { Keys: { pk: { S: taskKey(QUEUE, 'inserted').pk } } };

    const report = await handler({ Records: [{ eventName: 'INSERT', dynamodb }] }, lambdaContext());

    expect(gate.refusals()).toEqual([]);
    expect(report[QUEUE]?.started).toBeGreaterThan(0);
    expect(gate.invoked).toContain(workerFunction);
    root.close();
  });

  test('a worker runs, retries, buries, hands back and takes over tasks', async () => {
    const gate = await gateFor('work');
    const root = asRoot();
    const ids = ['succeeds', 'commits', 'fails', 'dies', 'snoozes', 'progresses', 'spawns', 'waits'] as const;
    for (const id of ids) await root.leasehold.tasks.enqueue(id, {}, { id, key: 'customer-7', limit: 100 });
    for (const id of IN_ORDER) await root.leasehold.tasks.enqueue('succeeds', {}, { id, key: 'k', ordered: true });
    await root.leasehold.tasks.enqueue('succeeds', { text: 'x'.repeat(20_000) }, { id: 'large', tenant: 'acme' });
    await root.leasehold.tasks.enqueue('succeeds', {}, { id: 'orphan' });
    await claimAsGhost('orphan');
    await root.operator.cancel('progresses').then(() => root.operator.retry('progresses'));
    stubHandlerEnvironment(gate);
    const handler = createWorkHandler(tasks(`${table}-effects`));

    const result = await handler({ queue: QUEUE, homeShards: [0, 1] }, lambdaContext());

    expect(gate.refusals()).toEqual([]);
    expect(result).toMatchObject({ permit: true });
    const states = await Promise.all(
      [...ids, 'orphan', ...IN_ORDER, ...SPAWNED_IN_ORDER, 'large'].map(
        async (id) => (await root.leasehold.tasks.get(id))?.state,
      ),
    );
    expect(states.slice(0, 5)).toEqual(['done', 'done', 'dead', 'dead', 'ready']);
    expect(states.slice(5)).toEqual(['done', 'done', 'done', 'done', 'done', 'done', 'done', 'done', 'done']);
    expect((await root.leasehold.tasks.get('follows'))?.state).toBe('done');
    root.close();
  });

  test('workers of a new `maxWorkers` work once a tick has made it the one in effect', async () => {
    const gate = await gateFor('work');
    const root = asRoot();
    await root.semaphores.declareLimit(workersSemaphore(QUEUE), 3);
    await root.leasehold.tasks.enqueue('succeeds', {}, { id: 'waits for the tick' });
    stubHandlerEnvironment(gate, { [ENV.maxWorkers]: '4' });
    const work = createWorkHandler(tasks(`${table}-effects`));

    expect(await work({ queue: QUEUE, homeShards: [0, 1] }, lambdaContext())).toMatchObject({ permit: false });

    const dispatchGate = await gateFor('dispatch');
    stubHandlerEnvironment(dispatchGate, { [ENV.maxWorkers]: '4', ...dispatcherVariables(dispatchGate) });
    const { handler: dispatch } = await import('../../functions/dispatch.ts');
    await dispatch({ schedule: QUEUE, scheduledTime: '2026-08-01T00:01:00Z' }, lambdaContext());

    expect(await work({ queue: QUEUE, homeShards: [0, 1] }, lambdaContext())).toMatchObject({ permit: true });
    expect([...gate.refusals(), ...dispatchGate.refusals()]).toEqual([]);
    root.close();
  });

  test('a tick whose time the scheduler did not fill in is refused, not taken for all ticks to come', async () => {
    const gate = await gateFor('dispatch');
    stubHandlerEnvironment(gate, dispatcherVariables(gate));
    const { handler } = await import('../../functions/dispatch.ts');

    const tick = handler({ schedule: QUEUE, scheduledTime: '<aws.scheduler.scheduled-time>' }, lambdaContext());

    await expect(tick).rejects.toThrow(/did not fill it in/);
  });

  test('whoever answers callbacks does so, and does not guess about rows that it may not read', async () => {
    const gate = await gateFor('callbacks');
    const root = asRoot();
    const journal = createJournalStore(root.ports.tasks);
    const nothing = { seen: 0, elements: ['{"e":[]}'], newParts: [], keptUntil: 0, closed: [], effects: [] };
    const opened = ['small.x', 'large.x', 'lost.x'];
    await root.leasehold.tasks.enqueue('any', {}, { id: 'asks' });
    await claimAsGhost('asks');
    const claim = claimOf((await root.leasehold.tasks.get('asks')) as RunningTask);
    await journal.checkpoint(claim, { ...nothing, opened, hasBeats: true }, numbered(1));
    /** The holder folds what has arrived, and moves it to a separate row. */
    const goOn = async (): Promise<void> => {
      const { elements } = (await root.leasehold.tasks.get('asks'))?.journal ?? nothing;
      const newParts = [{ name: '1.2.0', before: undefined, text: JSON.stringify(elements) }];
      const write = { ...nothing, seen: elements.length, elements: [], newParts, opened: [], hasBeats: false };
      await journal.checkpoint(claim, write, numbered(2));
    };
    const { driver, close } = connectDynamo({ endpoint: gate.endpoint, clientConfig }, systemRuntime);
    let isLost = false;
    const sender = new Sender({
      driver: {
        async attempt(kind, input, signal) {
          const answered = await driver.attempt(kind, input, signal);
          if (!isLost || kind !== 'update') return answered;
          isLost = false;
          await goOn();
          throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
        },
      },
      runtime: systemRuntime,
    });
    const callbacks = new Callbacks({
      store: createClientStores(sender, { table, shards: SHARDS }).tasks,
      runtime: systemRuntime,
    });
    const idOf = (openKey: string) => callbackIdOf({ queue: QUEUE, id: 'asks' }, openKey);

    expect(await callbacks.heartbeat(idOf('small.x'))).toBe('accepted');
    expect(await callbacks.succeed(idOf('small.x'), 'yes')).toBe('accepted');
    expect(await callbacks.succeed(idOf('large.x'), 'x'.repeat(2_000))).toBe('accepted');
    expect(await callbacks.succeed(idOf('large.x'), 'again')).toBe('over');
    expect(gate.refusals()).toEqual([]);
    isLost = true;
    const lost = callbacks.succeed(idOf('lost.x'), 'yes');

    await expect(lost).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
    expect(gate.refusals()).toEqual([`dynamodb:Query on the table for journal#${QUEUE}#asks`]);
    close();
    root.close();
  });

  test('a coordinating program uses everything that is not a task', async () => {
    const gate = await gateFor('coordinate');
    using leasehold = createLeasehold({ table, endpoint: gate.endpoint, clientConfig });
    await using session = await leasehold.session({ ttl: '30s' });
    const lock = await session.lock('reports/nightly');
    await leasehold.verify(lock.sequencer);
    const several = await session.lockAll(['a', 'b']);
    await several.release();
    const leadership = await session.campaign('leader', { value: 'me' });
    await leadership.proclaim('still me');
    await leasehold.elections.get('leader');
    const permit = await session.permit('database', { limit: 2 });
    await permit.release();
    const group = await leasehold.waitGroup('import');
    await group.add(['part-1', 'part-2']);
    await group.seal();
    await group.done('part-1');
    await group.done('part-2');
    await group.wait({ wait: '5s' });
    await Array.fromAsync(group.members());
    await group.next();
    const limiter = leasehold.rateLimiter('api', { rate: 10, per: '1s', burst: 10 } as never);
    await limiter.tryTake('customer-7');
    await limiter.get('customer-7');
    await leasehold.locks.put('settings', 'on');
    await leasehold.locks.get('settings');
    await leasehold.locks.delete('settings');
    await Array.fromAsync(leasehold.locks.list());
    await lock.release();
    const other = await leasehold.session({ ttl: '30s' });
    await other.lock('taken');
    await leasehold.sessions.destroy(other.id);
    await using third = await leasehold.session({ ttl: '30s', lockDelay: 0 });
    await third.tryLock('taken');
    await Array.fromAsync(leasehold.sessions.list());

    expect(gate.refusals()).toEqual([]);
  });

  test('an onlooker sees everything and changes nothing', async () => {
    const gate = await gateFor('observe');
    const root = asRoot();
    await root.leasehold.tasks.enqueue('any', {}, { id: 'seen', delay: '1h' });
    await look(root); // which tidies what it meets; an onlooker may not, and does not depend on it
    const eyes = connectAs(gate.endpoint);

    await look(eyes);
    expect(gate.refusals()).toEqual([]);
    await expect(eyes.operator.cancel('seen')).rejects.toThrow();
    expect(gate.refusals()).toEqual([`dynamodb:UpdateItem on the table for task#${QUEUE}#seen`]);
    eyes.close();
    root.close();
  });

  test('lets an operator read everything and act', async () => {
    const gate = await gateFor('operate');
    const root = asRoot();
    await root.leasehold.tasks.enqueue('any', {}, { id: 'operated', delay: '1h' });
    const holder = await root.leasehold.session({ ttl: '30s' });
    const lock = await holder.lock('stuck');
    const permit = await holder.permit('crowded', { limit: 1 });
    const follower = { task: 'any', input: {}, options: {} };
    const child = { task: 'any', input: {}, options: { id: 'last-child', delay: '1h' } } as const;
    await root.leasehold.tasks.enqueueBatch([child], { id: 'last', then: follower });
    const hands = connectAs(gate.endpoint);
    const deed = { verb: 'test', target: 'operated', by: 'me', reason: 'a test' };

    await look(hands);
    await hands.operator.reschedule('operated', { priority: 'high' });
    await hands.operator.cancel('operated');
    await hands.operator.retry('operated');
    await hands.leasehold.tasks.getBatch('last');
    await hands.operator.cancel('last-child');
    await hands.operator.pause();
    await hands.operator.resume();
    await hands.schedules.define('yearly', 'any', {}, { cron: '0 0 1 1 *' });
    await hands.schedules.remove('yearly');
    await hands.audit.record(deed, () => hands.semaphores.setLimit('crowded', 3), String);
    await hands.semaphores.evict('crowded', { token: permit.fencingToken, by: 'me', reason: 'a test' });
    await hands.leasehold.locks.forceRelease('stuck', { leaseCounter: lock.fencingToken, by: 'me', reason: 'a test' });
    await hands.leasehold.sessions.destroy(holder.id);

    expect(gate.refusals()).toEqual([]);
    hands.close();
    root.close();
  });

  const gateFor = (role: keyof typeof roles): Promise<PolicyGate> => gates.for(roles[role]);

  function connectAs(endpoint: string): Tools {
    return openTools(endpoint, { table, ...settings });
  }

  function asRoot(): Tools {
    return connectAs(upstream ?? '');
  }

  /** As if its worker had crashed weeks ago: its session no longer exists. */
  async function claimAsGhost(id: string): Promise<void> {
    const root = asRoot();
    const task = await root.leasehold.tasks.get(id);
    await root.ports.tasks.claim(task as ReadyTask, 'ghost', { now: Date.now(), nonce: 'ghost' });
    root.close();
  }

  function stubHandlerEnvironment(gate: PolicyGate, more: Record<string, string> = {}): void {
    stubHandler(gate, { table, ...settings }, more);
  }
});

function numbered(sequence: number) {
  return { now: Date.now(), nonce: `ghost-${sequence}`, sequence };
}

function dispatcherVariables({ endpoint }: PolicyGate): Record<string, string> {
  return { [ENV.workerFunction]: gates.logicalIdOf(workers.worker.function), AWS_ENDPOINT_URL_LAMBDA: endpoint };
}
