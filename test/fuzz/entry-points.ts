/** Every entry point for external text: from a user, an operator, a stack, a schedule or a file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ENV, parseDispatchEnv, parseWorkEnv } from '../../functions/env.ts';
import { readTaskFile } from '../../examples/demonstration/task-file.ts';
import { validName } from '../../shared/core/validate/options.ts';
import { parseSequencer } from '../../shared/core/lease/sequencer.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import type { Lock } from '../../shared/coordination/lock/lock.ts';
import { parsePermit } from '../../shared/coordination/semaphore/semaphore.ts';
import type { Session } from '../../shared/client/session.ts';
import { defineTask, registerTasks } from '../../shared/tasks/task/definition.ts';
import type { World } from './world.ts';

interface EntryPoint {
  readonly name: string;
  call(text: string, world: World, session: Session): unknown;
}

/** For parameters whose type forbids what a caller without types may still give. */
const any = (text: string): never => text as never;
const work = defineTask({ name: 'work', run: () => undefined });
const ENVIRONMENT = { [ENV.table]: 'leasehold', [ENV.workerFunction]: 'worker' };

const TASKS: readonly EntryPoint[] = [
  point('task name', (text, { leasehold }) => leasehold.tasks.enqueue(text, null)),
  point('task id', (text, { leasehold }) => leasehold.tasks.enqueue('work', null, { id: text })),
  point('task queue', (text, { leasehold }) => leasehold.tasks.enqueue('work', null, { queue: text })),
  point('task input', (text, { leasehold }) => leasehold.tasks.enqueue('work', text)),
  point('key of a task input', (text, { leasehold }) => leasehold.tasks.enqueue('work', { [text]: text })),
  point('task priority', (text, { leasehold }) => leasehold.tasks.enqueue('work', null, { priority: any(text) })),
  point('task delay', (text, { leasehold }) => leasehold.tasks.enqueue('work', null, { delay: any(text) })),
  point('task expiry', (text, { leasehold }) => leasehold.tasks.enqueue('work', null, { expires: any(text) })),
  point('task to look at', (text, { leasehold }) => leasehold.tasks.get(text)),
  point('queue to look at', (text, { leasehold }) => leasehold.tasks.get('one', text)),
  point('queue of a client', (text, { foundation }) => new Leasehold(foundation, { table: 'leasehold', queue: text })),
  point('name of a definition', (text) => defineTask({ name: text, run: () => undefined })),
  point('timeout of a definition', (text) => defineTask({ name: 'a', timeout: any(text), run: () => undefined })),
  point('backoff of a definition', (text) =>
    defineTask({ name: 'a', retry: { backoff: any(text) }, run: () => undefined }),
  ),
  point('attempts of a definition', (text) =>
    defineTask({ name: 'a', retry: { maxAttempts: any(text) }, run: () => undefined }),
  ),
];

const OPERATIONS: readonly EntryPoint[] = [
  point('task to cancel', (text, world) => world.operatorOf('q').cancel(text)),
  point('reason to cancel', async (text, world) => {
    await world.leasehold.tasks.enqueue('work', null, { id: `cancel ${text.length}`, queue: 'q' });
    return world.operatorOf('q').cancel(`cancel ${text.length}`, { reason: text });
  }),
  point('task to retry', (text, world) => world.operatorOf('q').retry(text)),
  point('queue to retry', (text, world) => world.operatorOf('q').retryAll({ queue: text })),
  point('priority to reschedule to', (text, world) => world.operatorOf('q').reschedule('a', { priority: any(text) })),
  point('queue to pause', (text, world) => world.operatorOf('q').pause({ queue: text })),
  point('reason to pause', (text, world) => world.operatorOf('q').pause({ queue: 'paused', reason: text })),
];

