/**
 * Each call of a store by a worker, a tick, a wake and an announcement of names fails once, in each way. The text has the answer, and the
 * tasks afterwards.
 *
 * `thrown`: the caller gets the error. `mistake`: an unexpected error. `away`: nothing was sent.
 * `lost`: the request was applied, and the response was lost.
 * `damaged`: a row does not decode. `not trusted`: the session's trust has ended.
 * After an intended change: `npx vitest run test/unit/tasks/faults.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import {
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  StoreUnavailableError,
} from '../../../shared/core/errors.ts';
import { announceNames } from '../../../shared/tasks/worker/announced-names.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import type { Process } from '../../support/coordination.ts';
import { passTime } from '../../support/coordination.ts';
import { Fleet, QUEUE, work } from '../../support/fleet.ts';
import { Story, shown } from '../../support/story.ts';

const FAULTS = {
  mistake: () => new InvariantError('a mistake'),
  away: () => new StoreUnavailableError('the store is away', { applied: 'no' }),
  lost: () => new StoreUnavailableError('the response was lost', { applied: 'unknown' }),
  damaged: () => new CorruptItemError('a row', 'some attribute', 'is damaged'),
  'not trusted': () => new LeaseLostError('the session', 'expired', 'its time was over'),
};
type Fault = keyof typeof FAULTS;
const READ = /\.(?:get|page|glance|due)/;
const STORES = ['tasks', 'sessions', 'queues', 'slots', 'schedules', 'semaphores'];
type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Counts calls of stores by name, and fails the first call of one name. */
class Meddling {
  readonly seen = new Set<string>();
  readonly #target: string | undefined;
  readonly #fault: Fault | undefined;
  #isOver = false;

  constructor(target?: string, fault?: Fault) {
    this.#target = target;
    this.#fault = fault;
  }

  ports = <Ports extends object>(ports: Ports): Ports =>
    Object.fromEntries(
      Object.entries(ports as Readonly<Record<string, object>>).map(([name, port]) => [
        name,
        STORES.includes(name) ? this.#store(name, port) : port,
      ]),
    ) as Ports;

