/** Calls of clients and operators, each at every request with a fault: again by a later caller, unless this one was told how it ended. */
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { LINE, TASK_KEYS } from '../invariants/families.ts';
import { SCHEDULE } from '../invariants/schedules.ts';
import { fillerOf } from '../workloads/task-code.ts';
import { work } from '../workloads/worker.ts';
import type { Call } from './call.ts';
import { callFlow } from './call.ts';
import type { Clients } from './clients.ts';
import { COORDINATION } from './coordination-calls.ts';
import type { Flow, Stage } from './stage.ts';
import { PROFILE } from './stage.ts';
import { QUICK, workOff } from './work-off.ts';

const quick = (clients: Clients, id: string, options: EnqueueOptions = {}) =>
  clients.tasks.enqueue('quick', QUICK, { id, ...options });
const [NARROW] = TASK_KEYS;
const LATER = '20s';
const delayed = (clients: Clients, id = 'a', options: EnqueueOptions = {}) =>
  quick(clients, id, { delay: LATER, ...options });
const define = ({ schedules }: Clients, options = {}) =>
  schedules.define(SCHEDULE.name, 'quick', QUICK, { cron: SCHEDULE.cron, ...options });

/** A worker runs this task, and goes on beside the call. */
async function started(clients: Clients, stage: Stage, enqueue: Promise<unknown>, dies = false): Promise<void> {
  await enqueue;
  const place = stage.place('worker');
  void work(place, {}).catch(() => undefined);
  await stage.sleep(300);
  if (dies) place.process.kill();
}

const slow = ({ tasks }: Clients, ms: number, options: EnqueueOptions = {}) =>
  tasks.enqueue('slow', { kind: 'slow', half: 1, ms }, { id: 'a', ...options });
const dead = async (clients: Clients, stage: Stage, options: EnqueueOptions = {}): Promise<void> => {
  await clients.tasks.enqueue('refuses', { kind: 'refuses', half: 1 }, { id: 'a', ...options });
  await workOff(stage);
};
const refuses = spawn('refuses', { kind: 'refuses', half: 1 });

const ENQUEUES: readonly Call[] = [
  {
    name: 'enqueue with a payload',
    call: ({ tasks }) => tasks.enqueue('quick', { ...QUICK, filler: fillerOf('a', QUICK, 18_000) }, { id: 'a' }),
    states: { a: 'done' },
  },
  { name: 'enqueue for a tenant', call: (clients) => quick(clients, 'a', { tenant: 'acme' }), states: { a: 'done' } },
  { name: 'enqueue as the head of a line', call: (clients) => quick(clients, 'a', LINE), states: { a: 'done' } },
  {
    name: 'enqueue behind the head of a line',
    before: (clients) => quick(clients, 'a', LINE),
    call: (clients) => quick(clients, 'b', LINE),
    states: { a: 'done', b: 'done' },
  },
  {
    name: 'enqueue all, some in a line',
    call: ({ tasks }) =>
      tasks.enqueueAll(['a', 'b', 'c'].map((id) => spawn('quick', QUICK, { id, ...(id === 'a' ? {} : LINE) }))),
    states: { a: 'done', b: 'done', c: 'done' },
  },
  {
    name: 'enqueue and wait',
    before: (_clients, stage) => {
      stage.timeline.after(1_000, () => void workOff(stage));
      return Promise.resolve();
    },
    call: ({ tasks }) => tasks.enqueueAndWait('quick', QUICK, { id: 'a' }),
    states: { a: 'done' },
  },
  {
    name: 'enqueue a batch',
    call: ({ tasks }) => tasks.enqueueBatch([spawn('quick', QUICK), refuses], { id: 'b', then: spawn('quick', QUICK) }),
    states: { 'b/then': 'done' },
  },
  {
    name: 'enqueue after the end',
    before: async (clients, stage) => {
      await quick(clients, 'a');
      await workOff(stage);
    },
    call: ({ tasks }) =>
      tasks.enqueue('quick', { ...QUICK, version: 1 }, { id: 'a', onDuplicate: 'replace', window: 1 }),
    states: { a: 'done' },
  },
  {
    name: 'enqueue to follow a running one',
    before: (clients, stage) => started(clients, stage, slow(clients, 1_500)),
    call: ({ tasks }) => tasks.enqueue('quick', { ...QUICK, version: 1 }, { id: 'a', onDuplicate: 'replace' }),
    states: { a: 'done' },
  },
];