const COORDINATION: readonly EntryPoint[] = [
  point('session name', (text, { leasehold }) => opened(leasehold.session({ name: text }))),
  point('session node', (text, { leasehold }) => opened(leasehold.session({ node: text }))),
  point('session ttl', (text, { leasehold }) => opened(leasehold.session({ ttl: any(text) }))),
  point('session heartbeat', (text, { leasehold }) => opened(leasehold.session({ heartbeat: any(text) }))),
  point('session lock-delay', (text, { leasehold }) => opened(leasehold.session({ lockDelay: any(text) }))),
  point('session behaviour', (text, { leasehold }) => opened(leasehold.session({ behavior: any(text) }))),
  point('session to look at', (text, { leasehold }) => leasehold.sessions.get(text)),
  point('session to destroy', (text, { leasehold }) => leasehold.sessions.destroy(text)),
  point('prefix of sessions', (text, { leasehold }) => drained(leasehold.sessions.list(text))),
  point('lock key', async (text, _, session) => {
    const acquisition = await session.tryLock(text);
    if (acquisition.kind === 'acquired') await acquisition.lock.release();
  }),
  point('lock value', async (text, _, session) => {
    const acquisition = await session.tryLock('valued', { value: text });
    if (acquisition.kind === 'acquired') await acquisition.lock.release();
  }),
  point('several lock keys', async (text, _, session) => {
    const acquisition = await session.tryLockAll([text, `${text}2`, 'other']);
    if (acquisition.kind === 'acquired') await acquisition.locks[Symbol.asyncDispose]();
  }),
  point('wait for a lock', async (text, _, session) => {
    await (await session.lock('waited for', { wait: any(text) })).release();
  }),
  point('key to look at', (text, { leasehold }) => leasehold.locks.get(text)),
  point('key to put', (text, { leasehold }) => leasehold.locks.put(text, 'value')),
  point('value to put', (text, { leasehold }) => leasehold.locks.put('put', text)),
  point('index to put at', (text, { leasehold }) => leasehold.locks.put('put', 'value', { ifIndex: any(text) })),
  point('key to delete', (text, { leasehold }) => leasehold.locks.delete(text)),
  point('prefix of keys', (text, { leasehold }) => drained(leasehold.locks.list(text))),
  point('key to force', (text, { leasehold }) =>
    leasehold.locks.forceRelease(text, { by: 'me', reason: 'why', leaseCounter: 1 }),
  ),
  point('force by whom', async (text, { leasehold }, session) => {
    const { key, leaseCounter } = await freshLock(session);
    await leasehold.locks.forceRelease(key, { by: text, reason: 'why', leaseCounter, lockDelay: 0 });
  }),
  point('force why', async (text, { leasehold }, session) => {
    const { key, leaseCounter } = await freshLock(session);
    await leasehold.locks.forceRelease(key, { by: 'me', reason: text, leaseCounter, lockDelay: 0 });
  }),
  point('election', async (text, _, session) => {
    const campaign = await session.tryCampaign(text);
    if (campaign.kind === 'elected') await campaign.leadership.resign();
  }),
  point('what a leader says', (text, _, session) => session.tryCampaign('said', { value: text })),
  point('leader to look at', (text, { leasehold }) => leasehold.elections.get(text)),
  point('sequencer', (text, { leasehold }) => leasehold.verify(text)),
  point('part of a sequencer', (text) => parseSequencer(`leasehold-1:${text}:lock:k:1:s:abc`, 'leasehold')),
  point('semaphore', async (text, _, session) => {
    const acquisition = await session.tryPermit(text, { limit: 1 });
    if (acquisition.kind === 'acquired') await acquisition.permit.release();
  }),
  point('limit of a semaphore', (text, _, session) => session.tryPermit('limited', { limit: any(text) })),
  point('permits', (text, _, session) => session.tryPermit('permitted', { limit: 5, permits: any(text) })),
  point('semaphore to look at', (text, { leasehold }) => leasehold.semaphores.get(text)),
  point('prefix of semaphores', (text, { leasehold }) => drained(leasehold.semaphores.list(text))),
  point('semaphore to limit', (text, { leasehold }) => leasehold.semaphores.setLimit(text, 3)),
  point('evict by whom', async (text, { leasehold }, session) => {
    const held = await session.tryPermit('evicted', { limit: 100_000 });
    const token = held.kind === 'acquired' ? held.permit.fencingToken : 0;
    await leasehold.semaphores.evict('evicted', { token, by: text, reason: 'why', lockDelay: 0 });
    if (held.kind === 'acquired') await held.permit.release();
  }),
  point('text of a permit', (text) => parsePermit(text)),
  point('wait group', (text, { leasehold }) => leasehold.waitGroup(text)),
  point('member of a wait group', async (text, { leasehold }) => (await leasehold.waitGroup('g')).add([text])),
  point('member that is done', async (text, { leasehold }) => (await leasehold.waitGroup('g')).done(text)),
  point('member to lease', async (text, { leasehold }, session) =>
    (await leasehold.waitGroup('g')).lease(text, session.holder),
  ),
  point('rate limit', (text, { leasehold }) => leasehold.rateLimiter(text, { rate: 5, per: '1s' }).tryTake('key')),
  point('key of a rate limit', (text, { leasehold }) =>
    leasehold.rateLimiter('r', { rate: 5, per: '1s' }).tryTake(text),
  ),
  point('span of a rate limit', (text, { leasehold }) => leasehold.rateLimiter('r', { rate: 5, per: any(text) })),
  point('tokens', (text, { leasehold }) =>
    leasehold.rateLimiter('r', { rate: 5, per: '1s' }).tryTake('k', { tokens: any(text) }),
  ),
];

