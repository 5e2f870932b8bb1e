/** Missing rights: the refused end, the remaining work, and the name of the grant. On the policies of two queues. */
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createWorkHandler } from '../../functions/work.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { createWorker } from '../../shared/client/create-worker.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { durableTask } from '../../shared/client/durable.ts';
import type { TaskContext } from '../../shared/tasks/task/context.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../shared/tasks/task/task-request.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import type { ReadyTask } from '../../shared/tasks/task/task.ts';
import { silent } from '../../shared/testing/silent-log.ts';
import { tasks as tasksOfEveryEnd } from './enforced-tasks.ts';
import { Gates, lambdaContext, stubHandler, upstream } from './gates.ts';
import { statementsOf } from './policy.ts';
import type { PolicyGate } from './policy-gate.ts';
import { ENTRY, synthesize } from './synthesize.ts';
import { clientConfig, openTools } from './tools.ts';
import { newTables } from '../support/new-tables.ts';

const SHARDS = 1;
const { stack, workers: media } = synthesize({ shards: SHARDS });
const catalogue = new TaskWorkers(stack, 'Catalogue', {
  entry: ENTRY,
  table: media.table,
  queue: 'catalogue',
  shards: SHARDS,
});
media.grantEnqueue(catalogue);
const container = new Role(stack, 'Container', { assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com') });
catalogue.grantWork(container);
const roles = { worker: catalogue.worker.role, container };
const table = `denied-${systemRuntime.ids.unique()}`;
const gates = new Gates(stack, media, table);
const place = { table, queue: 'catalogue', shards: SHARDS };

describe.skipIf(upstream === null)('a worker without a permission', () => {
  const endpoint = upstream ?? '';
  let gate: PolicyGate;
  let root: ReturnType<typeof createLeasehold>;
  const rowOf = (id: string, queue = 'catalogue') => root.tasks.get(id, queue);

  beforeAll(async () => {
    await newTables(endpoint, table, `${table}-effects`);
  });
  beforeEach(() => {
    root = createLeasehold({ ...place, endpoint, clientConfig });
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    root.close();
    await gates.close();
  });

  async function openGate(role: keyof typeof roles, without?: number): Promise<void> {
    gate = await gates.for(roles[role], without);
  }

  async function invoke(tasks: Parameters<typeof createWorkHandler>[0]) {
    stubHandler(gate, place);
    return createWorkHandler(tasks)({ queue: 'catalogue', homeShards: [0] }, lambdaContext());
  }

  const neighbour = defineTask({ name: 'neighbour', run: () => 'ok' });
  const slowly = { maxAttempts: 3, backoff: '10m' } as const;
  const NAMED = /^task\.\w+ of task#catalogue#.*AccessDenied.*; in CDK, workers\.grantWork\(role\) allows it$/;

  /** The row after the right to `deny` of the row with the given key is taken away while its code runs. */
  async function endWithout(
    deny: readonly [action: string, key: string],
    { run = () => 'ok', retry = slowly, ...options }: EnqueueOptions & Partial<Parameters<typeof defineTask>[0]>,
    prepare: (id: string) => Promise<unknown> = (id) => root.tasks.enqueue('victim', {}, { id, ...options }),
  ) {
    await openGate('worker');
    const id = systemRuntime.ids.unique();
    const [action, key] = deny;
    const missing = { action: `dynamodb:${action}`, key: key.replace('ID', id) };
    let isTakenAway = false;
    const victim = defineTask({
      name: 'victim',
      retry,
      run(input, task) {
        if (!isTakenAway)
          gate.denies = (request) => request.action === missing.action && request.leadingKeys?.[0] === missing.key;
        isTakenAway = true;
        return run(input, task);
      },
    });
    await prepare(id);
    await root.tasks.enqueue('neighbour', {}, { id: `${id}-n`, priority: 'low' });

    const { permit } = (await invoke({ victim, neighbour })) as { readonly permit: boolean };

    expect(permit).toBe(true);
    expect((await rowOf(`${id}-n`))?.state).toBe('done');
    expect(gate.refusals()).toEqual([`${missing.action} on the table for ${missing.key}`]);
    const { state, lastError, attempts } = (await rowOf(id))!;
    gate.denies = () => false;
    return { state, attempts, error: lastError, again: () => invoke({ victim, neighbour }), id };
  }

  const batchOf = (id: string) =>
    root.tasks.enqueueBatch([spawn('victim', {}, { id })], { id, then: spawn('neighbour', {}) });

  test.each<[string, Parameters<typeof endWithout>]>([
    ['the batch of a child', [['UpdateItem', 'batch#catalogue#ID'], {}, (id) => batchOf(id)]],
    ['the callback of a batch', [['UpdateItem', 'task#catalogue#ID/then'], {}, (id) => batchOf(id)]],
    ['the line of an ordered task', [['UpdateItem', 'line#catalogue#line'], { key: 'line', ordered: true }]],
  ])('for %s fails an attempt, and its row names the grant', async (_what, given) => {
    const { state, attempts, error } = await endWithout(...given);

    expect({ state, attempts, name: error?.name }).toEqual({ state: 'ready', attempts: 1, name: 'NotPermitted' });
    expect(error?.message).toMatch(NAMED);
  });

  test('for the end of its last attempt waits with the sentence; its code does not run again', async () => {
    let runs = 0;
    const given = { run: () => void runs++, retry: { maxAttempts: 1 } };
    const { state, error, again, id } = await endWithout(['UpdateItem', 'batch#catalogue#ID'], given, (key) =>
      batchOf(key),
    );
    expect({ state, name: error?.name }).toEqual({ state: 'ready', name: 'NotPermitted' });
    expect(error?.message).toMatch(NAMED);

    const tools = openTools(endpoint, place);
    await tools.operator.reschedule(id, { delay: '0s' });
    tools.close();
    await again();

    expect(await rowOf(id)).toMatchObject({ state: 'dead', lastError: { name: 'NotPermitted' } });
    expect((await rowOf(`${id}/then`))?.state).toBe('done');
    expect(runs).toBe(1);
  });

  test.each<[string, Parameters<typeof endWithout>]>([
    ['its own row', [['UpdateItem', 'task#catalogue#ID'], {}]],
    ['its key', [['UpdateItem', 'key#catalogue#few'], { key: 'few', limit: 2 }]],
  ])('for %s leaves it to the end of its session, and the next worker ends it', async (_what, given) => {
    const { state, error, again, id } = await endWithout(...given);
    expect([state, error]).toEqual(['running', undefined]);

    await again();

    expect((await rowOf(id))?.state).toBe('done');
  });

  test.each([
    ['a task of another queue that is not granted', 'mail', /grantEnqueue\(role\) of the workers of queue mail allows/],
    ['a task of its own queue', 'catalogue', /workers\.grantWork\(role\) allows it/],
  ])('to spawn %s is told in its code', async (_what, queue, sentence) => {
    const run = (_: unknown, task: TaskContext) =>
      task.commit('ok', [], { spawn: [spawn('neighbour', {}, { queue, id: 'spawned' })] });
    const { state, error } = await endWithout(['PutItem', `task#${queue}#spawned`], { run });

    expect(state).toBe('ready');
    expect(error?.message).toMatch(sentence);
  });

  test('a callback spawns in another queue that is granted, in the transaction of its end', async () => {
    await openGate('worker');
    const then = defineTask({
      name: 'then',
      run: (_, task) => task.commit('ok', [], { spawn: [spawn('publish', {}, { queue: 'media', id: 'published' })] }),
    });
    await root.tasks.enqueueBatch([spawn(neighbour, null), spawn(neighbour, null)], {
      id: 'night',
      then: spawn(then, null),
    });

    await invoke({ neighbour, then });

    expect(gate.refusals()).toEqual([]);
    expect((await rowOf('night/then'))?.state).toBe('done');
    expect((await rowOf('published', 'media'))?.state).toBe('ready');
  });

  test('to mark an abandoned child dead turns it away, and its neighbours continue', async () => {
    await openGate('worker');
    gate.denies = ({ action, leadingKeys }) =>
      action === 'dynamodb:UpdateItem' && leadingKeys?.[0] === 'batch#catalogue#b';
    const victim = defineTask({ name: 'victim', retry: { maxAttempts: 1 }, run: () => 'ok' });
    await batchOf('b');
    const tools = openTools(endpoint, place);
    await tools.ports.tasks.claim((await rowOf('b')) as ReadyTask, 'ghost', { now: Date.now(), nonce: 'ghost' });
    tools.close();
    await root.tasks.enqueue('neighbour', {}, { id: 'goes-on' });

    await invoke({ victim, neighbour });

    expect((await rowOf('goes-on'))?.state).toBe('done');
    expect((await rowOf('b'))?.state).toBe('running');
  });

  describe('in a container', () => {
    const rules = statementsOf(gates.template, gates.logicalIdOf(container)).length;
    const often = defineSchedule('often', neighbour, null, { cron: '* * * * * *', missed: 'last' });

    const large = defineTask({ name: 'large', run: () => 'x'.repeat(2_000) });
    const durable = durableTask({ name: 'durable', run: (_: unknown, ctx) => ctx.invoke('it', 'large', null) });

    async function work(): Promise<unknown> {
      const runs = ['succeeds', 'fails', 'dies', 'spawns', 'waits', 'progresses', 'durable'];
      for (const name of runs) await root.tasks.enqueue(name, {}, { key: 'customer-7', limit: 100 });
      for (const nth of [1, 2]) await root.tasks.enqueue('succeeds', { nth }, { key: 'k', ordered: true });
      await root.tasks.enqueue('succeeds', { text: 'x'.repeat(20_000) }, { tenant: 'acme' });
      await root.tasks.enqueueBatch([spawn('succeeds', {})], {
        id: systemRuntime.ids.unique(),
        then: spawn('succeeds', {}),
      });
      const worker = createWorker(
        { ...tasksOfEveryEnd(`${table}-effects`), neighbour, large, durable, schedules: [often] },
        {
          ...place,
          endpoint: gate.endpoint,
          clientConfig,
          untilDrained: true,
          log: silent,
        },
      );
      return worker.run().then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    /** For commands that suggest a name. A worker without it works: its permission would include the pause of the queue. */
    const NAMES = 'dynamodb:UpdateItem on the table for queue#catalogue';
    const refused = () => gate.refusals().filter((refusal) => refusal !== NAMES);

    test('does all that createWorker does, with `grantWork`', async () => {
      await openGate('container');
      expect([await work(), refused()]).toEqual([undefined, []]);
    });

    test.each(Array.from({ length: rules }, (_, nth) => nth))('needs rule %i of `grantWork`', async (without) => {
      await openGate('container', without);
      const error = await work();
      expect(refused()).not.toEqual([]);
      if (error !== undefined) expect((error as Error).message).toMatch(/workers\.grantWork\(role\)/);
    });
  });
});