const OPERATIONS: readonly Call[] = [
  {
    name: 'cancel one that waits',
    before: (clients) => delayed(clients),
    call: ({ operator }) => operator.cancel('a'),
    states: { a: 'cancelled' },
  },
  {
    name: 'cancel one in a line',
    before: async (clients) => {
      await quick(clients, 'a', LINE);
      await quick(clients, 'b', LINE);
      await quick(clients, 'c', LINE);
    },
    call: ({ operator }) => operator.cancel('b'),
    states: { a: 'done', b: 'cancelled', c: 'done' },
  },
  {
    name: 'cancel the head of a line',
    before: async (clients) => {
      await delayed(clients, 'a', LINE);
      await quick(clients, 'b', LINE);
    },
    call: ({ operator }) => operator.cancel('a'),
    states: { a: 'cancelled', b: 'done' },
  },
  {
    name: 'cancel one that runs',
    before: (clients, stage) => started(clients, stage, slow(clients, 15_000)),
    call: ({ operator }) => operator.cancel('a'),
    states: { a: 'cancelled' },
  },
  {
    name: 'cancel one that is abandoned',
    before: async (clients, stage) => {
      await started(clients, stage, slow(clients, 15_000, NARROW), true);
      await quick(clients, 'b', NARROW);
      await stage.sleep(3 * PROFILE.ttlMs);
    },
    call: ({ operator }) => operator.cancel('a'),
    states: { a: 'cancelled', b: 'done' },
  },
  {
    name: 'retry a dead one',
    before: (clients, stage) => dead(clients, stage),
    call: ({ operator }) => operator.retry('a'),
    states: { a: 'dead' },
  },
  {
    name: 'retry into a line',
    before: async (clients, stage) => {
      await dead(clients, stage, LINE);
      await delayed(clients, 'b', LINE);
    },
    call: ({ operator }) => operator.retry('a'),
    states: { a: 'dead', b: 'done' },
  },
  {
    name: 'retry all dead ones',
    before: async (clients, stage) => {
      await dead(clients, stage);
      await stage.sleep(2_000);
    },
    call: ({ operator }) => operator.retryAll({ limit: 2 }),
    states: { a: 'dead' },
  },
  {
    name: 'retry one that waited for children',
    before: async (clients, stage) => {
      await started(clients, stage, clients.tasks.enqueue('fansOut', { kind: 'fansOut', half: 1 }, { id: 'a' }), true);
      await clients.operator.cancel('a');
    },
    call: ({ operator }) => operator.retry('a'),
  },
  {
    name: 'reschedule',
    before: (clients) => delayed(clients, 'a', { tenant: 'acme' }),
    call: ({ operator }) => operator.reschedule('a', { priority: 'high', delay: '0s' }),
    finds: async ({ tasks }) => (await tasks.get('a'))?.priority === 'high',
    states: { a: 'done' },
  },
  {
    name: 'pause',
    before: (clients) => quick(clients, 'a'),
    call: ({ operator }) => operator.pause(),
    andThen: ({ operator }) => operator.resume(),
    states: { a: 'done' },
  },
  {
    name: 'resume',
    before: async (clients) => {
      await quick(clients, 'a');
      await clients.operator.pause();
    },
    call: ({ operator }) => operator.resume(),
    states: { a: 'done' },
  },
  {
    name: 'recount a key',
    before: async (clients, stage) => {
      await started(clients, stage, slow(clients, 5_000, NARROW));
      await quick(clients, 'b', NARROW);
    },
    call: ({ operator }) => operator.recountKey(NARROW.key, { shards: PROFILE.shards }),
    states: { a: 'done', b: 'done' },
  },
  {
    name: 'pass a line',
    before: (clients) => quick(clients, 'a', LINE),
    call: ({ operator }) => operator.passLine(LINE.key),
    states: { a: 'done' },
  },
];

const SCHEDULES: readonly Call[] = [
  { name: 'define a schedule', call: (clients) => define(clients), finds: isDefined },
  {
    name: 'define a schedule otherwise',
    before: (clients) => define(clients),
    call: (clients) => define(clients, { overlap: 'skip' }),
    finds: async ({ schedules }) => (await schedules.get(SCHEDULE.name))?.overlap === 'skip',
  },
  {
    name: 'run a schedule',
    before: (clients) => define(clients),
    call: ({ schedules }) => schedules.run(SCHEDULE.name),
  },
  {
    name: 'pause a schedule',
    before: (clients) => define(clients),
    call: ({ schedules }) => schedules.pause(SCHEDULE.name),
    finds: async ({ schedules }) => (await schedules.get(SCHEDULE.name))?.pausedAt !== undefined,
  },
  {
    name: 'resume a schedule',
    before: async (clients) => {
      await define(clients);
      await clients.schedules.pause(SCHEDULE.name);
    },
    call: ({ schedules }) => schedules.resume(SCHEDULE.name),
    finds: isDefined,
  },
  {
    name: 'remove a schedule',
    before: (clients) => define(clients),
    call: ({ schedules }) => schedules.remove(SCHEDULE.name),
    finds: async ({ schedules }) => (await schedules.get(SCHEDULE.name)) === undefined,
  },
];

async function isDefined({ schedules }: Clients): Promise<boolean> {
  const found = await schedules.get(SCHEDULE.name);
  return found !== undefined && found.pausedAt === undefined;
}

export const CALLS: readonly Flow[] = [...ENQUEUES, ...OPERATIONS, ...SCHEDULES, ...COORDINATION].map(callFlow);
