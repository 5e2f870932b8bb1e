/** Verbs of tasks, batches, keys, lines, operators and schedules, and workers that live, hand back or die. */
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import { defined } from '../../../shared/core/defined.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import { enqueueDueOccurrences } from '../../../shared/tasks/dispatch/recur.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { ScheduleOptions } from '../../../shared/tasks/schedule/declaration.ts';
import { MISSED_POLICIES, OVERLAP_POLICIES } from '../../../shared/tasks/schedule/schedule.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { DoNotRetry, RetryAfter } from '../../../shared/tasks/task/control.ts';
import type { TaskRegistry } from '../../../shared/tasks/task/definition.ts';
import { defineTask, registerTasks } from '../../../shared/tasks/task/definition.ts';
import type { TaskRequest } from '../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { WorkerReport } from '../../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../../shared/tasks/worker/run-worker.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import type { Process, World } from '../../support/coordination.ts';
import type { Prng } from '../../support/machines/prng.ts';
import type { Death } from '../../support/mortal.ts';
import { Mortal } from '../../support/mortal.ts';
import { shown } from '../../support/story.ts';
import type { Act, Acts } from './drawn-story.ts';
import { openHolder } from '../../support/open-holder.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
const BATCHES = ['x', 'y'] as const;
const LINES = ['m', 'n'] as const;
const DEEDS = [
  'done',
  'fail',
  'later',
  'never',
  'snooze',
  'commit',
  'spawn',
  'children',
  'progress',
  'nap',
  'nap',
  'sleep',
  'large',
] as const;
const SHARDS = 8;

const maybe = <T>(prng: Prng, chance: number, value: T): T | undefined => (prng.chance(chance) ? value : undefined);

function groupOf(prng: Prng): EnqueueOptions {
  const kind = prng.pick(['none', 'none', 'limit', 'rate', 'line', 'both', 'tenant'] as const);
  switch (kind) {
    case 'limit':
      return { key: 'k', limit: prng.integer(1, 2) };
    case 'rate':
      return { key: 'r', rate: { count: 2, per: '1m' } };
    case 'line':
      return { key: prng.pick(LINES), ordered: true };
    case 'both':
      return { key: 'kr', limit: 1, rate: { count: 3, per: '1m' }, tenant: 'acme' };
    case 'tenant':
      return { tenant: prng.pick(['acme', 'globex'] as const) };
    case 'none':
      return {};
  }
}

function optionsOf(prng: Prng): EnqueueOptions {
  return defined({
    ...groupOf(prng),
    priority: maybe(prng, 0.3, prng.pick(['high', 'low'] as const)),
    delay: maybe(prng, 0.2, prng.pick(['2s', '1m', '1h'] as const)),
    expires: maybe(prng, 0.1, prng.pick(['5s', '2h'] as const)),
    maxAttempts: maybe(prng, 0.3, prng.integer(1, 3)),
    timeout: maybe(prng, 0.1, '2s' as const),
    onDuplicate: maybe(prng, 0.4, prng.pick(['reject', 'keep', 'replace', 'debounce'] as const)),
    window: maybe(prng, 0.2, '1m' as const),
  });
}

function inputOf(prng: Prng): { readonly does: (typeof DEEDS)[number]; readonly more?: string } {
  const does = prng.pick(DEEDS);
  return does === 'large' ? { does, more: 'x'.repeat(2_000) } : { does };
}

function requestOf(prng: Prng, id: string): TaskRequest {
  const { onDuplicate: _, window: __, ...options } = optionsOf(prng);
  return spawn('work', inputOf(prng), { ...options, id });
}

const told = (request: TaskRequest): string =>
  shown({ ...(request.input as object), more: undefined, ...request.options }).replaceAll('more: undefined, ', '');

/** The code of each task. */
async function behave({ clock }: World, does: string, context: TaskContext): Promise<unknown> {
  const { id, attempt, children, signal } = context;
  switch (does) {
    case 'fail':
      throw new Error(`attempt ${attempt} of ${id}`);
    case 'later':
      if (attempt < 3) throw new RetryAfter('5s', 'not yet');
      return { at: attempt };
    case 'never':
      throw new DoNotRetry('never');
    case 'snooze':
      if (context.progress === 'slept') return { slept: true };
      await context.saveProgress('slept');
      return context.snooze('3s');
    case 'commit':
      return context.commit({ by: 'commit' });
    case 'spawn':
      return context.commit({ spawned: id }, [], {
        spawn: [spawn('work', { does: 'done' }, { id: `${id}+`, key: 'm', ordered: true })],
      });
    case 'children':
      if (children !== undefined || id.length > 1) return { children: children ?? null };
      return context.waitFor(
        (['done', 'fail'] as const).map((deed, n) =>
          spawn('work', { does: deed }, { id: `${id}${n}`, maxAttempts: 1 }),
        ),
      );
    case 'progress':
      await context.saveProgress({ at: attempt });
      if (attempt < 2) throw new Error('half done');
      return { progress: context.progress ?? null };
    case 'nap':
      await clock.sleep(2_500);
      signal.throwIfAborted();
      return { napped: attempt };
    case 'sleep':
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      throw signal.reason;
    default:
      return { done: does };
  }
}

