/** Runs one scene with one seed: the shipped waker, dispatcher and workers in simulated time, compared with the bound. */
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import { defineTask, registerTasks } from '../../shared/tasks/task/definition.ts';
import type { FleetSettings } from '../woken-fleet.ts';
import { CONCURRENCY, WokenFleet } from '../woken-fleet.ts';
import { percentile } from '../figures.ts';
import { boundOf } from './bound.ts';
import type { Arrival, Scene } from './scenes.ts';
import { CHILD_MS } from './scenes.ts';

export interface Conditions {
  readonly startWithinMs: number;
  readonly wakes: NonNullable<FleetSettings['wakes']>;
  readonly streamShards: number;
}

/** In seconds, except counts. */
export interface Measured {
  readonly lastS: number;
  readonly p99S: number;
  readonly billedS: number;
  readonly boundLastS: number;
  readonly boundP99S: number;
  readonly boundBilledS: number;
  readonly leastBilledS: number;
  readonly starts: number;
  /** Workers that claimed nothing. */
  readonly inVain: number;
  /** Attempts beyond the first of each task. */
  readonly again: number;
  /** Of wakers and dispatchers. */
  readonly readUnits: number;
  readonly writeUnits: number;
}

interface Input {
  readonly id: string;
  readonly ms: number;
  readonly children: number;
}

type Due = Arrival & { readonly id: string };

const TICK_MS = 60_000;
/** Requests of the producer at once. */
const AT_ONCE = 500;

export function measure(scene: Scene, conditions: Conditions, seed: number): Promise<Measured> {
  return new Run(scene, conditions, seed).measure();
}

class Run {
  readonly #scene: Scene;
  readonly #conditions: Conditions;
  readonly #fleet: WokenFleet;
  readonly #dueAt = new Map<string, number>();
  readonly #begun = new Set<string>();
  readonly #delays: number[] = [];
  readonly #task;
  #attempts = 0;
  #ended = 0;

  constructor(scene: Scene, conditions: Conditions, seed: number) {
    this.#scene = scene;
    this.#conditions = conditions;
    const { maxWorkers = 10, isHeldElsewhere = false } = scene;
    this.#task = defineTask({
      name: 'work',
      retry: { maxAttempts: 1_000 },
      run: (input: Input, { signal }) => this.#run(input, signal),
    });
    this.#fleet = new WokenFleet({
      seed: BigInt(seed),
      registry: registerTasks({ work: this.#task }),
      maxWorkers,
      startWithinMs: conditions.startWithinMs,
      tickEveryMs: TICK_MS,
      continues: true,
      isDeployed: !isHeldElsewhere,
      wakes: conditions.wakes,
      streamShards: conditions.streamShards,
    });
  }

  async measure(): Promise<Measured> {
    const fleet = this.#fleet;
    const { from = 0, limit = Infinity, maxWorkers = 10, isHeldElsewhere = false } = this.#scene;
    const { clock, random } = fleet.place('producer of the scene').runtime;
    const arrivals = this.#scene.arrivals(() => random.next()).toSorted((one, other) => one.at - other.at);
    const expected = arrivals.reduce((sum, { children = 0 }) => sum + children + 1, 0);
    let before = this.#figures();
    await fleet.run(
      (async () => {
        if (isHeldElsewhere) void fleet.workElsewhere(arrivals.length);
        let isNoted = from === 0;
        for (const [at, same] of inOrder(arrivals)) {
          if (!isNoted && at >= from) {
            await clock.sleep(Math.max(0, from - fleet.timeline.now));
            before = this.#figures();
            isNoted = true;
          }
          await clock.sleep(Math.max(0, at - fleet.timeline.now));
          await this.#enqueue(same);
        }
        if (isHeldElsewhere) {
          while (this.#begun.size < arrivals.length) await clock.sleep(100);
          fleet.deploy();
        }
        while (this.#ended < expected) await clock.sleep(100);
        while (fleet.running > 0) await clock.sleep(1_000);
      })(),
    );
    const after = this.#figures();
    const bound = boundOf(arrivals.map(workOf), {
      from,
      slots: Math.min(limit, maxWorkers * CONCURRENCY),
      tickMs: this.#conditions.wakes === 'dropped' ? TICK_MS : undefined,
    });
    return {
      lastS: percentile(this.#delays, 1) / 1_000,
      p99S: percentile(this.#delays, 0.99) / 1_000,
      billedS: (after.billedMs - before.billedMs) / 1_000,
      boundLastS: percentile(bound.delays, 1) / 1_000,
      boundP99S: percentile(bound.delays, 0.99) / 1_000,
      boundBilledS: bound.billedMs / 1_000,
      leastBilledS: bound.leastBilledMs / 1_000,
      starts: after.starts - before.starts,
      inVain: after.inVain - before.inVain,
      again: this.#attempts - this.#ended,
      readUnits: after.readUnits - before.readUnits,
      writeUnits: after.writeUnits - before.writeUnits,
    };
  }

  #figures() {
    const { billedMs, invocations, inVain, looks } = this.#fleet;
    return { billedMs, starts: invocations.length, inVain, ...looks.read() };
  }

  async #run({ id, ms, children }: Input, signal: AbortSignal): Promise<void> {
    const { timeline } = this.#fleet;
    this.#attempts++;
    const dueAt = this.#dueAt.get(id) ?? NaN;
    if (!this.#begun.has(id) && dueAt >= (this.#scene.from ?? 0)) this.#delays.push(timeline.now - dueAt);
    this.#begun.add(id);
    await this.#fleet.clock.sleep(ms, signal);
    signal.throwIfAborted();
    const spawned = Array.from({ length: children }, (_, nth) => ({ at: 0, ms: CHILD_MS, id: `${id}-${nth}` }));
    await this.#enqueueAll(spawned);
    this.#ended++;
  }

  #enqueue(arrivals: readonly (readonly [number, Arrival])[]): Promise<void> {
    return this.#enqueueAll(arrivals.map(([nth, arrival]) => ({ ...arrival, id: `t${nth}` })));
  }

  async #enqueueAll(some: readonly Due[]): Promise<void> {
    for (let nth = 0; nth < some.length; nth += AT_ONCE)
      await Promise.all(some.slice(nth, nth + AT_ONCE).map((one) => this.#enqueueOne(one)));
  }

  #enqueueOne({ id, ms, children = 0, key, tenant, priority }: Due): Promise<unknown> {
    const { client, timeline } = this.#fleet;
    this.#dueAt.set(id, timeline.now);
    const input: Input = { id, ms, children };
    const options: EnqueueOptions = { id, ...key, ...(tenant && { tenant }), ...(priority && { priority }) };
    return client.enqueue(this.#task, input, options);
  }
}

/** Arrivals of one moment together, each with its number. */
function inOrder(arrivals: readonly Arrival[]): Iterable<[number, (readonly [number, Arrival])[]]> {
  return Map.groupBy(
    arrivals.map((arrival, nth) => [nth, arrival] as const),
    ([, { at: moment }]) => moment,
  );
}

function workOf({ at: moment, ms, children = 0 }: Arrival) {
  return { at: moment, ms, then: Array.from({ length: children }, () => CHILD_MS) };
}
