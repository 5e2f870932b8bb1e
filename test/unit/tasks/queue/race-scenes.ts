/** Acts of operators and clients, and what another process may do in between: for `races.test.ts`. */
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { taskConcurrencyKey, taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { ReadyTask, RunningTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { STARTS_AT } from '../../../support/coordination.ts';
import type { Story } from '../../../support/story.ts';

export type Step = (story: Story) => Promise<unknown>;

export interface Scene {
  readonly before?: Step;
  readonly act: Step;
  readonly rivals: Readonly<Record<string, Step>>;
  /** What to show of the table afterwards. Default: the task `t`. */
  readonly facts?: Step;
}

const QUEUE = 'default';
const HOUR_MS = 3_600_000;
const KEY = { key: 'k', limit: 2 };
const IN_LINE = { key: 'k', ordered: true };
export const get = (story: Story, id = 't') => story.there.ports.tasks.get({ queue: QUEUE, id });
const enqueue =
  (id = 't', options: EnqueueOptions = {}, input: unknown = 1): Step =>
  ({ there }) =>
    there.leasehold.tasks.enqueue('work', input, { id, ...options });
/** Under a session that never was: it counts as ended. */
const claim =
  (id = 't', session = 'gone'): Step =>
  async (story) => {
    const { tasks, runtime } = { ...story.there.ports, runtime: story.there.runtime };
    const outcome = await tasks.claim((await get(story, id)) as ReadyTask, session, stampOf(runtime));
    if (outcome.kind !== 'applied') throw new Error('the claim was refused');
  };
const claimAlive =
  (id = 't'): Step =>
  async (story) => {
    const session = await story.there.leasehold.session();
    await claim(id, session.id)(story);
  };
const end =
  (how: 'complete' | 'discard' | 'snooze', id = 't'): Step =>
  async (story) => {
    const { tasks } = story.there.ports;
    const { runtime } = story.there;
    const held = claimOf((await get(story, id)) as RunningTask);
    if (how === 'complete') await tasks.complete(held, 'result', stampOf(runtime));
    if (how === 'discard') await tasks.discard(held, { name: 'Error', message: 'boom', at: 1 }, stampOf(runtime));
    if (how === 'snooze') await tasks.snooze(held, runtime.clock.now() + 60_000, stampOf(runtime));
  };
const takeOver: Step = async (story) =>
  story.there.ports.tasks.takeOver((await get(story)) as RunningTask, 'other', stampOf(story.there.runtime));
const all =
  (...steps: readonly Step[]): Step =>
  async (story) => {
    for (const step of steps) await step(story);
  };
const remove =
  (id: string): Step =>
  ({ world }) =>
    world.driver.attempt(
      'delete',
      { TableName: world.table, Key: { ...taskKey(QUEUE, id) } },
      new AbortController().signal,
    );

const operator = ({ here }: Story) => here.leasehold.operator;
const other = ({ there }: Story) => there.leasehold.operator;
const line: Step = (story) => story.there.ports.operations.getLine(QUEUE, 'k');
const key: Step = (story) => story.there.ports.operations.getKey(QUEUE, 'k');
const schedules = ({ there }: Story) => there.leasehold.schedules;
const define =
  (options: object = {}): Step =>
  (story) =>
    schedules(story).define('hourly', 'report', 1, { cron: '0 * * * *', ...options });
const schedule: Step = async (story) => {
  const found = await schedules(story).get('hourly');
  return found && { overlap: found.overlap, nextAt: found.nextAt, lastAt: found.lastAt, pausedAt: found.pausedAt };
};
const OF_SCHEDULES = {
  'it is paused': (story: Story) => schedules(story).pause('hourly'),
  'it is resumed': (story: Story) => schedules(story).resume('hourly'),
  'it is removed': (story: Story) => schedules(story).remove('hourly'),
  'it is redefined': define({ overlap: 'skip' }),
  'it is run': (story: Story) => schedules(story).run('hourly'),
};

/** The task of a run at the beginning of the story. */
const RUN = `hourly@${new Date(STARTS_AT).toISOString()}`;
const standing = ({ id, state, cancellation }: TaskRecord) => ({ id, state, cancellation });

export const SCENES: Readonly<Record<string, Scene>> = {
  'cancel of a waiting task': {
    before: enqueue(),
    act: (story) => operator(story).cancel('t', { reason: 'mine' }),
    rivals: {
      'it is claimed': claim(),
      'it is claimed by a live session': claimAlive(),
      'it has ended': all(claim(), end('complete')),
      'another cancels it': (story) => other(story).cancel('t', { reason: 'theirs' }),
      'it is rescheduled': (story) => other(story).reschedule('t', { priority: 'low' }),
    },
  },
  'cancel of a running task': {
    before: all(enqueue(), claimAlive()),
    act: (story) => operator(story).cancel('t', { reason: 'mine' }),
    rivals: {
      'it has ended': end('complete'),
      'it is snoozed': end('snooze'),
      'it is taken over': takeOver,
      'another cancels it': (story) => other(story).cancel('t', { reason: 'theirs' }),
      'its session is ended': async (story) =>
        story.there.leasehold.sessions.destroy(((await get(story)) as RunningTask).session),
    },
  },
  'cancel with a counter': {
    before: enqueue(),
    act: async (story) => operator(story).cancel('t', { leaseCounter: counterNow(story) }),
    rivals: { 'it is claimed': claim(), 'it was claimed and is back': all(claim(), end('snooze')) },
  },
  'retry of a dead task': {
    before: all(enqueue(), claim(), end('discard')),
    act: (story) => operator(story).retry('t'),
    rivals: {
      'another retries it': (story) => other(story).retry('t'),
      'another retries it, and it runs': all((story) => other(story).retry('t'), claim()),
      'its id has other work': enqueue('t', { onDuplicate: 'replace' }, 2),
    },
  },
  'retry of all dead tasks': {
    before: all(...['t', 'u'].flatMap((id) => [enqueue(id), claim(id), end('discard', id)])),
    act: (story) => operator(story).retryAll({ limit: 1 }),
    rivals: { 'another retries one': (story) => other(story).retry('t') },
    facts: async (story) => [(await get(story, 't'))?.state, (await get(story, 'u'))?.state],
  },
  reschedule: {
    before: enqueue(),
    act: (story) => operator(story).reschedule('t', { priority: 'high' }),
    rivals: {
      'it is claimed': claim(),
      'it was claimed and is snoozed': all(claim(), end('snooze')),
      'another cancels it': (story) => other(story).cancel('t'),
      'another moves it': (story) => other(story).reschedule('t', { priority: 'low', runAt: 1_800_000_000_000 }),
    },
  },
  'a key': {
    before: all(enqueue('t', KEY), enqueue('u', KEY), claim()),
    act: (story) => operator(story).key('k', { shards: 8 }),
    rivals: { 'a task of it begins': claim('u'), 'a task of it ends': end('complete') },
    facts: key,
  },
  'recount of a key': {
    before: all(enqueue('t', KEY), enqueue('u', KEY), claim()),
    act: (story) => operator(story).recountKey('k', { shards: 8 }),
    rivals: { 'a task of it begins': claim('u'), 'a task of it ends': end('complete') },
    facts: key,
  },
  'recount of a key whose row is gone': {
    before: all(enqueue('t', KEY), enqueue('u', KEY), claim(), ({ world }) =>
      world.driver.attempt(
        'delete',
        { TableName: world.table, Key: { ...taskConcurrencyKey(QUEUE, 'k') } },
        new AbortController().signal,
      ),
    ),
    act: (story) => operator(story).recountKey('k', { shards: 8 }),
    rivals: { 'a task of it begins': claim('u'), 'its task ends': end('complete') },
    facts: key,
  },
  'recount of a key with a slot too many': {
    before: all(enqueue('t', KEY), enqueue('u', KEY), enqueue('gone', KEY), claim('gone'), remove('gone')),
    act: (story) => operator(story).recountKey('k', { shards: 8 }),
    rivals: { 'a task of it begins': claim('u') },
    facts: key,
  },
  'recount of a key whose last start is an hour ahead, by a wrong clock': {
    before: async (story) => {
      story.there.clockError.ms = HOUR_MS;
      await all(enqueue('t', KEY), claim())(story);
      story.there.clockError.ms = 0;
    },
    act: (story) => operator(story).recountKey('k', { shards: 8 }),
    rivals: {},
    facts: ({ world }) => Promise.resolve(`${world.clock.now() - Date.parse(STARTS_AT)} ms later`),
  },
  'the turn of a line': {
    before: all(enqueue('t', IN_LINE), enqueue('u', IN_LINE), remove('t')),
    act: (story) => operator(story).turn('k'),
    rivals: { 'another passes it': (story) => other(story).passLine('k'), 'one joins': enqueue('v', IN_LINE) },
    facts: line,
  },
  'the turn of a line, of which the next is gone, too': {
    before: all(...['t', 'u', 'v', 'w'].map((id) => enqueue(id, IN_LINE)), remove('t'), remove('u')),
    act: (story) => operator(story).turn('k'),
    rivals: {},
    facts: line,
  },
  'cancel of a task of a worker that is gone': {
    before: all(enqueue(), claim()),
    act: (story) => operator(story).cancel('t', { reason: 'mine' }),
    rivals: {
      'it is taken over': takeOver,
      'it has ended': end('complete'),
      'another cancels it': (story) => other(story).cancel('t', { reason: 'theirs' }),
    },
  },
  'pass of a line': {
    before: all(enqueue('t', IN_LINE), enqueue('u', IN_LINE), remove('t')),
    act: (story) => operator(story).passLine('k'),
    rivals: { 'another passes it': (story) => other(story).passLine('k'), 'one joins': enqueue('v', IN_LINE) },
    facts: line,
  },
  'pass of a line behind cancelled tasks': {
    before: all(
      ...['s', 't', 'u', 'v'].map((id) => enqueue(id, IN_LINE)),
      (story) => other(story).cancel('s'),
      remove('t'),
    ),
    act: (story) => operator(story).passLine('k'),
    rivals: { 'the next is cancelled': (story) => other(story).cancel('u') },
    facts: line,
  },
  'pass of a line of one': {
    before: all(enqueue('t', IN_LINE), remove('t')),
    act: (story) => operator(story).passLine('k'),
    rivals: { 'one joins': enqueue('u', IN_LINE) },
    facts: line,
  },
  pause: {
    act: (story) => operator(story).pause({ reason: 'mine' }),
    rivals: { 'another resumes': (story) => other(story).resume({ reason: 'theirs' }) },
    facts: (story) => story.there.ports.queues.get(QUEUE),
  },
  'enqueue to replace': {
    before: enqueue(),
    act: ({ here }) => here.leasehold.tasks.enqueue('work', 2, { id: 't', onDuplicate: 'replace' }),
    rivals: {
      'it is claimed': claim(),
      'it has ended': all(claim(), end('complete')),
      'it is cancelled': (story) => other(story).cancel('t'),
      'another replaces it': enqueue('t', { onDuplicate: 'replace' }, 3),
    },
  },
  'enqueue to debounce': {
    before: all(enqueue(), claim()),
    act: ({ here }) => here.leasehold.tasks.enqueue('work', 2, { id: 't', onDuplicate: 'debounce', delay: '1m' }),
    rivals: {
      'it has ended': end('complete'),
      'it is snoozed': end('snooze'),
      'another follows': enqueue('t', { onDuplicate: 'debounce', delay: '1m' }, 3),
    },
  },
  'enqueue after a window': {
    before: all(enqueue(), claim(), end('complete'), ({ world }) => world.clock.advance(1)),
    act: ({ here }) => here.leasehold.tasks.enqueue('work', 2, { id: 't', window: 1 }),
    rivals: {
      'another begins': enqueue('t', { window: 1 }, 3),
      'another of it runs': all(enqueue('t', { window: 1 }, 3), claim()),
    },
  },
  'enqueue of a batch again, though its callback has had its turn and other work since': {
    before: all(
      ({ there }) =>
        there.leasehold.tasks.enqueueBatch([spawn('work', 1, { id: 't' })], { id: 'b', then: spawn('after', 1) }),
      ...[claim(), end('complete'), claim('b/then'), end('complete', 'b/then')],
      ({ world }) => world.clock.advance(1),
      enqueue('b/then', { window: 1 }, 'other'),
    ),
    act: ({ here }) =>
      here.leasehold.tasks.enqueueBatch([spawn('work', 1, { id: 't' })], { id: 'b', then: spawn('after', 1) }),
    rivals: {},
    facts: (story) => get(story, 'b/then'),
  },
  'enqueue of a batch': {
    act: ({ here }) =>
      here.leasehold.tasks.enqueueBatch([spawn('work', 1, { id: 't' }), spawn('work', 1, { id: 'u' })], {
        id: 'b',
        then: spawn('after', 1, { id: 'then' }),
      }),
    rivals: {
      'a child is there': enqueue('u', {}, 2),
      'the callback is there': enqueue('then'),
      'another enqueues it': ({ there }) =>
        there.leasehold.tasks.enqueueBatch([spawn('work', 1, { id: 't' }), spawn('work', 1, { id: 'u' })], {
          id: 'b',
          then: spawn('after', 1, { id: 'then' }),
        }),
    },
    facts: (story) => story.there.leasehold.tasks.getBatch('b'),
  },
  'definition of a schedule': {
    before: define(),
    act: ({ here }) => here.leasehold.schedules.define('hourly', 'report', 2, { cron: '0 * * * *' }),
    rivals: OF_SCHEDULES,
    facts: schedule,
  },
  'removal of a schedule': {
    before: define(),
    act: ({ here }) => here.leasehold.schedules.remove('hourly'),
    rivals: OF_SCHEDULES,
    facts: schedule,
  },
  'pause of a schedule': {
    before: define(),
    act: ({ here }) => here.leasehold.schedules.pause('hourly'),
    rivals: OF_SCHEDULES,
    facts: schedule,
  },
  'resumption of a schedule': {
    before: all(define(), (story) => schedules(story).pause('hourly')),
    act: ({ here }) => here.leasehold.schedules.resume('hourly'),
    rivals: OF_SCHEDULES,
    facts: schedule,
  },
  'run of a schedule that replaces a waiting task': {
    before: all(define({ overlap: 'replace' }), OF_SCHEDULES['it is run'], ({ world }) => world.clock.advance(1)),
    act: ({ here }) => here.leasehold.schedules.run('hourly'),
    rivals: {
      'the earlier task is claimed': claim(RUN),
      'the earlier task is claimed by a live session': claimAlive(RUN),
      'it is run': OF_SCHEDULES['it is run'],
    },
    facts: async (story) => (await Array.fromAsync(other(story).open({ shards: 8 }))).map(standing),
  },
  'run of a schedule that replaces a running task': {
    before: all(...[define({ overlap: 'replace' }), OF_SCHEDULES['it is run'], claimAlive(RUN)], ({ world }) =>
      world.clock.advance(1),
    ),
    act: ({ here }) => here.leasehold.schedules.run('hourly'),
    rivals: {
      'another cancels it': (story) => other(story).cancel(RUN, { reason: 'theirs' }),
      'it has ended': end('complete', RUN),
      'it is snoozed': end('snooze', RUN),
    },
    facts: async (story) => (await Array.fromAsync(other(story).open({ shards: 8 }))).map(standing),
  },
  'run of a schedule that skips': {
    before: define({ overlap: 'skip' }),
    act: ({ here }) => here.leasehold.schedules.run('hourly'),
    rivals: { 'it is run': OF_SCHEDULES['it is run'] },
    facts: schedule,
  },
  'run of a schedule': {
    before: define({ overlap: 'replace' }),
    act: ({ here }) => here.leasehold.schedules.run('hourly'),
    rivals: OF_SCHEDULES,
    facts: schedule,
  },
};

/** Of a task that was created just now. */
function counterNow({ there }: Story): number {
  return there.runtime.clock.now();
}