function tasksOf(world: World): TaskRegistry {
  const run = ({ does }: { readonly does: string }, context: TaskContext) => behave(world, does, context);
  return registerTasks({ work: defineTask({ name: 'work', run }) });
}

interface Work {
  readonly concurrency: number;
  /** Hands back then. */
  readonly lastsMs: number;
  readonly death?: Death;
  readonly named?: readonly string[];
}

/** The counts that are not zero. */
function occurred({ settled, ended, ...counts }: WorkerReport): unknown {
  return Object.fromEntries(Object.entries({ ended, ...counts, ...settled }).filter(([, count]) => count !== 0));
}

async function work(world: World, at: Process, { concurrency, lastsMs, death, named }: Work): Promise<unknown> {
  const process = world.start({}, { ids: at.runtime.ids, random: at.runtime.random });
  const mortal = new Mortal(death);
  process.driver.attempt = (...request) => mortal.step(() => at.driver.attempt(...request));
  const { runtime, ports } = process;
  const run = async (): Promise<unknown> => {
    const timing = sessionTiming({ ttlMs: 10_000, heartbeatMs: 3_000, lockDelayMs: 1_000 });
    const session = await openHolder({ timing, name: 'worker', node: 'node' }, { store: ports.sessions, runtime });
    const handBack = new AbortController();
    const cancel = runtime.clock.after(lastsMs, () => handBack.abort());
    const settings = {
      queue: 'default',
      shards: SHARDS,
      homeShards: Array.from({ length: SHARDS }, (_, shard) => shard),
      concurrency,
      ...defined({ named }),
      pollMs: 500,
      graceMs: 1_000,
      deadlineMonotonicMs: runtime.clock.monotonic() + lastsMs + 2_000,
    };
    try {
      const worker = { ...ports, session, runtime, gauge: noSkewGauge, log: silent };
      return occurred(await runWorker(tasksOf(world), worker, settings, handBack.signal));
    } finally {
      cancel();
      await session.end();
    }
  };
  return Promise.race([run(), mortal.death.then(() => 'died')]);
}

const act = (title: string, run: Act['run']): Act => ({ title, run });
const collected = <T>(list: AsyncIterable<T>, name: (each: T) => unknown): Promise<unknown[]> =>
  Array.fromAsync(list, name);

