/** Sources of workers in a world: the platform's schedule, its ticks, the wakers that read the table's stream, and successors. */
import { shardOf, splitKey } from '../../shared/dynamo/engine/keys.ts';
import type { WorkEvent } from '../../shared/tasks/dispatch/dispatcher.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import type { FanOut } from './fan-out.ts';
import type { Fleet } from './fleet.ts';
import type { Applied } from './history.ts';
import { isTask } from './invariants/rule.ts';
import type { Profile } from './profile.ts';
import type { SimulatedStore } from './store.ts';
import { deliverTick } from './workloads/dispatcher.ts';
import type { StreamReader } from './workloads/waker.ts';
import { readStream } from './workloads/waker.ts';
import type { WorkerPlace } from './workloads/worker-place.ts';

/** This share of ticks goes by the dispatcher: the others invoke a worker directly. */
const DISPATCH_SHARE = 0.5;
/** The most ticks in a row that pass the dispatcher by: a deployment's comes each minute, and only it finds lanes that nobody has named. */
const MOST_DIRECT = 2;

interface StartsPorts {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly fleet: Fleet;
  readonly store: Pick<SimulatedStore, 'restock'>;
  readonly fanOut: FanOut;
  readonly profile: () => Profile;
  /** Once healed, nothing new is scheduled, so that everything can come to its end. */
  readonly isHealed: () => boolean;
  readonly isDecided: () => boolean;
  readonly sweep: () => void;
  readonly visit: (name: string, onKilled?: () => void) => SimulatedProcess;
  readonly later: (ms: number, run: () => void) => void;
  readonly placeOf: (process: SimulatedProcess) => WorkerPlace;
  readonly failed: (process: SimulatedProcess, error: unknown) => void;
}

export class Starts {
  readonly #ports: StartsPorts;
  readonly #streamLag: Prng;
  /** One for each shard of the table's stream. */
  readonly #streams: StreamReader[] = [];

  constructor(ports: StartsPorts) {
    this.#ports = ports;
    this.#streamLag = ports.prng.fork('stream');
  }

  startSchedule(): void {
    const { timeline, fleet, store, profile, isHealed, isDecided, sweep } = this.#ports;
    const prng = this.#ports.prng.fork(`schedule@${timeline.now}`);
    let ticks = 0;
    let direct = 0;
    const tick = (): void => {
      if (isDecided()) return;
      if (!profile().fansOut) fleet.invoke();
      if (profile().stock > 0) store.restock(3);
      const times = prng.chance(profile().doubleTick) ? 2 : 1;
      const scheduledTime = String(++ticks);
      // Only ticks find what is in shards and lanes that were never used before, also once healed.
      const recurs = !isHealed();
      if (!profile().dispatches) return void timeline.after(profile().tickMs, tick);
      direct = profile().fansOut || prng.chance(DISPATCH_SHARE) || direct >= MOST_DIRECT ? 0 : direct + 1;
      if (direct === 0) for (let time = 0; time < times; time++) this.#dispatch(scheduledTime, { time, recurs }, prng);
      else if (times > 1) fleet.invoke();
      if (prng.chance(0.3) && !profile().fansOut) fleet.invoke();
      // At a random moment, like the service; our rows do not need it to be timely.
      if (prng.chance(0.2)) sweep();
      timeline.after(profile().tickMs, tick);
    };
    timeline.after(prng.between(0, profile().tickMs), tick);
  }

  /** Delivers a tick to a new dispatcher; sometimes a second delivery comes a little later. */
  #dispatch(
    scheduledTime: string,
    { time, recurs }: { readonly time: number; readonly recurs: boolean },
    prng: Prng,
  ): void {
    const { fleet, fanOut, visit, later, placeOf, failed } = this.#ports;
    later(time * prng.exponential(200), () => {
      const process = visit('dispatcher');
      process.deliver(() => {
        const startWorker = ({ homeShards, slice }: WorkEvent): void => fleet.invoke({ homeShards, slice });
        void deliverTick(placeOf(process), { scheduledTime, recurs, startWorker, fanOut }).catch((error: unknown) =>
          failed(process, error),
        );
      });
    });
  }

  /** Runs one waker after the other, each receiving the inserts in its shard of the stream. */
  startWaker(shard: number): void {
    const { fleet, fanOut, visit, later, placeOf } = this.#ports;
    const process = visit('waker', () => later(100, () => this.startWaker(shard)));
    const startWorker = ({ homeShards, slice, tasks = [], stays = false }: WorkEvent): void =>
      fleet.invoke({ homeShards, slice, tasks, stays });
    this.#streams[shard] = readStream(placeOf(process), fanOut, startWorker);
  }

  /** The stream reports each new task, a little later. */
  onApplied({ row, before, after }: Applied): void {
    if (this.#streams.length === 0 || before !== undefined || after === undefined || !isTask(row)) return;
    const id = splitKey(row)[2] ?? '';
    this.#ports.later(this.#streamLag.exponential(200), () =>
      this.#streams[shardOf(id, this.#streams.length)]?.hear(id),
    );
  }

  /** The platform delivers at least once, at some moment, if there is room. */
  succeed(after: string): void {
    const { timeline, fleet, profile } = this.#ports;
    const prng = this.#ports.prng.fork(`successor of ${after}`);
    const times = prng.chance(0.2 + profile().doubleTick) ? 2 : 1;
    for (let time = 0; time < times; time++) timeline.after(prng.exponential(100), () => fleet.invoke({ after }));
  }
}
