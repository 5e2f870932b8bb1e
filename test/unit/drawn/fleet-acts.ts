/** Tasks, ticks and wakes of a deployment, and workers that live, hand back or die. */
import { defined } from '../../../shared/core/defined.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { World } from '../../support/coordination.ts';
import type { Enqueued, Kind } from '../../support/fleet.ts';
import { Fleet, SETTINGS, work } from '../../support/fleet.ts';
import type { Prng } from '../../support/machines/prng.ts';
import { shown } from '../../support/story.ts';
import type { Act, Acts } from './drawn-story.ts';

const MANY_IDS = 6;

const act = (title: string, run: Act['run']): Act => ({ title, run });
const maybe = <T>(prng: Prng, chance: number, value: T): T | undefined => (prng.chance(chance) ? value : undefined);
function groupOf(prng: Prng): EnqueueOptions {
  switch (prng.pick(['none', 'none', 'none', 'limit', 'rate', 'line', 'tenant'] as const)) {
    case 'limit':
      return { key: prng.pick(['k', 'l'] as const), limit: prng.integer(1, 2) };
    case 'rate':
      return { key: 'r', limit: 2, rate: { count: 2, per: '1m' } };
    case 'line':
      return { key: 'm', ordered: true };
    case 'tenant':
      return { tenant: prng.pick(['acme', 'globex'] as const) };
    case 'none':
      return {};
  }
}

/** Draws the tasks that are enqueued, and remembers the latest. */
class DrawnTasks {
  #tasks = 0;
  /** Ids, the newest last. */
  latest: readonly string[] = [];

  draw(prng: Prng): Enqueued {
    const count = prng.pick([1, 1, 2, 4, 15]);
    const ids = Array.from({ length: count }, () => `t${++this.#tasks}`);
    this.latest = [...this.latest, ...ids].slice(-20);
    const options = defined({
      ...groupOf(prng),
      priority: maybe(prng, 0.25, prng.pick(['high', 'low'] as const)),
      delay: maybe(prng, 0.15, prng.pick(['1s', '20s'] as const)),
      expires: maybe(prng, 0.1, '5s' as const),
      maxAttempts: maybe(prng, 0.3, prng.integer(1, 3)),
    });
    const does = prng.pick(['done', 'done', 'nap', 'nap', 'long', 'fail', 'snooze'] as const);
    return { name: prng.chance(0.1) ? 'odd' : 'work', does, ids, options };
  }
}

function drawKind(prng: Prng, latest: readonly string[]): Kind {
  const all = Array.from({ length: SETTINGS.shards }, (_, shard) => shard);
  const homes = prng.pick([all, all, [0, 2, 4], [5]] as const);
  const lingers = prng.pick([undefined, undefined, 3_000, Infinity]);
  return {
    homeShards: homes,
    concurrency: prng.integer(1, 4),
    lastsMs: prng.pick([1_000, 6_000, 25_000]),
    ...defined({
      slice: maybe(prng, 0.2, { nth: 1, of: 2 }),
      lingerMs: lingers,
      hasDispatcher: maybe(prng, 0.5, true),
      startWithinMs: maybe(prng, 0.5, SETTINGS.startWithinMs),
      named: maybe(prng, 0.2, latest.slice(0, 2)),
      idlePollMs: maybe(prng, 0.2, 4_000),
      announced: maybe(prng, 0.3, latest.slice(-2)),
      death: maybe(prng, 0.25, { step: prng.integer(6, 60), how: prng.pick(['before', 'after'] as const) }),
    }),
  };
}

export function fleetActs(world: World): Acts {
  const fleet = new Fleet(world);
  const drawn = new DrawnTasks();
  const behind = (prng: Prng, doIt: Act['run']): Act['run'] => {
    const lag = prng.pick(['none', 'none', 'none', 'index', 'rows'] as const);
    return async (at) => {
      fleet.lag = lag;
      return Promise.resolve(doIt(at)).finally(() => {
        fleet.lag = 'none';
      });
    };
  };
  return [
    [
      20,
      (prng) => {
        const tasks = drawn.draw(prng);
        const { name, does, ids, options } = tasks;
        return act(`enqueue ${ids[0]} to ${ids.at(-1)} ${name} ${does} ${shown(options)}`, (at) =>
          fleet.enqueue(at, tasks),
        );
      },
    ],
    [
      18,
      (prng) => {
        const [nth, count] = [prng.integer(0, 3), prng.pick([1, 3, MANY_IDS, 20])];
        const ids = drawn.latest.slice(-count);
        return act(
          `wake ${nth} of the latest ${count}`,
          behind(prng, (at) => fleet.wake(at, nth, ids)),
        );
      },
    ],
    [
      10,
      (prng) => {
        const delivery = prng.pick(['new', 'new', 'new', 'new', 'again', 'retried'] as const);
        return act(
          `tick ${delivery}`,
          behind(prng, (at) => fleet.tick(at, delivery)),
        );
      },
    ],
    [
      9,
      (prng) => {
        const [ids, hasPermit] = [drawn.latest.slice(-prng.integer(1, 5)), prng.chance(0.7)];
        return act(`hold ${ids.length} ${hasPermit ? 'with' : 'without'} a permit`, (at) =>
          fleet.hold(at, ids, hasPermit),
        );
      },
    ],
    [
      8,
      (prng) => {
        const how = prng.pick(['leaves', 'dies'] as const);
        return act(`one ${how}`, () => fleet.leave(how));
      },
    ],
    [
      18,
      (prng) => {
        const kind = drawKind(prng, drawn.latest);
        return act(`work ${shown(kind)}`, (at) => work(world, at, kind));
      },
    ],
    [0.7, () => act('pause', ({ leasehold }) => leasehold.operator.pause())],
    [3, () => act('resume', ({ leasehold }) => leasehold.operator.resume())],
    [
      3,
      (prng) => {
        const id = prng.pick(drawn.latest.length > 0 ? drawn.latest : ['t1']);
        return act(`cancel ${id}`, ({ leasehold }) => leasehold.operator.cancel(id, { reason: 'drawn' }));
      },
    ],
  ];
}
