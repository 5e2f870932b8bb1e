/** Queues, what workers read and note of them, and schedules. */
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import { enqueueDueOccurrences } from '../../shared/tasks/dispatch/recur.ts';
import type { Process } from '../support/coordination.ts';
import type { Party } from './scene.ts';
import { scene } from './scene.ts';
import type { Step } from './steps.ts';
import { IN_LINE, OF_KEY, QUEUE, all, cancels, claim, dead, end, enqueue, listing, ready, stamped } from './steps.ts';

const operator = ({ here }: Party) => here.leasehold.operator;
const other = ({ there }: Party) => there.leasehold.operator;
const counted = all(enqueue('t', OF_KEY), enqueue('u', OF_KEY), claim());
const queues = ({ here }: Party) => here.ports.queues;
const observed = ({ here }: Party) => here.ports.queues.glance(QUEUE);
const SETTINGS = { concurrency: 10, startWithinMs: 10_000 };
const startsAt = ({ runtime }: Process) => ({
  count: 2,
  token: 0,
  untilMs: runtime.clock.now(),
  waitMs: 2_000,
  heard: [],
});
const shardOf = { queue: QUEUE, priority: 'normal', shard: 0 } as const;

export const QUEUES = [
  scene('queue.change', 'pause', {
    act: (party) => operator(party).pause({ reason: 'mine' }),
    rivals: { 'another resumes': (party) => other(party).resume({ reason: 'theirs' }) },
  }),
  scene('queue.change', 'resume', {
    before: (party) => other(party).pause(),
    act: (party) => operator(party).resume(),
    rivals: { 'another pauses': (party) => other(party).pause({ reason: 'theirs' }) },
  }),
  scene('queue.change', 'pause a tenant', {
    act: (party) => operator(party).pause({ tenant: 'acme' }),
    rivals: {
      'another pauses the queue': (party) => other(party).pause({ reason: 'theirs' }),
      'another pauses a tenant': (party) => other(party).pause({ tenant: 'beta' }),
    },
  }),
  scene('queue.change', 'resume a tenant', {
    before: (party) => other(party).pause({ tenant: 'acme' }),
    act: (party) => operator(party).resume({ tenant: 'acme' }),
    rivals: {
      'another resumes it': (party) => other(party).resume({ tenant: 'acme' }),
      'another pauses a tenant': (party) => other(party).pause({ tenant: 'beta' }),
    },
  }),
  scene('queue.get', 'read a queue', {
    before: (party) => other(party).pause(),
    act: (party) => queues(party).get(QUEUE),
  }),
  scene('queue.glance', 'glance at a queue', {
    before: (party) => other(party).pause(),
    act: (party) => queues(party).glance(QUEUE),
  }),
  scene('queue.listFinished', 'list finished tasks', {
    before: (party) => other(party).resume(),
    act: async (party) => queues(party).listFinished(QUEUE, await observed(party), true, stamped(party.here)),
    rivals: { 'another pauses': (party) => other(party).pause({ reason: 'theirs' }) },
  }),
  scene('queue.listFinished', 'list finished tasks of a queue without a row', {
    act: async (party) => queues(party).listFinished(QUEUE, undefined, true, stamped(party.here)),
  }),
  scene('queue.listFinished', 'list finished tasks no longer', {
    before: listing,
    act: async (party) => queues(party).listFinished(QUEUE, await observed(party), false, stamped(party.here)),
  }),
  scene('queue.noteUse', 'note what a worker serves', {
    act: async (party) => {
      const use = { lanes: new Set(['normal']), shards: 8 };
      return queues(party).noteUse(QUEUE, await observed(party), use, stamped(party.here));
    },
  }),
  scene('queue.noteUse', 'note more of what a worker serves', {
    before: (party) => other(party).resume(),
    act: async (party) => {
      const use = { lanes: new Set(['normal']), shards: 8 };
      return queues(party).noteUse(QUEUE, await observed(party), use, stamped(party.here));
    },
    rivals: { 'another pauses': (party) => other(party).pause({ reason: 'theirs' }) },
  }),
  scene('queue.announceNames', 'announce names', {
    act: async (party) => queues(party).announceNames(QUEUE, await observed(party), ['resize'], stamped(party.here)),
  }),
  scene('queue.announceNames', 'announce more names', {
    before: async ({ there }) => there.ports.queues.announceNames(QUEUE, undefined, ['resize'], stamped(there)),
    act: async (party) => queues(party).announceNames(QUEUE, await observed(party), ['a', 'b'], stamped(party.here)),
  }),
  ...[
    { tookMs: 20, unknownNames: [] },
    { tookMs: undefined, unknownNames: ['lost'] },
  ].map((hints) =>
    scene('queue.noteHints', `note hints, ${String(hints.unknownNames.length)} names unknown`, {
      act: (party) =>
        queues(party).noteHints(
          QUEUE,
          { ...hints, announcedNames: ['resize'], workerSettings: SETTINGS },
          stamped(party.here),
        ),
    }),
  ),
  scene('queue.noteStarts', 'note starts', {
    act: (party) => queues(party).noteStarts(QUEUE, undefined, startsAt(party.here), stamped(party.here)),
  }),
  scene('queue.noteStarts', 'note more starts', {
    before: async (party) => {
      const { there } = party;
      await other(party).resume();
      await there.ports.queues.noteStarts(QUEUE, undefined, startsAt(there), stamped(there));
    },
    act: async (party) => {
      const { starts } = (await queues(party).get(QUEUE)) ?? {};
      return queues(party).noteStarts(QUEUE, starts, startsAt(party.here), stamped(party.here));
    },
  }),
  scene('task.page', 'read a page', {
    before: ready(),
    act: async ({ here }) =>
      (await here.ports.tasks.page(shardOf, { now: here.runtime.clock.now(), limit: 50 })).hints.length,
  }),
  scene('task.pageOfGroups', 'read a page of groups', {
    before: ready({ tenant: 'acme' }),
    act: async ({ here }) => (await here.ports.tasks.pageOfGroups(shardOf, { after: ' ', limit: 50 })).entries.length,
  }),
  scene('task.pageOfEnded', 'read a page of ended tasks', {
    before: all(listing, ready({ label: 'order o-7' }), claim(), end('complete'), dead({}, 'u')),
    act: async ({ here, world }) => {
      const query = { queue: QUEUE, shards: 1, states: ['done', 'dead'], since: 0, until: world.clock.now() } as const;
      return here.ports.operations.pageOfEnded(query, undefined);
    },
  }),
  scene('key.getMany', 'read keys', {
    before: counted,
    act: async ({ here }) => (await here.ports.tasks.getKeys(QUEUE, ['k'])).size,
  }),
  scene('line.getMany', 'read turns', {
    before: enqueue('t', IN_LINE),
    act: ({ here }) => here.ports.tasks.getTurns(QUEUE, ['k']),
  }),
  scene('tick.take', 'take a tick', {
    act: ({ here }) =>
      here.ports.ticks.take(
        { schedule: 'minutely', scheduledTime: '2027-01-01T00:00:00Z' },
        { by: 'mine', ...stamped(here) },
      ),
  }),
];