export function taskActs(world: World): Acts {
  const by = (prng: Prng) => prng.pick(IDS);
  return [
    [
      22,
      (prng) => {
        const [id, input, options] = [by(prng), inputOf(prng), optionsOf(prng)];
        return act(`enqueue ${id} to ${input.does} ${shown(options)}`, ({ leasehold }) =>
          leasehold.tasks.enqueue('work', input, { ...options, id }),
        );
      },
    ],
    [
      3,
      (prng) => {
        const all = [by(prng), by(prng)].map((id) => requestOf(prng, id));
        return act(`enqueueAll ${all.map(told).join(' ')}`, ({ leasehold }) => leasehold.tasks.enqueueAll(all));
      },
    ],
    [
      5,
      (prng) => {
        const id = prng.pick(BATCHES);
        const children = ['1', '2', '3'].slice(0, prng.integer(1, 3)).map((n) => requestOf(prng, `${id}${n}`));
        const then = maybe(prng, 0.6, spawn('work', inputOf(prng), { id: prng.pick([`${id}/then`, 'a']) }));
        return act(
          `enqueueBatch ${id} ${children.map(told).join(' ')}${then === undefined ? '' : ` then ${told(then)}`}`,
          ({ leasehold }) => leasehold.tasks.enqueueBatch(children, { id, ...defined({ then }) }),
        );
      },
    ],
    [
      2,
      (prng) => {
        const id = by(prng);
        return act(`get ${id}`, ({ leasehold }) => leasehold.tasks.get(id));
      },
    ],
    [
      2,
      (prng) => {
        const id = prng.pick(BATCHES);
        return act(`getBatch ${id}`, ({ leasehold }) => leasehold.tasks.getBatch(id));
      },
    ],
    [
      3,
      (prng) => {
        const [id, wait] = [by(prng), prng.pick([0, '1s'] as const)];
        return act(`result of ${id} within ${wait}`, ({ leasehold }) => leasehold.tasks.result(id, { wait }));
      },
    ],
    [
      7,
      (prng) => {
        const id = prng.pick([...IDS, 'x1', 'a1']);
        return act(`cancel ${id}`, ({ leasehold }) => leasehold.operator.cancel(id, { reason: 'drawn' }));
      },
    ],
    [
      6,
      (prng) => {
        const id = prng.pick([...IDS, 'x1', 'a1', 'x/then']);
        return act(`retry ${id}`, ({ leasehold }) => leasehold.operator.retry(id));
      },
    ],
    [
      2,
      (prng) => {
        const limit = prng.integer(1, 3);
        return act(`retryAll ${limit}`, ({ leasehold }) => leasehold.operator.retryAll({ limit }));
      },
    ],
    [
      6,
      (prng) => {
        const id = by(prng);
        const to = defined({
          priority: maybe(prng, 0.6, prng.pick(['high', 'normal', 'low'] as const)),
          delay: maybe(prng, 0.6, new Date(world.clock.now() + prng.integer(-1, 1) * 60_000)),
        });
        return act(`reschedule ${id} ${shown(to)}`, ({ leasehold }) => leasehold.operator.reschedule(id, to));
      },
    ],
    [0.4, () => act('pause', ({ leasehold }) => leasehold.operator.pause())],
    [3, () => act('resume', ({ leasehold }) => leasehold.operator.resume())],
    [2, () => act('keys', ({ leasehold }) => leasehold.operator.keys(['k', 'r', 'kr', 'm', 'n'], { shards: SHARDS }))],
    [
      2,
      (prng) => {
        const key = prng.pick(['k', 'r', 'kr'] as const);
        return act(`recount ${key}`, ({ leasehold }) => leasehold.operator.recountKey(key, { shards: SHARDS }));
      },
    ],
    [
      2,
      (prng) => {
        const key = prng.pick(LINES);
        return act(`turn of ${key}`, ({ leasehold }) => leasehold.operator.turn(key));
      },
    ],
    [
      1,
      (prng) => {
        const key = prng.pick(LINES);
        return act(`pass ${key}`, ({ leasehold }) => leasehold.operator.passLine(key));
      },
    ],
    [1, () => act('dead', ({ leasehold }) => collected(leasehold.operator.dead(), ({ id }) => id))],
    [
      1,
      () =>
        act('open', ({ leasehold }) =>
          collected(leasehold.operator.open({ shards: SHARDS }), ({ id, state }) => `${id} ${state}`),
        ),
    ],
    [
      2,
      (prng) => {
        const options: ScheduleOptions = defined({
          cron: prng.pick(['* * * * *', '*/5 * * * *', '0 * * * *']),
          overlap: maybe(prng, 0.6, prng.pick(OVERLAP_POLICIES)),
          missed: maybe(prng, 0.5, prng.pick(MISSED_POLICIES)),
          jitter: maybe(prng, 0.2, '30s' as const),
          tolerance: maybe(prng, 0.2, '2m' as const),
        });
        const input = inputOf(prng);
        return act(`define s to ${input.does} ${shown(options)}`, ({ leasehold }) =>
          schedulesOf(leasehold).define('s', 'work', input, options),
        );
      },
    ],
    [4, () => act('tick', ({ ports }) => enqueueDueOccurrences('default', ports, () => undefined))],
    [1, () => act('run s', ({ leasehold }) => schedulesOf(leasehold).run('s'))],
    [
      1,
      (prng) => {
        const verb = prng.pick(['pause', 'resume', 'get'] as const);
        return act(`${verb} s`, ({ leasehold }) => schedulesOf(leasehold)[verb]('s'));
      },
    ],
    [0.3, () => act('remove s', ({ leasehold }) => schedulesOf(leasehold).remove('s'))],
    [
      14,
      (prng) => {
        const settings: Work = {
          concurrency: prng.integer(1, 3),
          lastsMs: prng.pick([1_000, 5_000, 20_000]),
          ...defined({
            death: maybe(prng, 0.35, { step: prng.integer(3, 40), how: prng.pick(['before', 'after'] as const) }),
            named: maybe(prng, 0.2, [by(prng)]),
          }),
        };
        return act(`work ${shown(settings)}`, (at) => work(world, at, settings));
      },
    ],
  ];
}
