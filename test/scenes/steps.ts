/** First steps of scenes of tasks: a task that waits, runs or has ended. */
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import type { SequencedStamp } from '../../shared/tasks/task/task-store.ts';
import type { NewTask } from '../../shared/tasks/task/task-store.ts';
import type { EndedTask, ReadyTask, RunningTask } from '../../shared/tasks/task/task.ts';
import { claimOf } from '../../shared/tasks/task/task.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { assert } from '../../shared/core/errors.ts';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Process } from '../support/coordination.ts';
import type { Party } from './scene.ts';

export const QUEUE = 'default';
export const INPUT = { bucket: 'thumbnails', key: 'x'.repeat(100) };
/** 40 KB, which hardly shrink. */
export const LARGE = {
  text: Array.from({ length: 6_000 }, (_, n) => ((n * 7_919) % 1_000_003).toString(36)).join(' '),
};
export const RESULT = { bytes: 12_345 };
export const ERROR = { name: 'Error', message: 'the store answered 503 Service Unavailable', at: 1_795_000_000_000 };
export const CANCELLATION = { at: 1_795_000_000_000, reason: 'enough' };
export const IN_LINE = { key: 'k', ordered: true } as const;
export const OF_KEY = { key: 'k', limit: 2 } as const;
const MINUTE_MS = 60_000;

/** A call of the store's, with the stamp of its process. */
export type Step = (party: Party) => Promise<unknown>;

export const stamped = ({ runtime }: Process): Stamp => stampOf(runtime);
/** The first numbered write of a claim. */
export const numbered = ({ runtime }: Process): SequencedStamp => ({ ...stampOf(runtime), sequence: 1 });
export const storeOf = ({ ports }: Process) => ports.tasks;
export const inAMinute = ({ runtime }: Process): number => runtime.clock.now() + MINUTE_MS;

export const all =
  (...steps: readonly Step[]): Step =>
  async (party) => {
    for (const step of steps) await step(party);
  };

/** Another process enqueues. */
export const enqueue =
  (id = 't', options: EnqueueOptions = {}, input: unknown = INPUT) =>
  ({ there }: Party) =>
    there.leasehold.tasks.enqueue('work', input, { id, ...options });

export const taskOf = ({ there }: Party, id = 't') => storeOf(there).get({ queue: QUEUE, id });

/** Returns a waiting task. */
export const ready =
  (options: EnqueueOptions = {}, id = 't', input: unknown = INPUT) =>
  async (party: Party): Promise<ReadyTask> => {
    await enqueue(id, options, input)(party);
    return (await taskOf(party, id)) as ReadyTask;
  };

/** Under a separate live session (mine), or one that never existed, and counts as ended. */
export const claim =
  (id = 't', isAlive = true) =>
  async (party: Party): Promise<RunningTask> => {
    const session = isAlive ? party.mine.id : 'gone';
    const task = (await taskOf(party, id)) as ReadyTask;
    const outcome = await storeOf(party.there).claim(task, session, stamped(party.there));
    assert(outcome.kind === 'applied', `${id} is claimed`);
    return outcome.row;
  };

/** Returns a task that runs here. */
export const running =
  (options: EnqueueOptions = {}, id = 't', input: unknown = INPUT) =>
  async (party: Party): Promise<RunningTask> => {
    await enqueue(id, options, input)(party);
    return claim(id)(party);
  };

/** Returns a task whose worker is gone. */
export const abandoned =
  (options: EnqueueOptions = {}, id = 't') =>
  async (party: Party): Promise<RunningTask> => {
    await enqueue(id, options)(party);
    return claim(id, false)(party);
  };

export const end =
  (how: 'complete' | 'discard' | 'snooze', id = 't'): Step =>
  async (party) => {
    const { there } = party;
    const held = claimOf((await taskOf(party, id)) as RunningTask);
    if (how === 'complete') await storeOf(there).complete(held, RESULT, stamped(there));
    if (how === 'discard') await storeOf(there).discard(held, ERROR, stamped(there));
    if (how === 'snooze') await storeOf(there).snooze(held, inAMinute(there), stamped(there));
  };

/** Returns a dead task. */
export const dead =
  (options: EnqueueOptions = {}, id = 't') =>
  async (party: Party): Promise<EndedTask> => {
    await running(options, id)(party);
    await end('discard', id)(party);
    return (await taskOf(party, id)) as EndedTask;
  };

export const takeOver: Step = async (party) =>
  storeOf(party.there).takeOver((await taskOf(party)) as RunningTask, 'another', stamped(party.there));

export const cancels =
  (id = 't'): Step =>
  ({ there }) =>
    there.leasehold.operator.cancel(id, { reason: 'theirs' });

/** The queue lists its finished tasks, and both processes have read it. */
export const listing: Step = async ({ here, there }) => {
  await there.ports.queues.listFinished(QUEUE, undefined, true, stamped(there));
  await here.ports.queues.get(QUEUE);
};

/** The row goes, as by an operator's hand. */
export const remove =
  (key: { readonly pk: string; readonly sk: string }): Step =>
  ({ world }) =>
    world.driver.attempt('delete', { TableName: world.table, Key: { ...key } }, new AbortController().signal);

/** Writes attributes of a row as another program does. */
export const overwrite =
  (key: { readonly pk: string; readonly sk: string }, attributes: DynamoItem): Step =>
  async ({ world: { driver, table: TableName } }) => {
    const never = new AbortController().signal;
    const { Item } = await driver.attempt('get', { TableName, Key: { ...key } }, never);
    return driver.attempt('put', { TableName, Item: { ...Item, ...attributes } }, never);
  };

export const newTask = ({ runtime }: Process, id: string, more: Partial<NewTask> = {}): NewTask => ({
  queue: QUEUE,
  id,
  name: 'work',
  input: INPUT,
  priority: 'normal',
  runAt: runtime.clock.now(),
  ...more,
});