const HOURLY = 'hourly';
const define =
  (options: object = {}): Step =>
  ({ there }) =>
    schedulesOf(there.leasehold).define(HOURLY, 'report', 1, { cron: '0 * * * *', ...options });
const schedules = ({ here }: Party) => schedulesOf(here.leasehold);
const theirs = ({ there }: Party) => schedulesOf(there.leasehold);
const OF_SCHEDULES = {
  'it is paused': (party: Party) => theirs(party).pause(HOURLY),
  'it is resumed': (party: Party) => theirs(party).resume(HOURLY),
  'it is removed': (party: Party) => theirs(party).remove(HOURLY),
  'it is redefined': define({ overlap: 'skip' }),
  'it is run': (party: Party) => theirs(party).run(HOURLY),
};
const runBefore =
  (overlap: string, ...more: readonly Step[]): Step =>
  async (party) => {
    await all(define({ overlap }), OF_SCHEDULES['it is run'], ...more)(party);
    await party.pass(10);
  };
/** The task of a run at the beginning. */
const RUN = 'hourly@2026-03-01T12:00:00.000Z';
const due =
  (options: object): Step =>
  async (party) => {
    await define(options)(party);
    await party.pass(3_600_000);
  };
const tick = async ({ here }: Party) => {
  const heard: string[] = [];
  const made = await enqueueDueOccurrences(QUEUE, here.ports, (error) => void heard.push(String(error)));
  return { made, heard };
};

