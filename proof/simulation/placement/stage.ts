/**
 * A small world for one short flow: a process that acts and has one fault, or two, at requests that are chosen;
 * and others, who come afterwards and must find everything in order.
 */
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { withSimulatedAborts } from '../../../test/support/machines/abort-signal.ts';
import type { DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import type { Fate, Request } from '../../../test/support/machines/network.ts';
import { Network } from '../../../test/support/machines/network.ts';
import { Prng } from '../../../test/support/machines/prng.ts';
import { SimulatedProcess } from '../../../test/support/machines/process.ts';
import { Timeline } from '../../../test/support/machines/timeline.ts';
import { WallClock } from '../../../test/support/machines/wall-clock.ts';
import { Asks } from '../asks.ts';
import { SAMPLE_EVERY_MS } from '../bounds.ts';
import { Checker } from '../checker.ts';
import { assumptionsOf } from '../history-result.ts';
import { EPOCH_MS } from '../invariants/sessions.ts';
import type { Violation } from '../invariants/rule.ts';
import type { Profile } from '../profile.ts';
import { CALM } from '../profile.ts';
import { Recorder } from '../recorder.ts';
import { Standing } from '../standing.ts';
import { SimulatedStore } from '../store.ts';
import type { WorkerPlace } from '../workloads/worker-place.ts';
import { remainsOf } from './remains.ts';

export const FAULTS = ['not sent', 'answer lost', 'late', 'late after the TTL', 'crash', 'freeze'] as const;
type FaultName = (typeof FAULTS)[number];

/** A read changes nothing: to its sender, an answer that is lost or late is the same as a request that was not sent. */
const FAULTS_OF_READS: readonly FaultName[] = ['not sent', 'crash', 'freeze'];
const READS: ReadonlySet<DynamoKind> = new Set(['get', 'batchGet', 'query']);

/** One fault at one request of the process that acts; requests are counted from 1, attempts of a write each on its own. */
export interface Placement {
  readonly request: number;
  readonly fault: FaultName;
}

export interface Flow {
  readonly name: string;
  /** Runs before the flow. */
  readonly before?: (stage: Stage) => Promise<void>;
  /** The flow itself; it may throw what the store's faults explain. */
  readonly act: (stage: Stage, place: WorkerPlace) => Promise<void>;
  /** Later users arrive, without faults. @throws if their expectations fail */
  readonly after: (stage: Stage) => Promise<void>;
  /** What its tasks do is drawn by the time, so lost requests may change what remains. */
  readonly isDrawn?: boolean;
}

interface Played {
  /** For each request that the process which acts sent, the faults that can make a difference. */
  readonly faults: readonly (readonly FaultName[])[];
  readonly violations: readonly Violation[];
  /** The whole history's. */
  readonly digest: string;
  /** The rows in the end, without what differs from run to run. */
  readonly remains: string;
  /** Of the process that acts. */
  readonly verbs: ReadonlySet<string>;
}

const LATENCY_MS = 5;
/** In milliseconds. */
const TIME = /\b1\d{12}\b/g;
/** The process that acts outlives these, so what remains is as if nothing had happened. */
const SURVIVED: readonly FaultName[] = ['not sent', 'answer lost', 'late', 'late after the TTL'];
/** Longer than a sender waits for an answer (a sixth of the TTL), shorter than until it asks again. */
const GIVES_UP_MS = 501;
export const PROFILE: Profile = {
  ...CALM,
  environments: 1,
  concurrency: 1,
  shards: 1,
  tasks: 1,
  lockShare: 0,
  coordinationShare: 0,
  ttlMs: 3_000,
  lockDelayMs: 500,
  latencyMs: LATENCY_MS,
  invocationMs: 20_000,
  users: 1,
};
/** Within this everything must be in order again. */
const BOUND_MS = 60 * PROFILE.ttlMs;

export class Stage {
  readonly timeline = new Timeline();
  readonly asks = new Asks(() => this.timeline.now);
  readonly recorder: Recorder;
  readonly started: (() => void)[] = [];
  readonly #checker = new Checker(assumptionsOf(PROFILE));
  readonly #store: SimulatedStore;
  readonly #network: Network;
  readonly #placements: ReadonlyMap<number, FaultName>;
  readonly #standing: Standing;
  readonly #objects = new Map<string, string>();
  readonly #verbs = new Set<string>();
  #processes = 0;
  #actor: SimulatedProcess | undefined;
  readonly #faults: (readonly FaultName[])[] = [];
  /** By the number of a request. */
  readonly #places = new Map<number, number>();
  /** Reads and their answers since the last write of any process, without times. */
  readonly #heard = new Set<string>();
  #failure: string | undefined;

  constructor(placements: readonly Placement[]) {
    this.#placements = new Map(placements.map(({ request, fault }) => [request, fault]));
    const { timeline } = this;
    const seen = (): void => undefined;
    this.#store = new SimulatedStore(
      () => EPOCH_MS + timeline.now,
      new Prng(1n),
      () => PROFILE,
      seen,
    );
    this.#store.refill();
    this.recorder = new Recorder({
      timeline,
      readRow: (row) => this.#store.read(row),
      onEvent: (event) => {
        this.#checker.on(event);
        this.#standing.on(event);
      },
    });
    const report = (invariant: string, row: string, message: string): void =>
      this.#checker.report(invariant, row, message);
    this.#standing = new Standing(PROFILE, {
      recorder: this.recorder,
      asks: this.asks,
      report,
      measure: () => undefined,
      now: () => timeline.now,
    });
    this.#network = new Network({
      timeline,
      store: this.#store,
      fateOf: (request: Request) => this.#fateOf(request),
      events: {
        onSent: (request) => this.recorder.sent(request),
        onLeft: (request) => this.#onLeft(request),
        onApplied: (request, result, copy) => {
          this.#onApplied(request, result);
          this.recorder.answered(request, result, copy);
        },
        onEnded: (request, ended) => this.recorder.ended(request, ended),
      },
    });
  }

  /** Reports a violation that the rules do not see. */
  violated(invariant: string, message: string): void {
    this.#checker.report(invariant, '', message);
  }

  /** A separate process. */
  place(name: string): WorkerPlace {
    const { timeline, recorder } = this;
    const incarnation = `${name}.${++this.#processes}`;
    let ids = 0;
    const unique = (): string => `${incarnation}-${String(++ids).padStart(4, '0')}`;
    const prng = new Prng(BigInt(this.#processes));
    const process = new SimulatedProcess({
      name: incarnation,
      timeline,
      random: prng.fork('random'),
      ids: { unique, ordered: unique },
      wall: new WallClock({ epochMs: EPOCH_MS, offsetMs: 0, drift: 0 }),
      onKilled: (killed) => recorder.died(killed),
    });
    return {
      process,
      driver: this.#network.driverOf(process),
      observer: {
        onAttempt: ({ statement }) => {
          if (process === this.#actor) this.#verbs.add(statement.verb);
        },
      },
      recorder,
      profile: PROFILE,
      prng,
      objects: this.#objects,
      seen: () => undefined,
      violated: (invariant, message) => this.#checker.report(invariant, incarnation, message),
      gauge: noSkewGauge,
      questions: new Map(),
      startSuccessor: () => undefined,
      isTimeCalled: () => false,
      restock: () => this.#store.restock(1),
    };
  }

  async play({ before, act, after }: Flow): Promise<Played> {
    if (before !== undefined) await this.#until(before(this), 'what comes before');
    const actor = this.place('actor');
    this.#actor = actor.process;
    const acting = this.#caught(act(this, actor));
    const state = { isOver: false };
    void acting.then(() => (state.isOver = true));
    const actsUntil = this.timeline.now + BOUND_MS;
    await this.timeline.run(() => state.isOver || !actor.process.isAlive || this.timeline.now > actsUntil);
    if (!state.isOver && actor.process.isAlive) this.violated('L13', `the flow has not ended after ${BOUND_MS} ms`);
    const faults = [...this.#faults];
    this.#actor = undefined;
    this.#standing.healed();
    this.#watch();
    await this.#until(after(this), 'what comes after');
    this.recorder.askAll();
    this.#checker.end();
    if (this.#failure !== undefined) this.violated('ERR', this.#failure);
    return {
      faults,
      violations: this.#checker.violations,
      digest: this.recorder.digest,
      remains: remainsOf(this.recorder.rows),
      verbs: this.#verbs,
    };
  }

  /** From now on a commit that takes from the stock is refused. */
  sellOut(): void {
    this.#store.sellOut();
  }

  /** Lets time pass. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.timeline.after(ms, () => {
        this.timeline.wake();
        resolve();
      });
    });
  }

  #watch(): void {
    this.timeline.after(SAMPLE_EVERY_MS, () => {
      this.#standing.sample();
      this.#watch();
    });
  }

  async #until(work: Promise<void>, what: string): Promise<void> {
    const state = { isOver: false };
    void this.#caught(work).then(() => (state.isOver = true));
    const endsAt = this.timeline.now + BOUND_MS;
    await this.timeline.run(() => state.isOver || this.timeline.now > endsAt);
    if (!state.isOver) this.violated('L13', `${what} has not ended within ${BOUND_MS} ms`);
  }

  async #caught(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      const isExpected =
        error instanceof Error &&
        ['StoreUnavailableError', 'LeaseLostError'].includes(error.name) &&
        this.#actor !== undefined;
      if (!isExpected) this.#failure ??= String(error);
    }
  }

  #fateOf(request: Request): Fate {
    const ways = { requestMs: LATENCY_MS, replyMs: LATENCY_MS };
    if (request.process !== this.#actor) return { ending: 'answered', ...ways };
    this.#faults.push(READS.has(request.kind) ? FAULTS_OF_READS : FAULTS);
    this.#places.set(request.number, this.#faults.length - 1);
    switch (this.#placements.get(this.#faults.length)) {
      case 'not sent':
        return { ending: 'requestLost', ...ways };
      case 'answer lost':
        return { ending: 'replyLost', ...ways };
      case 'late':
        return { ending: 'answered', ...ways, requestMs: GIVES_UP_MS };
      case 'late after the TTL':
        return { ending: 'answered', ...ways, requestMs: 2 * PROFILE.ttlMs };
      default:
        return { ending: 'answered', ...ways };
    }
  }

  /** A crash at a read leaves the same rows as a crash at an earlier equal read, if nothing was written in between. It is tried once. */
  #onApplied({ kind, input, number }: Request, { output }: { readonly output?: unknown }): void {
    if (!READS.has(kind)) this.#heard.clear();
    const place = this.#places.get(number);
    if (!READS.has(kind) || place === undefined) return;
    const heard = kind + JSON.stringify([input, output]).replaceAll(TIME, '');
    if (this.#heard.has(heard)) this.#faults[place] = FAULTS_OF_READS.filter((fault) => fault !== 'crash');
    this.#heard.add(heard);
  }

  #onLeft({ process }: Request): void {
    if (process !== this.#actor) return;
    const fault = this.#placements.get(this.#faults.length);
    if (fault === 'crash') process.kill();
    else if (fault === 'freeze') process.stall(2 * PROFILE.ttlMs);
  }
}

/** One playing of a flow with these faults. */
export function play(flow: Flow, placements: readonly Placement[]): Promise<Played> {
  return withSimulatedAborts(() => new Stage(placements).play(flow));
}

interface Placed {
  readonly placements: number;
  /** Histories that differ. */
  readonly states: number;
  readonly failures: readonly string[];
}

/**
 * Every placement of one fault, or of two in different requests.
 * Requests beyond the undisturbed flow belong to its repairs, and also get faults.
 */
export async function playAll(
  flow: Flow,
  { pairs = false, untilFailure = false }: { readonly pairs?: boolean; readonly untilFailure?: boolean } = {},
): Promise<Placed> {
  const digests = new Set<string>();
  const failures: string[] = [];
  let placements = 0;
  let undisturbed: Played | undefined;
  const one = async (placed: readonly Placement[]): Promise<Played> => {
    const played = await play(flow, placed);
    placements++;
    digests.add(played.digest);
    const where = placed.map(({ request, fault }) => `${fault} at ${request}`).join(', ');
    for (const { invariant, row, message } of played.violations)
      failures.push(`${flow.name}, ${where || 'undisturbed'}: ${invariant} ${row} ${message}`);
    undisturbed ??= played;
    const [only, more] = placed;
    const isSurvived =
      flow.isDrawn !== true && only !== undefined && more === undefined && SURVIVED.includes(only.fault);
    if (isSurvived && played.remains !== undisturbed.remains)
      failures.push(
        `${flow.name}, ${where}: leaves other rows than without faults: ${difference(played, undisturbed)}`,
      );
    return played;
  };
  const { faults } = await one([]);
  const last = faults.length;
  for (const { request, fault } of faults.flatMap(placementsAt)) {
    if (untilFailure && failures.length > 0) break;
    const after = (await one([{ request, fault }])).faults.slice(0, last + PAIRED_BEYOND);
    if (pairs)
      for (const other of after.flatMap(placementsAt).filter((other) => other.request > request))
        await one([{ request, fault }, other]);
  }
  return { placements, states: digests.size, failures };
}

/** To be mapped over the faults of a play. */
export function placementsAt(faults: readonly FaultName[], at: number): readonly Placement[] {
  return faults.map((fault) => ({ request: at + 1, fault }));
}

function difference({ remains }: Played, undisturbed: Played): string {
  const expected = new Set(undisturbed.remains.split('\n'));
  return remains
    .split('\n')
    .filter((row) => !expected.has(row))
    .join('; ');
}

/** How many of the requests that only the first fault has caused get a second one. */
const PAIRED_BEYOND = 4;
