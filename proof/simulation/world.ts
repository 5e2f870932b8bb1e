/**
 * One history: a store, a network, a fleet and a nemesis on one timeline, and the checker over all of it.
 *
 * Two phases. In the faulty one whatever the profile holds goes wrong, and safety is judged at every event.
 * In the healed one nothing new goes wrong, though requests that are late are still on their way, and everything must come to its end in
 * time. With `leap`, both are lived through twice, with more than all retention in between.
 */
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { CorruptItemError } from '../../shared/core/errors.ts';
import { withSimulatedAborts } from '../../test/support/machines/abort-signal.ts';
import { Network } from '../../test/support/machines/network.ts';
import { ServiceLimits } from '../../test/support/machines/service-limits.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import { Timeline } from '../../test/support/machines/timeline.ts';
import { Asks } from './asks.ts';
import { SAMPLE_EVERY_MS } from './bounds.ts';
import { Checker } from './checker.ts';
import { FanOut } from './fan-out.ts';
import { Fleet } from './fleet.ts';
import { measuredBy } from './gauge.ts';
import { turn } from './knobs/turn.ts';
import type { Applied, HistoryEvent } from './history.ts';
import type { HistoryOptions, HistoryResult } from './history-result.ts';
import { assumptionsOf, unjudgedIn } from './history-result.ts';
import { isTask } from './invariants/rule.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import { Liveness, healedBoundMs } from './liveness.ts';
import { Nemesis } from './nemesis.ts';
import { Producers } from './producers.ts';
import type { Profile } from './profile.ts';
import { calmed } from './profile.ts';
import { Reached } from './reached.ts';
import { Recorder } from './recorder.ts';
import { rowName } from './rows.ts';
import { Standing } from './standing.ts';
import { Starts } from './starts.ts';
import { LISTING_QUEUE, SimulatedStore } from './store.ts';
import { batchId, taskIds } from './workloads/producer.ts';
import { durableIds } from './workloads/answers.ts';
import type { Question } from './workloads/durable-code.ts';
import { coordinate } from './workloads/coordination.ts';
import { maxWorkersOf } from './workloads/chain.ts';
import { linger } from './workloads/linger.ts';
import { useLocks } from './workloads/locks.ts';
import { operate } from './workloads/operator.ts';
import type { WorkerPlace } from './workloads/worker-place.ts';
import { START_WITHIN_MS } from './workloads/worker-place.ts';
import { work } from './workloads/worker.ts';

/** Not an invariant of the protocol: the code fell over. */
const MISTAKE = 'ERR';

/** Once healed, per sample of a lone world: a crash every half a minute. */
const LONE_CRASH_SHARE = 0.15;

/** The same for full keys: rare enough for a poll of each of them between two. */
const CRASH_SHARE = 0.05;
/** And of changes of the latest start in a key's row. */
const START_SHARE = 0.05;

/** Beyond every retention of the table. */
const LEAP_MS = 40 * 86_400_000;

export async function runHistory(options: HistoryOptions): Promise<HistoryResult> {
  turn(options.profile.knobs);
  return withSimulatedAborts(() => new World(options).run());
}