export const SCHEDULES = [
  scene('schedule.put', 'define a schedule', {
    act: ({ here }) => schedulesOf(here.leasehold).define(HOURLY, 'report', 2, { cron: '0 * * * *' }),
    rivals: { 'another defines it': define() },
  }),
  scene('schedule.put', 'define a schedule otherwise', {
    before: define(),
    act: (party) => schedules(party).define(HOURLY, 'report', 2, { cron: '0 * * * *' }),
    rivals: OF_SCHEDULES,
  }),
  scene('schedule.remove', 'remove a schedule', {
    before: define(),
    act: (party) => schedules(party).remove(HOURLY),
    rivals: OF_SCHEDULES,
  }),
  scene('schedule.pause', 'pause a schedule', {
    before: define(),
    act: (party) => schedules(party).pause(HOURLY),
    rivals: OF_SCHEDULES,
  }),
  scene('schedule.resume', 'resume a schedule', {
    before: all(define(), OF_SCHEDULES['it is paused']),
    act: (party) => schedules(party).resume(HOURLY),
    rivals: OF_SCHEDULES,
  }),
  ...['skip', 'replace', 'allow'].map((overlap) =>
    scene('schedule.make', `run a schedule that would ${overlap}`, {
      before: define({ overlap }),
      act: (party) => schedules(party).run(HOURLY),
      rivals: OF_SCHEDULES,
    }),
  ),
  scene('schedule.make', 'run a schedule that replaces a waiting task', {
    before: runBefore('replace'),
    act: (party) => schedules(party).run(HOURLY),
    rivals: { 'the earlier task is claimed': claim(RUN), 'it is run': OF_SCHEDULES['it is run'] },
  }),
  scene('schedule.make', 'run a schedule that replaces a running task', {
    before: runBefore('replace', claim(RUN)),
    act: (party) => schedules(party).run(HOURLY),
    rivals: { 'another cancels it': cancels(RUN), 'it has ended': end('complete', RUN) },
  }),
  ...['skip', 'replace', 'allow'].map((overlap) =>
    scene('schedule.make', `make the task of a due occurrence that would ${overlap}`, {
      before: due({ overlap }),
      act: tick,
      rivals: { 'another dispatcher does': ({ there }) => tick({ here: there } as Party), ...OF_SCHEDULES },
    }),
  ),
  scene('schedule.advance', 'skip a due occurrence whose earlier task runs', {
    before: async (party) => {
      await runBefore('skip', claim(RUN))(party);
      await party.pass(3_600_000);
    },
    act: tick,
    rivals: OF_SCHEDULES,
  }),
  scene('schedule.make', 'make the task of a due occurrence, with jitter and all missed', {
    before: due({ jitter: '1m', missed: 'all' }),
    act: tick,
  }),
  scene('schedule.due', 'read due schedules', {
    before: due({}),
    act: async ({ here: { ports, runtime } }) =>
      (await ports.schedules.due(QUEUE, runtime.clock.now(), runtime.random, () => undefined)).length,
  }),
  scene('schedule.getMany', 'read a page of schedules', {
    before: define(),
    act: async ({ here }) => (await here.ports.schedules.page(QUEUE, undefined)).schedules.length,
  }),
  scene('schedule.get', 'read a schedule', { before: define(), act: (party) => schedules(party).get(HOURLY) }),
  scene('schedule.page', 'list schedules', {
    before: define(),
    act: async (party) => (await Array.fromAsync(schedules(party).list())).length,
  }),
];
