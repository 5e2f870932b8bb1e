/**
 * Each verb with a lost response: it turns out to be applied, and no part of it was applied twice.
 * Every verb is sent twice from the same state, once undisturbed and once through an accident;
 * both must leave the same rows in the table.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../../../shared/session/row/dynamo-session-store.ts';
import { createTaskOperatorStore } from '../../../../shared/tasks/rows/task/dynamo-task-operator-store.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { sessionTiming } from '../../../../shared/core/lease/timing.ts';
import type { Runtime } from '../../../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import type { TaskOperatorStore } from '../../../../shared/tasks/task/task-operator-store.ts';
import type { EndedTask } from '../../../../shared/tasks/task/task.ts';
import type { Stamp } from '../../../../shared/core/lease/stamp.ts';
import type { TaskStore } from '../../../../shared/tasks/task/task-store.ts';
import type { Waiter } from '../../../../shared/tasks/task/batch.ts';
import { NEVER as WAITING, waiterOf } from '../../../../shared/tasks/task/batch.ts';
import type { NewTask, SequencedStamp } from '../../../../shared/tasks/task/task-store.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import type { Accident } from '../../../support/faulty-driver.ts';
import { FaultyDriver } from '../../../support/faulty-driver.ts';
import { loseNextAnswer } from '../../../support/lost-answer.ts';

const TABLE = 'leasehold';
const NOW = 1_800_000_000_000;
const ERROR = { name: 'Error', message: 'boom', at: NOW };
const CANCELLATION = { at: NOW, reason: 'enough' };
const KEY = { concurrency: { key: 'k', limit: 2, rate: undefined } };
const PAYLOAD = { text: '"large"', bytes: 7, digest: 'd' };
const BATCH = { queue: 'q', id: 'b' };
const CALLBACK: NewTask = {
  queue: 'q',
  id: 'then',
  name: 'then',
  input: null,
  priority: 'normal',
  runAt: WAITING,
  children: BATCH,
};

/** Times do not advance and ids are counted, so the writes of two runs can be compared exactly. */
class World {
  readonly runtime: Runtime;
  /** Another one after `restore`. */
  dynamo = memoryDynamo(TABLE, () => NOW);
  readonly driver: FaultyDriver;
  readonly tasks: TaskStore;
  readonly operations: TaskOperatorStore;
  readonly #sender: Sender;
  #ids = 0;