const DEPLOYMENT: readonly EntryPoint[] = [
  point('table', (text, { foundation }) => new Leasehold(foundation, { table: text })),
  point('clock bound', (text, { foundation }) => new Leasehold(foundation, { table: 'a', maxClockSkew: any(text) })),
  // As the dispatcher takes a tick.
  point('schedule', (text, { stores, foundation }) => {
    const tick = { schedule: validName('schedule', text), scheduledTime: '2026-01-01T00:00:00Z' };
    return stores.ticks.take(tick, { by: 'fuzz', ...stampOf(foundation.runtime) });
  }),
  point('scheduled time', (text, { stores, foundation }) => {
    const tick = { schedule: 'nightly', scheduledTime: validName('scheduledTime', text) };
    return stores.ticks.take(tick, { by: 'fuzz', ...stampOf(foundation.runtime) });
  }),
  ...Object.values(ENV).flatMap((variable) => [
    point(`worker's ${variable}`, (text) => parseWorkEnv({ ...ENVIRONMENT, [variable]: text })),
    point(`dispatcher's ${variable}`, (text) => parseDispatchEnv({ ...ENVIRONMENT, [variable]: text })),
  ]),
];

export const ENTRY_POINTS: readonly EntryPoint[] = [...TASKS, ...OPERATIONS, ...COORDINATION, ...DEPLOYMENT];

/** Reads a file of tasks whose lines contain such texts: as they are, and as each field of a proper line. */
export async function readHostileFile(texts: readonly string[], { leasehold }: World) {
  const folder = await mkdtemp(path.join(tmpdir(), 'leasehold-fuzz-'));
  try {
    const file = path.join(folder, 'tasks.jsonl');
    const fields = ['name', 'id', 'queue', 'priority', 'delay', 'expires', 'unknown', '__proto__'];
    const lines = texts.flatMap((text) => [
      text.replaceAll(/[\r\n]/g, ' '),
      ...fields.map((field) => `{"name":"work","input":1,${JSON.stringify(field)}:${JSON.stringify(text)}}`),
    ]);
    await writeFile(file, lines.join('\n'));
    const { lines: tasks, bad: rejected } = await readTaskFile(file, leasehold.tasks, registerTasks({ work }));
    return { lines: lines.filter((line) => line.trim() !== '').length, tasks, rejected };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function point(name: string, call: EntryPoint['call']): EntryPoint {
  return { name, call };
}

/** Sessions keep a heartbeat going until they end. */
async function opened(opening: Promise<Session>): Promise<void> {
  const session = await opening;
  await session.end();
}

let locks = 0;

async function freshLock(session: Session): Promise<Lock> {
  const acquisition = await session.tryLock(`fresh ${++locks}`);
  if (acquisition.kind !== 'acquired') throw new Error('a new lock should have no holder');
  return acquisition.lock;
}

/** Complete listings grow with the run; their beginning is enough. */
async function drained(list: AsyncGenerator): Promise<void> {
  let seen = 0;
  for await (const _ of list) if (++seen >= 5) break;
}
