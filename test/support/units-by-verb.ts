/** The write units of each step of a task, as the table in memory charges them. */
import { stampOf } from '../../shared/core/lease/write.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { Claim, ReadyTask } from '../../shared/tasks/task/task.ts';
import type { MemoryQueue } from './memory-queue.ts';
import { openMemoryQueue, QUEUE } from './memory-queue.ts';

const ERROR = { name: 'Error', message: 'the store answered 503 Service Unavailable', at: 1_795_000_000_000 };
const INPUT = { bucket: 'thumbnails', key: 'a.png' };
const SESSION = '00000000-0000-4000-8000-000000000000';

export interface StepUnits {
  readonly enqueue: number;
  readonly claim: number;
  readonly refusedClaim: number;
  readonly complete: number;
  readonly commit: number;
  readonly bar: number;
  readonly retry: number;
  readonly snooze: number;
  readonly discard: number;
  readonly keepFailure: number;
  readonly release: number;
  readonly progress: number;
}

export async function unitsByVerb(): Promise<StepUnits> {
  const q = openMemoryQueue();
  const { tasks } = q;
  const later = q.clock.now() + 3_600_000;
  const write = { Put: { TableName: q.table, Item: { pk: 'user#1', sk: 'user', bytes: 12_345 } } };
  return {
    enqueue: await unitsOf(q, () => q.client.enqueue('thumbnail', INPUT, { id: 'a' })),
    claim: await unitsOf(q, async () => claim(q, await ready(q, 'a'))),
    refusedClaim: await refusedClaim(q),
    complete: await ending(q, (task) => tasks.complete(task, undefined, stamp())),
    commit: await ending(q, (task) => tasks.commit(task, undefined, [write], numbered())),
    bar: await ending(q, (task) => tasks.bar(task, numbered())),
    retry: await ending(q, (task) => tasks.retry(task, { error: ERROR, readyAt: later }, stamp())),
    snooze: await ending(q, (task) => tasks.snooze(task, later, stamp())),
    discard: await ending(q, (task) => tasks.discard(task, ERROR, stamp())),
    keepFailure: await ending(q, (task) => tasks.keepFailure(task, 'x'.repeat(1_500), stamp())),
    release: await ending(q, (task) => tasks.release(task, stamp())),
    progress: await ending(q, (task) => tasks.progress(task, { done: 10 }, numbered())),
  };
}

/** A claim of a row that another session has claimed since it was read. */
async function refusedClaim(q: MemoryQueue): Promise<number> {
  await q.client.enqueue('thumbnail', INPUT, { id: 'refused' });
  const observed = await ready(q, 'refused');
  await claim(q, observed);
  return unitsOf(q, () => q.tasks.claim(observed, 'another', stamp()));
}

let made = 0;
async function ending(q: MemoryQueue, end: (task: Claim) => Promise<unknown>): Promise<number> {
  const id = `ending-${made++}`;
  await q.client.enqueue('thumbnail', INPUT, { id });
  const task = await claim(q, await ready(q, id));
  return unitsOf(q, () => end(task));
}

async function ready(q: MemoryQueue, id: string): Promise<ReadyTask> {
  return (await q.tasks.get({ queue: QUEUE, id })) as ReadyTask;
}

async function claim(q: MemoryQueue, task: ReadyTask): Promise<Claim> {
  const outcome = await q.tasks.claim(task, SESSION, stamp());
  if (outcome.kind !== 'applied') throw new Error(`${task.id} was not claimed`);
  return outcome.row;
}

async function unitsOf(q: MemoryQueue, run: () => Promise<unknown>): Promise<number> {
  const before = q.meter.read().writeUnits;
  await run();
  return q.meter.read().writeUnits - before;
}

function numbered() {
  return { ...stamp(), sequence: 1 };
}

function stamp() {
  return stampOf(systemRuntime);
}