class World {
  readonly #options: HistoryOptions;
  readonly #timeline = new Timeline();
  readonly #prng: Prng;
  readonly #store: SimulatedStore;
  readonly #checker: Checker;
  readonly #recorder: Recorder;
  readonly #nemesis: Nemesis;
  readonly #network: Network;
  readonly #fleet: Fleet;
  readonly #liveness: Liveness;
  readonly #asks: Asks;
  readonly #standing: Standing;
  readonly #fanOut: FanOut;
  readonly #producers: Producers;
  readonly #starts: Starts;
  readonly #seen = new Map<string, number>();
  readonly #history: HistoryEvent[] = [];
  readonly #count = (what: string): void => void this.#seen.set(what, (this.#seen.get(what) ?? 0) + 1);
  readonly #reached = new Reached(this.#count);
  /** The contents of the user's bucket. */
  readonly #objects = new Map<string, string>();
  readonly #questions = new Map<string, Question>();
  /** The last write of a task's row. */
  #writtenAt = 0;
  #startedAt = 0;
  /** The current half of the history: work postponed in an earlier half is not done any more. */
  #half = 1;
  /** Long-lived processes and steady workloads end. */
  #isTimeCalled = false;
  /** Producers and dispatchers; environments are idle between two halves, and are frozen. */
  readonly #visitors = new Set<SimulatedProcess>();
  #profile: Profile;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#profile = options.profile;
    this.#prng = new Prng(options.seed);
    const timeline = this.#timeline;
    const seen = this.#count;
    const profile = (): Profile => this.#profile;
    this.#store = new SimulatedStore(() => EPOCH_MS + timeline.now, this.#prng.fork('store'), profile, seen);
    this.#checker = new Checker(assumptionsOf(options.profile), unjudgedIn(options.profile));
    const judge = {
      now: () => timeline.now,
      report: (invariant: string, row: string, message: string) => this.#checker.report(invariant, row, message),
      measure: (invariant: string, amount: number, bound: number) => this.#checker.measure(invariant, amount, bound),
    };
    this.#recorder = new Recorder({
      timeline,
      readRow: (row) => this.#store.read(row),
      onEvent: (event) => {
        if (options.keepHistory === true) this.#history.push(event);
        this.#checker.on(event);
        this.#reached.on(event);
        this.#standing.on(event);
        if (event.kind === 'applied') this.#onApplied(event);
      },
    });
    this.#asks = new Asks(() => timeline.now);
    this.#standing = new Standing(options.profile, { recorder: this.#recorder, asks: this.#asks, ...judge });
    if (options.profile.listing) this.#recorder.changedByHand(rowName(LISTING_QUEUE), LISTING_QUEUE);
    const { concurrency, clocksHold } = options.profile;
    const settings = { maxWorkers: maxWorkersOf(options.profile), concurrency, startWithinMs: START_WITHIN_MS };
    this.#fanOut = new FanOut(options.profile, settings, { rows: () => this.#recorder.rows, ...judge });
    const ports = { timeline, recorder: this.#recorder, profile, seen };
    this.#nemesis = new Nemesis({ ...ports, prng: this.#prng.fork('nemesis') });
    this.#network = new Network({
      timeline,
      store: this.#store,
      ...(options.profile.meets
        ? { limits: new ServiceLimits(timeline, { conflicts: true, writeUnits: false, readUnits: false }) }
        : {}),
      ...(options.profile.connections > 0 ? { connections: options.profile.connections } : {}),
      fateOf: (request) => this.#nemesis.fateOf(request),
      events: {
        onSent: (request) => this.#recorder.sent(request),
        onLeft: (request) => this.#nemesis.atBoundary(request.process),
        onApplied: (request, result, copy) => this.#recorder.answered(request, result, copy),
        onEnded: (request, ended) => this.#recorder.ended(request, ended),
      },
    });
    const [chance, kinds] = [this.#prng.fork('workers'), this.#prng.fork('kinds')];
    this.#fleet = new Fleet(
      { ...ports, prng: this.#prng.fork('fleet'), failed: (process, error) => this.#failed(process, error) },
      (process, event) => {
        const prng = chance.fork(`${process.name}@${timeline.now}`);
        if (this.#isForUsers(process))
          return linger({ ...this.#placeOf(process), prng }, { asks: this.#asks, isOver: () => this.#isTimeCalled });
        const handler = event.after === undefined ? this.#handlerOf(kinds) : work;
        return handler({ ...this.#placeOf(process), prng }, event);
      },
      options.profile,
    );
    const hands = {
      ...ports,
      prng: this.#prng,
      visit: (name: string, onKilled?: () => void) => this.#visit(name, onKilled),
      later: (ms: number, run: () => void) => this.#later(ms, run),
      placeOf: (process: SimulatedProcess) => this.#placeOf(process),
      failed: (process: SimulatedProcess, error: unknown) => this.#failed(process, error),
    };
    this.#producers = new Producers({ ...hands, questions: this.#questions });
    this.#starts = new Starts({
      ...hands,
      fleet: this.#fleet,
      store: this.#store,
      fanOut: this.#fanOut,
      isHealed: () => this.#profile !== this.#options.profile,
      isDecided: () => this.#isDecided(),
      sweep: () => this.#sweep(),
    });
    this.#liveness = new Liveness({ ...ports, fleet: this.#fleet, checker: this.#checker, clocksHold });
  }

  /** Half of the environments belong to long-lived users, if there are any. */
  #isForUsers({ name }: SimulatedProcess): boolean {
    const { users, environments } = this.#profile;
    return users > 0 && !this.#isTimeCalled && Number(/^w(\d+)/.exec(name)?.[1]) > environments / 2;
  }

  #handlerOf(kinds: Prng): typeof work {
    const { lockShare, coordinationShare } = this.#profile;
    const drawn = kinds.next();
    if (drawn < lockShare) return useLocks;
    return drawn < lockShare + coordinationShare ? coordinate : work;
  }

  async run(): Promise<HistoryResult> {
    const onUnhandled = (error: unknown): void =>
      this.#checker.report(MISTAKE, '', `a promise was rejected without a handler: ${String(error)}`);
    process.on('unhandledRejection', onUnhandled);
    try {
      return await this.#run();
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
  }

  async #run(): Promise<HistoryResult> {
    const halves = this.#options.profile.leap ? 2 : 1;
    for (let half = 1; half <= halves && !this.#isDecided(); half++) {
      if (half > 1) this.#leap();
      this.#half = half;
      await this.#live();
    }
    this.#recorder.askAll();
    this.#checker.end();
    return {
      seed: this.#options.seed,
      profile: this.#options.profile,
      violations: this.#checker.violations,
      digest: this.#recorder.digest,
      steps: this.#timeline.steps,
      turns: this.#timeline.turns,
      virtualMs: this.#timeline.now,
      requests: this.#recorder.counts.sent,
      accepted: this.#recorder.counts.written,
      seen: this.#seen,
      nearest: this.#checker.nearest,
      history: this.#history,
    };
  }

  /** A faulty phase and a healed one. */
  async #live(): Promise<void> {
    const { profile } = this.#options;
    const half = this.#half;
    this.#startedAt = this.#timeline.now;
    this.#profile = profile;
    this.#standing.suffers();
    this.#fanOut.judges(false);
    this.#nemesis.start(this.#fleet);
    if (half === 1) this.#starts.startSchedule();
    if (half === 1 && profile.fansOut)
      for (let shard = 0; shard < profile.streamShards; shard++) this.#starts.startWaker(shard);
    const ids = taskIds(profile.tasks);
    this.#producers.begin(half, ids, () => this.#isTimeCalled);
    const groups = [ids, [`${batchId(half)}/then`]];
    if (profile.operator || profile.tenants)
      this.#operate(profile.durables > 0 ? [...groups, durableIds(profile)] : groups);
    await this.#timeline.run(() => this.#isDecided() || this.#timeline.now >= this.#startedAt + profile.faultyMs);
    this.#heal();
    this.#standing.healed();
    this.#fanOut.judges(profile.fansOut && profile.clocksHold);
    if (profile.clocksHold) this.#watch();
    const settledAt = this.#timeline.now + profile.settleMs;
    if (profile.settleMs > 0) await this.#timeline.run(() => this.#isDecided() || this.#timeline.now >= settledAt);
    this.#isTimeCalled = true;
    this.#standing.timeCalled();
    this.#fanOut.judges(false);
    const [calledAt, boundMs] = [this.#timeline.now, healedBoundMs(profile)];
    await this.#timeline.run(
      () =>
        this.#isDecided() ||
        this.#timeline.now > calledAt + boundMs ||
        (this.#producers.areThrough && this.#liveness.isQuiet(this.#recorder.rows)),
    );
    if (this.#producers.failure !== undefined) throw this.#producers.failure as Error;
    if (profile.clocksHold) this.#checker.measure('L3', Math.max(0, this.#writtenAt - calledAt), boundMs);
    if (!this.#isDecided()) this.#liveness.judge(this.#recorder, ids);
  }

  #heal(): void {
    this.#profile = calmed(this.#options.profile);
    this.#nemesis.heal();
    this.#recorder.happened('world', 'healed');
    this.#store.refill();
  }

  /** Checks repeatedly for stalls, until the half is over. */
  #watch(): void {
    this.#later(SAMPLE_EVERY_MS, () => {
      if (!this.#isAloneAndFrozen()) this.#standing.sample();
      this.#fanOut.sample();
      const { lone, fullKeys } = this.#profile;
      if ((lone && this.#prng.chance(LONE_CRASH_SHARE)) || (fullKeys && this.#prng.chance(CRASH_SHARE)))
        this.#crashOne();
      if (fullKeys && this.#prng.chance(START_SHARE)) this.#changeAStart();
      this.#watch();
    });
  }

  /** A freeze from before the healing may last into it. In other worlds, other workers continue. */
  #isAloneAndFrozen(): boolean {
    return this.#profile.lone && this.#fleet.environments.some(({ process }) => process?.isStalled === true);
  }

  /** A crash is healed only by the process that is started in its place. */
  #crashOne(): void {
    const running = this.#fleet.environments.filter(({ process }) => process !== undefined);
    if (running.length > 0 && !this.#isTimeCalled) this.#fleet.kill(this.#prng.pick(running), 'crashed');
  }

  #changeAStart(): void {
    const changed = this.#store.changeAStart(
      this.#recorder.rows,
      this.#prng,
      EPOCH_MS + Math.round(this.#timeline.now),
    );
    if (changed === undefined) return;
    this.#recorder.changedByHand(changed.row, changed.item);
    this.#count(`latest start of a key ${changed.to}`);
  }

  /** Time passes in which nothing runs, and TTL sweeps what it may: no wait for an answer lasts so long. */
  #leap(): void {
    for (const visitor of this.#visitors) visitor.kill();
    this.#visitors.clear();
    this.#network.forget();
    this.#timeline.leap(LEAP_MS);
    this.#recorder.happened('world', 'leapt');
    this.#sweep();
  }

  /** Unless its half is over by then. */
  #later(ms: number, run: () => void): void {
    const half = this.#half;
    this.#timeline.after(ms, () => {
      if (this.#half === half) run();
    });
  }

  #visit(name: string, onKilled?: () => void): SimulatedProcess {
    const visitor = this.#fleet.start(name, onKilled);
    this.#visitors.add(visitor);
    return visitor;
  }

  #sweep(): void {
    for (const row of this.#store.sweep()) {
      this.#count('row swept');
      this.#recorder.swept(row);
    }
  }

  #onApplied(event: Applied): void {
    this.#fanOut.on(event);
    if (isTask(event.row)) this.#writtenAt = event.at;
    this.#starts.onApplied(event);
  }

  /** Runs one operator after the other: a killed one is replaced, so a pause does not last forever. */
  #operate(groups: readonly (readonly string[])[]): void {
    const process = this.#fleet.start('operator', () => {
      this.#timeline.after(100, () => this.#operate(groups));
    });
    const phase = this.#profile;
    process.deliver(() => {
      void operate(this.#placeOf(process), groups, () => this.#profile !== phase).catch((error: unknown) =>
        this.#failed(process, error),
      );
    });
  }

  #placeOf(process: SimulatedProcess): WorkerPlace {
    const driver = this.#network.driverOf(process);
    return {
      process,
      ...(this.#profile.gauged ? measuredBy(process, driver) : { driver, gauge: noSkewGauge }),
      recorder: this.#recorder,
      seen: this.#count,
      violated: (invariant, message) => this.#checker.report(invariant, process.name, message),
      profile: this.#profile,
      objects: this.#objects,
      startSuccessor: (after) => this.#starts.succeed(after),
      isTimeCalled: () => this.#isTimeCalled,
      questions: this.#questions,
      restock: () => this.#store.restock(1),
      prng: this.#prng.fork(`${process.name}@${this.#timeline.now}`),
    };
  }

  /** With clocks hours apart, valid rows look damaged; processes that meet them are right to report it. */
  #failed({ name }: SimulatedProcess, error: unknown): void {
    if (error instanceof CorruptItemError && !this.#options.profile.clocksHold) return;
    this.#checker.report(MISTAKE, name, `an invocation failed: ${String(error)}`);
  }

  #isDecided(): boolean {
    const { stopAtViolation, stopAt = [] } = this.#options;
    const { violations } = this.#checker;
    return (
      this.#producers.failure !== undefined ||
      (violations.length > 0 && stopAtViolation === true) ||
      violations.some(({ invariant }) => stopAt.includes(invariant))
    );
  }
}
