/** Sources of work for a world: producers of each kind, two callers of one id, and operators who answer. A killed one is replaced. */
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import { TaskOperator } from '../../shared/tasks/queue/task-operator.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import type { Profile } from './profile.ts';
import type { Recorder } from './recorder.ts';
import { answer, produceDurables } from './workloads/answers.ts';
import { bucketAt } from './workloads/bucket.ts';
import type { Question } from './workloads/durable-code.ts';
import { produceBursts, produceFlood, produceRelays, produceSteadily } from './workloads/flood.ts';
import { produceFullKeys } from './workloads/full-keys.ts';
import type { ProducerPorts } from './workloads/producer.ts';
import { batchId, produce, produceBatch, produceOrders, produceUnfairly } from './workloads/producer.ts';
import { contend, FIRST_RIVAL } from './workloads/rivals.ts';
import type { WorkerPlace } from './workloads/worker-place.ts';
import { QUEUE, storesAt } from './workloads/worker-place.ts';

interface Ports {
  readonly timeline: Timeline;
  readonly recorder: Recorder;
  readonly prng: Prng;
  readonly seen: (what: string) => void;
  readonly questions: Map<string, Question>;
  /** As it is now. */
  readonly profile: () => Profile;
  /** Starts a process that does not outlive its half. */
  readonly visit: (name: string, onKilled: () => void) => SimulatedProcess;
  /** Unless the half is over by then. */
  readonly later: (ms: number, run: () => void) => void;
  readonly placeOf: (process: SimulatedProcess) => WorkerPlace;
  readonly failed: (process: SimulatedProcess, error: unknown) => void;
}

export class Producers {
  /** The error that broke a producer: the code of the world is wrong. */
  failure: unknown;
  readonly #ports: Ports;
  /** Ids that no producer has had acknowledged yet. */
  readonly #missing = new Set<string>();
  /** Producers of other things that are not through. */
  readonly #producing = new Set<string>();
  #half = 1;
  #startedAt = 0;
  #versions = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  get areThrough(): boolean {
    return this.#missing.size + this.#producing.size === 0;
  }

  /** @param isOver when steady ones end */
  begin(half: number, ids: readonly string[], isOver: () => boolean): void {
    const profile = this.#ports.profile();
    this.#half = half;
    this.#startedAt = this.#ports.timeline.now;
    this.#produce([...ids, batchId(half)]);
    if (profile.orders > 0) this.#beside('orders', produceOrders);
    if (profile.rivals > 0) for (const isFirst of [true, false]) this.#contend(isFirst);
    if (profile.durables > 0) {
      this.#beside('durable', produceDurables);
      this.#answer();
    }
    if (profile.hogTasks > 0) this.#beside('hog', produceUnfairly);
    if (profile.floodTasks > 0) this.#beside('flood', produceFlood);
    if (profile.relays > 0) this.#beside('relays', produceRelays);
    if (profile.feedEveryMs > 0) this.#beside('feed', (ports) => produceSteadily(ports, isOver));
    if (profile.fullKeys) this.#beside('keys', (ports) => produceFullKeys(ports, isOver));
    if (profile.fansOut) this.#beside('bursts', (ports) => produceBursts(ports, isOver));
  }

  /** One producer after the other, until all tasks are acknowledged: the next one enqueues the missing tasks. */
  #produce(ids: readonly string[]): void {
    const { visit, later, profile, timeline } = this.#ports;
    for (const id of ids) this.#missing.add(id);
    const process = visit('producer', () => later(100, () => this.#produce([...this.#missing])));
    const ports = this.#portsOf(process);
    const withinMs = Math.max(1_000, 0.8 * profile().faultyMs - timeline.now + this.#startedAt);
    const singles = ids.filter((id) => id !== batchId(this.#half));
    process.deliver(() => {
      const failed = (error: unknown): void => void (this.failure = error);
      void produce(ports, singles, withinMs).catch(failed);
      if (singles.length < ids.length) void produceBatch({ ...ports, prng: ports.prng.fork('batch') }).catch(failed);
    });
  }

  /** A producer of its own, begun again until it is through. */
  #beside(name: string, act: (ports: ProducerPorts) => Promise<void>, visitor = 'producer'): void {
    const { visit, later } = this.#ports;
    this.#producing.add(name);
    const process = visit(visitor, () => {
      if (this.#producing.has(name)) later(100, () => this.#beside(name, act, visitor));
    });
    const ports = this.#portsOf(process);
    process.deliver(() => {
      void act(ports)
        .then(() => this.#producing.delete(name))
        .catch((error: unknown) => void (this.failure = error));
    });
  }

  /** One person after the other who answers durable tasks. */
  #answer(): void {
    const { visit, later, placeOf, questions, failed } = this.#ports;
    const process = visit('person', () => later(100, () => this.#answer()));
    process.deliver(() => {
      void answer(placeOf(process), questions).catch((error: unknown) => failed(process, error));
    });
  }

  /** One of two callers of one id. */
  #contend(isFirst: boolean): void {
    const { placeOf, profile } = this.#ports;
    const startedAt = this.#startedAt;
    const act = (ports: ProducerPorts): Promise<void> => {
      const { runtime } = ports.process;
      const stores = { ...storesAt(placeOf(ports.process)), runtime, gauge: noSkewGauge };
      const operator = new TaskOperator(stores, { queue: QUEUE, maxClockSkewMs: profile().maxClockSkewMs });
      return contend(ports, { isFirst, startedAt, operator });
    };
    this.#beside(isFirst ? 'first' : 'second', act, isFirst ? FIRST_RIVAL : 'producer');
  }

  #portsOf(process: SimulatedProcess): ProducerPorts {
    const { placeOf, timeline, recorder, seen, profile } = this.#ports;
    const place = placeOf(process);
    const prng = this.#ports.prng.fork(`producer@${timeline.now}`);
    const payloads = bucketAt(place, prng.fork('bucket'));
    const shards = place.profile.shards + place.profile.strayShards;
    const { tasks } = storesAt({ ...place, profile: { ...place.profile, shards } });
    const client = new TaskClient({ store: tasks, runtime: process.runtime }, { queue: QUEUE, payloads });
    return {
      process,
      client,
      prng,
      queue: QUEUE,
      half: this.#half,
      profile: profile(),
      recorder,
      seen,
      onAcknowledged: (id: string) => void this.#missing.delete(id),
      nextVersion: () => ++this.#versions,
    };
  }
}