  constructor(service: (driver: DynamoDriver) => DynamoDriver = (driver) => driver) {
    const current: DynamoDriver = {
      attempt: (kind, input, signal) => simulatedDriver(this.dynamo).attempt(kind, input, signal),
    };
    this.driver = new FaultyDriver(service(current));
    const { ids, random, clock } = systemRuntime;
    const counted = { ...ids, unique: () => `id-${++this.#ids}` };
    const standing = { ...clock, now: () => NOW, sleep: () => Promise.resolve(), monotonic: () => 0 };
    // Time-outs of attempts never come, waits between them are over at once.
    this.runtime = { ids: counted, random, clock: { ...standing, sleep: (ms) => (ms >= 1_000 ? NEVER : DONE) } };
    this.#sender = new Sender({ driver: this.driver, runtime: this.runtime });
    this.tasks = createTaskStore(this.#sender, { table: TABLE, shards: 2 });
    this.operations = createTaskOperatorStore(this.#sender, { table: TABLE, shards: 2 });
  }

  stamp(): Stamp {
    return { now: NOW, nonce: `nonce-${++this.#ids}` };
  }

  numbered(): SequencedStamp {
    return { ...this.stamp(), sequence: 1 };
  }

  session(): Promise<SessionHolder> {
    const sessions = createSessionStore(this.#sender, TABLE);
    const timing = sessionTiming({ ttlMs: 30_000, lockDelayMs: 0 });
    const options = { timing, name: 'test', node: 'test', behaviour: 'release' as const };
    return SessionHolder.create(options, { store: sessions, runtime: this.runtime, gauge: noSkewGauge });
  }

  async ready(changes: Partial<NewTask> = {}): Promise<ReadyTask> {
    const outcome = await this.tasks.enqueue(newTask(changes), this.stamp());
    if (outcome.kind !== 'applied') throw new Error('the id is taken');
    return outcome.row;
  }

  async running(changes: Partial<NewTask> = {}, session = 'session-1'): Promise<RunningTask> {
    const outcome = await this.tasks.claim(await this.ready(changes), session, this.stamp());
    if (outcome.kind !== 'applied') throw new Error('the claim was refused');
    return outcome.row;
  }

  async ended(changes: Partial<NewTask> = {}): Promise<EndedTask> {
    const running = await this.running(changes);
    await this.tasks.discard(claimOf(running), ERROR, this.stamp());
    return (await this.tasks.get(running)) as EndedTask;
  }

  /** Creates a batch with one unfinished child, and returns that child. */
  async lastChild(callback: NewTask): Promise<RunningTask> {
    await createBatch(this, 1, callback);
    return this.running({ links: { batch: 'b' } });
  }

  save(): { restore: () => void } {
    const rows = this.dynamo.scan(TABLE);
    const ids = this.#ids;
    return {
      restore: () => {
        // A new store, which has also forgotten the tokens of transactions.
        this.dynamo = memoryDynamo(TABLE, () => NOW);
        for (const row of rows) this.dynamo.apply('put', { TableName: TABLE, Item: row });
        this.#ids = ids;
      },
    };
  }
}

/** A service that was asked again after more than ten minutes. */
function forgetful(driver: DynamoDriver): DynamoDriver {
  return {
    attempt(kind, input, signal) {
      return driver.attempt(kind, { ...input, ClientRequestToken: undefined }, signal);
    },
  };
}

const { promise: NEVER } = Promise.withResolvers<undefined>();
const DONE = Promise.resolve();

function newTask(changes: Partial<NewTask> = {}): NewTask {
  return { queue: 'q', id: 't', name: 'work', input: { n: 1 }, priority: 'normal', runAt: NOW, ...changes };
}

function createBatch(world: World, total: number, callback?: NewTask) {
  const waiter: Waiter = callback === undefined ? { kind: 'nobody' } : waiterOf(callback);
  return world.tasks.createBatch({ ...BATCH, total, waiter }, callback, world.stamp());
}

type Act = (world: World) => Promise<{ readonly kind: string }>;

/** Brings about the state that a verb begins from, and gives the verb. */
type Scene = (world: World) => Promise<Act> | Act;

const holder =
  (changes: Partial<NewTask>, act: (world: World, task: RunningTask) => Promise<{ readonly kind: string }>): Scene =>
  async (world) => {
    const task = await world.running(changes);
    return (later) => act(later, task);
  };
const complete = (world: World, task: RunningTask) => world.tasks.complete(claimOf(task), { ok: true }, world.stamp());
const IN_ORDER = ['a', 'b'].map((id) => ({ spawn: newTask({ id, line: 'k' }) }));
const commitInOrder = (world: World, task: RunningTask) =>
  world.tasks.commit(claimOf(task), null, IN_ORDER, world.numbered());
const enqueue =
  (changes: Partial<NewTask> = {}): Act =>
  (world) =>
    world.tasks.enqueue(newTask(changes), world.stamp());
const claim =
  (task: ReadyTask): Act =>
  (world) =>
    world.tasks.claim(task, 'session-1', world.stamp());

const SCENES: Readonly<Record<string, Scene>> = {
  enqueue: () => enqueue(),
  'enqueue for a tenant': () => enqueue({ tenant: 'acme' }),
  'enqueue with a payload': () => enqueue({ input: null, payload: PAYLOAD }),
  'enqueue as the head of a line': () => enqueue({ line: 'k' }),
  'enqueue behind the head of a line': async (world) => {
    await world.ready({ id: 'head', line: 'k' });
    return enqueue({ line: 'k' });
  },
  'create a batch': () => (world) => createBatch(world, 2),
  'create a batch with a callback': () => (world) => createBatch(world, 2, CALLBACK),
  replace: async (world) => {
    const task = await world.ready();
    return (later) => later.tasks.replace(task, newTask({ input: { n: 2 } }), later.stamp());
  },
  'replace with a payload': async (world) => {
    const task = await world.ready();
    return (later) => later.tasks.replace(task, newTask({ input: null, payload: PAYLOAD }), later.stamp());
  },
  renew: async (world) => {
    const task = await world.ended();
    return (later) => later.tasks.renew(task, newTask({ input: { n: 2 } }), later.stamp());
  },
  'renew at the end of a line': async (world) => {
    const task = await world.ended();
    await world.ready({ id: 'head', line: 'k' });
    return (later) => later.tasks.renew(task, newTask({ line: 'k' }), later.stamp());
  },
  claim: async (world) => claim(await world.ready()),
  'claim with a place of a key': async (world) => claim(await world.ready({ links: KEY })),
  'join the others of a key': async (world) => {
    const task = await world.ready({ links: KEY, runAt: NOW + 5 });
    return (later) => later.tasks.join(task, { ...later.stamp(), now: NOW + 5 });
  },
  'take over': holder({}, (world, task) => world.tasks.takeOver(task, 'session-2', world.stamp())),
  complete: holder({}, complete),
  'complete with a place of a key': holder({ links: KEY }, complete),
  'complete as the last of a line': holder({ line: 'k' }, complete),
  'complete before others of a line': async (world) => {
    const task = await world.running({ line: 'k' });
    await world.ready({ id: 'next', line: 'k' });
    return (later) => complete(later, task);
  },
  'complete as one of several children': async (world) => {
    await createBatch(world, 2);
    const task = await world.running({ links: { batch: 'b' } });
    return (later) => complete(later, task);
  },
  'complete as the last child, with a callback': async (world) => {
    const task = await world.lastChild(CALLBACK);
    return (later) => complete(later, task);
  },
  'complete as the last child, with a parent': async (world) => {
    const parent = await world.running({ id: 'parent' });
    const children = [newTask({ id: 'child', links: { batch: 'b' } })];
    await world.tasks.waitForChildren(claimOf(parent), 'b', children, world.numbered());
    const child = (await world.tasks.get({ queue: 'q', id: 'child' })) as ReadyTask;
    const outcome = await world.tasks.claim(child, 'session-1', world.stamp());
    if (outcome.kind !== 'applied') throw new Error('refused');
    return (later) => complete(later, outcome.row);
  },
  'commit with an effect and children': holder({ links: KEY }, (world, task) => {
    const effect = { Put: { TableName: TABLE, Item: { pk: 'user#1', sk: 'user' } } };
    const children = world.tasks.enqueueWrites(newTask({ id: 'child' }), world.stamp());
    return world.tasks.commit(claimOf(task), null, [effect, ...children], world.numbered());
  }),
  'commit with children in order': holder({}, (world, task) => commitInOrder(world, task)),
  'commit with children in order, as the last of their line': holder({ line: 'k' }, (world, task) =>
    commitInOrder(world, task),
  ),
  'commit with children in order, before others of their line': async (world) => {
    const task = await world.running({ line: 'k' });
    await world.ready({ id: 'next', line: 'k' });
    return (later) => commitInOrder(later, task);
  },
  retry: holder({}, (world, task) =>
    world.tasks.retry(claimOf(task), { error: ERROR, readyAt: NOW + 5 }, world.stamp()),
  ),
  'retry with a place of a key': holder({ links: KEY }, (world, task) =>
    world.tasks.retry(claimOf(task), { error: ERROR, readyAt: NOW + 5 }, world.stamp()),
  ),
  discard: holder({ line: 'k' }, (world, task) => world.tasks.discard(claimOf(task), ERROR, world.stamp())),
  release: holder({}, (world, task) => world.tasks.release(claimOf(task), world.stamp())),
  snooze: holder({}, (world, task) => world.tasks.snooze(claimOf(task), NOW + 5, world.stamp())),
  'wait for children': holder({}, (world, task) =>
    world.tasks.waitForChildren(
      ...[claimOf(task), 'b'],
      ...[[newTask({ id: 'child', links: { batch: 'b' } })], world.numbered()],
    ),
  ),
  'wait for children in order': holder({}, (world, task) => {
    const children = ['a', 'b'].map((id) => newTask({ id, line: 'k', links: { batch: 'b' } }));
    return world.tasks.waitForChildren(claimOf(task), 'b', children, world.numbered());
  }),
  progress: holder({}, (world, task) => world.tasks.progress(claimOf(task), { half: true }, world.numbered())),
  'bar a commit': holder({}, (world, task) => world.tasks.bar(claimOf(task), world.numbered())),
  'give up': holder({}, (world, task) => world.tasks.giveUp(claimOf(task), 'enough', world.stamp())),
  bury: holder({ links: KEY }, (world, task) => world.tasks.bury(task, ERROR, world.stamp())),
  expire: async (world) => {
    const task = await world.ready({ runAt: NOW - 2, expiresAt: NOW - 1 });
    return (later) => later.tasks.expire(task, later.stamp());
  },
  'cancel one that waits': async (world) => {
    const task = await world.ready();
    return (later) => later.tasks.cancel(task, CANCELLATION, later.stamp());
  },
  'cancel one that is held in a line': async (world) => {
    await world.ready({ id: 'head', line: 'k' });
    const task = await world.ready({ line: 'k' });
    return (later) => later.tasks.cancel(task, CANCELLATION, later.stamp());
  },
  'cancel an abandoned one': holder({ links: KEY }, (world, task) =>
    world.tasks.cancel(task, CANCELLATION, world.stamp()),
  ),
  'ask a holder to give up': async (world) => {
    const session = await world.session();
    const task = await world.running({}, session.id);
    return (later) => later.operations.requestCancel(task, CANCELLATION, later.stamp());
  },
  reschedule: async (world) => {
    const task = await world.ready({ tenant: 'acme' });
    return (later) => later.operations.reschedule(task, { priority: 'high', runAt: NOW + 5 }, later.stamp());
  },
  'retry by an operator': async (world) => {
    const task = await world.ended();
    return (later) => later.operations.revive(task, NOW, later.stamp());
  },
  'retry to wait for children': async (world) => {
    const parent = await world.running();
    const children = [newTask({ id: 'child', links: { batch: 'b' } })];
    await world.tasks.waitForChildren(claimOf(parent), 'b', children, world.numbered());
    await world.tasks.cancel((await world.tasks.get(parent)) as ReadyTask, CANCELLATION, world.stamp());
    const ended = (await world.tasks.get(parent)) as EndedTask;
    return (later) => later.operations.revive(ended, NOW, later.stamp());
  },
  'retry into a line': async (world) => {
    const task = await world.ended({ line: 'k' });
    return (later) => later.operations.revive(task, NOW, later.stamp());
  },
};

const ACCIDENTS: Readonly<Record<string, readonly Accident[]>> = {
  'the answer is lost': ['dropResponse'],
  'two answers are lost': ['dropResponse', 'dropResponse'],
  'the request is lost, then an answer': ['dropRequest', 'dropResponse'],
  'it is throttled, then its answer is lost': ['throttle', 'dropResponse'],
  'it meets a conflict': ['conflict'],
};

describe.each(Object.entries(SCENES))('%s', (_verb, scene) => {
  let world: World;
  let act: Act;
  let undisturbed: readonly object[];
  let restore: () => void;

  beforeEach(async () => {
    world = new World();
    act = await scene(world);
    ({ restore } = world.save());
    expect((await act(world)).kind).toBe('applied');
    undisturbed = world.dynamo.scan(TABLE);
    restore();
  });

  test.each(Object.entries(ACCIDENTS))('%s', async (_what, accidents) => {
    world.driver.accidents.push(...accidents);

    expect((await act(world)).kind).toBe('applied');

    expect(world.driver.accidents).toEqual([]);
    expect(world.dynamo.scan(TABLE)).toEqual(undisturbed);
  });

  test('the service has forgotten its token, and it is known by its nonce, or changes nothing twice', async () => {
    world = new World(forgetful);
    act = await scene(world);
    world.driver.accidents.push('dropResponse');

    expect((await act(world)).kind).toBe('applied');

    expect(world.dynamo.scan(TABLE).map(heard)).toEqual(undisturbed.map(heard));
  });
});

/** Two revocations of the same right count as one. */
function heard(row: object): object {
  return 'revoked' in row ? { ...row, revoked: new Set(row.revoked as readonly string[]) } : row;
}

test('recognizes its own write after an operator asked for a cancel in between', async () => {
  const world = new World();
  const session = await world.session();
  const task = await world.running({}, session.id);
  const { operations, tasks } = world;
  loseNextAnswer(world.driver, () => operations.requestCancel(task, CANCELLATION, world.stamp()));

  const outcome = await tasks.progress(claimOf(task), { page: 7 }, { ...world.stamp(), sequence: 1 });

  expect(outcome).toMatchObject({ kind: 'applied', row: { progress: { page: 7 }, cancellation: CANCELLATION } });
});

test('does not mistake a refusal with another nonce for its own write', async () => {
  const world = new World();
  const task = await world.running();
  await world.tasks.takeOver(task, 'session-2', world.stamp());
  world.driver.accidents.push('dropRequest');

  const outcome: { kind: string; earlierAttempt?: string } = await complete(world, task);

  expect(outcome).toMatchObject({ kind: 'refused', earlierAttempt: 'unknown' });
  const current: TaskRecord | undefined = await world.tasks.get(task);
  expect(current).toMatchObject({ state: 'running', session: 'session-2' });
});
