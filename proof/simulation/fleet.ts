/** The serverless platform: environments that are started cold, reused warm, frozen between invocations, and killed at the timeout. */
import type { Ids } from '../../shared/core/runtime/ids.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import { WallClock } from '../../test/support/machines/wall-clock.ts';
import type { Slice } from '../../shared/tasks/task/slice.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import type { Profile } from './profile.ts';
import type { Recorder } from './recorder.ts';

/** The code of an invocation; its result names how it ended. */
type Handler = (process: SimulatedProcess, event: Invocation) => Promise<string>;

/** The event of an invocation. */
export interface Invocation {
  /** The session of the worker that it continues, if it does. */
  readonly after?: string;
  /** The shards in which the dispatcher wants it to begin. */
  readonly homeShards?: readonly number[];
  /** Its part of its shard, if it shares it. */
  readonly slice?: Slice | undefined;
  /** Tasks to begin with. */
  readonly tasks?: readonly string[];
  /** Whether it stays a little for the next task. */
  readonly stays?: boolean;
}

interface Environment {
  readonly name: string;
  process: SimulatedProcess | undefined;
  /** The number of the invocation under way; undefined between two. */
  invocation: number | undefined;
}

interface FleetPorts {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly recorder: Recorder;
  /** The profile of the phase that the history is in. */
  readonly profile: () => Profile;
  /** Counts what was seen. */
  readonly seen: (what: string) => void;
  /** A handler failed with an error that no fault of the world explains. */
  readonly failed: (process: SimulatedProcess, error: unknown) => void;
}

export class Fleet {
  readonly environments: readonly Environment[];
  readonly #ports: FleetPorts;
  readonly #handler: Handler;
  readonly #snapshot: string | undefined;
  #incarnations = 0;
  #invocations = 0;

  constructor(ports: FleetPorts, handler: Handler, profile: Profile) {
    this.#ports = ports;
    this.#handler = handler;
    // Clones share what memory holds, chance included; identity is drawn from the machine after the copy.
    this.#snapshot = profile.clones ? 'snapshot' : undefined;
    this.environments = Array.from({ length: profile.environments }, (_, index) => ({
      name: `w${index + 1}`,
      process: undefined,
      invocation: undefined,
    }));
  }

  get isIdle(): boolean {
    return this.environments.every(({ invocation }) => invocation === undefined);
  }

  get busy(): readonly SimulatedProcess[] {
    return this.environments.flatMap(({ process, invocation }) =>
      process === undefined || invocation === undefined ? [] : [process],
    );
  }

  /** Invokes the handler in an environment that has nothing to do, if there is one. */
  invoke(event: Invocation = {}): void {
    const { prng, timeline } = this.#ports;
    const idle = this.environments.filter(({ invocation }) => invocation === undefined);
    if (idle.length === 0) return;
    const environment = prng.pick(idle);
    const invocation = this.#invocations++;
    environment.invocation = invocation;
    const process = this.#processOf(environment);
    this.#arm(process);
    timeline.after(this.#ports.profile().invocationMs, () => {
      if (environment.invocation === invocation && environment.process === process) this.kill(environment, 'timed out');
    });
    process.deliver(() => void this.#run(environment, process, invocation, event));
  }

  kill(environment: Environment, why: string): void {
    const { process } = environment;
    if (process === undefined) return;
    this.#ports.seen(`process ${why}`);
    this.#ports.recorder.happened(process.name, why);
    process.kill();
  }

  #onKilled(process: SimulatedProcess): void {
    this.#ports.recorder.died(process);
    for (const environment of this.environments) {
      if (environment.process !== process) continue;
      environment.process = undefined;
      environment.invocation = undefined;
    }
  }

  async #run(
    environment: Environment,
    process: SimulatedProcess,
    invocation: number,
    event: Invocation,
  ): Promise<void> {
    const { recorder, seen } = this.#ports;
    let ended: string;
    try {
      ended = await this.#handler(process, event);
    } catch (error) {
      ended = error instanceof Error ? `failed: ${error.name}` : 'failed';
      if (!isExpected(error)) this.#ports.failed(process, error);
    }
    if (!process.isAlive || environment.invocation !== invocation) return;
    seen(`invocation ${ended}`);
    recorder.happened(process.name, `invocation ${ended}`);
    environment.invocation = undefined;
    process.suspend();
  }

  #processOf(environment: Environment): SimulatedProcess {
    const { recorder, seen } = this.#ports;
    if (environment.process?.isAlive === true) {
      seen('environment warm');
      recorder.happened(environment.process.name, 'invoked warm');
      environment.process.resume();
      return environment.process;
    }
    environment.process = this.start(environment.name);
    seen('environment cold');
    recorder.happened(environment.process.name, 'invoked cold');
    return environment.process;
  }

  /** A new incarnation. */
  start(name: string, onKilled?: () => void): SimulatedProcess {
    const { timeline, prng } = this.#ports;
    const profile = this.#ports.profile();
    const incarnation = `${name}.${++this.#incarnations}`;
    const errorMs = profile.clockErrorMs;
    return new SimulatedProcess({
      name: incarnation,
      timeline,
      wall: new WallClock({ epochMs: EPOCH_MS, offsetMs: prng.between(-errorMs, errorMs), drift: 0 }),
      random: prng.fork(this.#snapshot ?? incarnation),
      ids: countedIds(incarnation),
      monotonicDrift: errorMs === 0 ? 0 : prng.between(-MONOTONIC_DRIFT, MONOTONIC_DRIFT),
      monotonicStops: profile.monotonicStops,
      onKilled: (process) => {
        this.#onKilled(process);
        onKilled?.();
      },
    });
  }

  /** Chooses, for this invocation, whether and where it is hit from inside. */
  #arm(process: SimulatedProcess): void {
    const { prng, profile, seen } = this.#ports;
    const { trapKill, trapStall, ttlMs } = profile();
    const calls = Math.floor(prng.logarithmic(1, 600));
    const lengthMs = prng.logarithmic(1, 3 * ttlMs);
    if (prng.chance(trapKill))
      process.setTrap(calls, (trapped) => {
        seen('killed at a port call');
        trapped.kill();
      });
    else if (prng.chance(trapStall))
      process.setTrap(calls, (trapped) => {
        seen('stalled at a port call');
        trapped.stall(lengthMs);
      });
  }
}

/** A quartz is off by less: a hundred parts in a million. */
const MONOTONIC_DRIFT = 0.0001;

/**
 * Identity that a reader can follow: the incarnation and a number. Unique as long as incarnations are.
 * As of a UUID, the beginning of a nonce is unique too: a task keeps only that.
 */
function countedIds(incarnation: string): Ids {
  const [name, number = ''] = incarnation.split('.');
  let count = 0;
  return {
    unique: () => `${number}-${++count}-${name}`,
    ordered: () => `${incarnation}-${String(++count).padStart(6, '0')}`,
  };
}

/** Whether the world's faults explain a handler's error. */
function isExpected(error: unknown): boolean {
  return error instanceof Error && ['StoreUnavailableError', 'LeaseLostError', 'ClockSkewError'].includes(error.name);
}