  #store(name: string, store: object): object {
    const calls = Object.entries(store) as [string, Call][];
    return Object.fromEntries(
      calls.map(([verb, call]) => [
        verb,
        (...args: readonly unknown[]) => this.#call(`${name}.${verb}`, () => call(...args)),
      ]),
    );
  }

  async #call(name: string, call: () => Promise<unknown>): Promise<unknown> {
    this.seen.add(name);
    if (this.#fault === undefined || this.#isOver || name !== this.#target) return call();
    this.#isOver = true;
    if (this.#fault === 'lost') await call();
    throw FAULTS[this.#fault]();
  }
}

interface Scene {
  readonly story: Story;
  readonly fleet: Fleet;
  readonly at: Process;
}

async function enqueue({ at: { leasehold } }: Scene): Promise<void> {
  const add = (id: string, does: string, options = {}) => leasehold.tasks.enqueue('work', { does }, { id, ...options });
  await add('crashed', 'done');
  await add('exhausted', 'done', { maxAttempts: 1 });
  await add('plain', 'done');
  await add('failing', 'fail', { maxAttempts: 2 });
  await add('overdue', 'done', { expiresIn: '1s' });
  await add('large', 'snooze');
  for (const id of ['k1', 'k2', 'k3']) await add(id, 'done', { key: 'k', limit: 1 });
  for (const id of ['m1', 'm2', 'm3']) await add(id, 'done', { key: 'm', ordered: true });
  await leasehold.tasks.enqueue('odd', {}, { id: 'odd' });
  await leasehold.operator.cancel('m2', { reason: 'test' });
}

/** Two tasks of a worker that has died, and others that wait. */
async function afterCrash(scene: Scene): Promise<void> {
  const { fleet, at, story } = scene;
  await enqueue(scene);
  await passTime(story.world, fleet.hold(at, ['crashed', 'exhausted', 'k1'], false));
  await passTime(story.world, fleet.leave('dies'));
  await story.pass(12_000);
}

/** A worker with a permit, and one without, which holds a task. */
async function besideWorkers(scene: Scene): Promise<void> {
  const { fleet, at, story } = scene;
  await enqueue(scene);
  await passTime(story.world, fleet.hold(at, ['plain'], true));
  await passTime(story.world, fleet.hold(at, ['crashed', 'k1'], false));
  for (const [name, options] of Object.entries({
    late: { cron: '* * * * *', missed: 'skip', tolerance: '1s' },
    all: { cron: '* * * * *', missed: 'all', jitter: '30s' },
    skip: { cron: '* * * * *', missed: 'all', overlap: 'skip' },
  } as const))
    await at.leasehold.schedules.define(name, 'work', { does: 'done' }, options);
  await story.pass(125_000);
}

const ALL = [0, 1, 2, 3, 4, 5, 6, 7];
const WORKER = { homeShards: ALL, shards: 8, concurrency: 2, lastsMs: 6_000, startWithinMs: 8_000 };
const IDS = ['plain', 'k2', 'm1'];

const ACTS: Readonly<
  Record<string, readonly [typeof enqueue, (scene: Scene, meddling: Meddling) => Promise<unknown>]>
> = {
  'a worker after a crash': [
    afterCrash,
    ({ story, at }, { ports }) => work(story.world, at, { ...WORKER, named: ['plain'] }, ports),
  ],
  'a tick': [besideWorkers, ({ fleet, at }, { ports }) => fleet.tick({ ...at, ports: ports(at.ports) }, 'new')],
  'a wake': [besideWorkers, ({ fleet, at }, { ports }) => fleet.wake({ ...at, ports: ports(at.ports) }, 0, IDS)],
  'an announcement of names': [
    enqueue,
    ({ at: { ports: stores, runtime } }, { ports }) => {
      const { queues } = ports(stores);
      return announceNames(QUEUE, ['work', 'more'], undefined, { queues, runtime, log: silent });
    },
  ],
};

interface Run {
  readonly answer: string;
  readonly tasks: string;
}

async function run([prepare, act]: (typeof ACTS)[string], meddling: Meddling): Promise<Run> {
  const story = new Story();
  const { here: at, world } = story;
  const scene = { story, at, fleet: new Fleet(world) };
  await prepare(scene);
  const answer = await passTime(world, act(scene, meddling)).then(shown, shown);
  const rows = world.rows().filter(({ sk }) => sk === 'task');
  const tasks = rows.map(
    ({ pk, state, attempts = 0 }) => `${String(pk).split('#').at(-1)} ${String(state)} ${String(attempts)}`,
  );
  return { answer, tasks: tasks.sort().join(', ') };
}

/** A read changes nothing, and only a worker has a session. */
function faultsOf(act: string, call: string): readonly Fault[] {
  const left = (Object.keys(FAULTS) as Fault[]).filter((fault) => fault !== 'lost' || !READ.test(call));
  return act.startsWith('a worker') ? left : left.filter((fault) => fault !== 'not trusted');
}

test.each(Object.entries(ACTS))('each call of a store by %s fails once', async (name, act) => {
  const calls = new Meddling();
  const usual = await run(act, calls);
  const lines = [usual.answer, `  ${usual.tasks}`];
  for (const call of calls.seen)
    for (const fault of faultsOf(name, call)) {
      const { answer, tasks } = await run(act, new Meddling(call, fault));
      const same = answer === usual.answer ? 'the same' : answer === shown(FAULTS[fault]()) ? 'thrown' : answer;
      lines.push(`${call} ${fault}: ${same}`);
      if (tasks !== usual.tasks) lines.push(`  ${tasks}`);
    }

  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`./faults.${name.replaceAll(' ', '-')}.golden.txt`);
});
