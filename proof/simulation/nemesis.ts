/** Causes the faults: crashes, freezes, partitions, clock steps, and the fate of every request. */
import type { DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import type { Ending, Fate, Request } from '../../test/support/machines/network.ts';
import { ENDINGS } from '../../test/support/machines/network.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Timeline } from '../../test/support/machines/timeline.ts';
import type { Fleet } from './fleet.ts';
import type { Profile } from './profile.ts';
import type { Recorder } from './recorder.ts';
import { rowsWrittenBy } from './rows.ts';
import { FIRST_RIVAL } from './workloads/rivals.ts';

interface NemesisPorts {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly recorder: Recorder;
  readonly profile: () => Profile;
  readonly seen: (what: string) => void;
}

const ENDING_NAMES = Object.fromEntries(ENDINGS.map((ending) => [ending, `request ${ending}`])) as Record<
  Ending,
  string
>;
/** What happens to one row while all else works. */
interface Focus {
  readonly kind: string;
  /** The first of its kind that is written. */
  row: string | undefined;
  readonly ending: 'throttled' | 'replyLost' | 'requestLost' | 'late';
  readonly until: number;
}

/** One process whose writes to the rows of a kind are throttled; other processes, and its other writes, are not. */
interface Throttled {
  readonly process: string;
  readonly kind: string;
  readonly until: number;
}

/** How long one row may be in trouble. */
const LONGEST_FOCUS_MS = 90_000;
const WRITES: readonly DynamoKind[] = ['put', 'update', 'delete', 'transactWrite'];

export class Nemesis {
  readonly #ports: NemesisPorts;
  readonly #fates: Prng;
  /** By process: the end of its partition. */
  readonly #partitionedUntil = new Map<string, number>();
  #outUntil = 0;
  /** The row that is in trouble, and how. */
  #focus: Focus | undefined;
  #throttled: Throttled | undefined;
  /** Kinds of rows that are written: one of them is picked, so rarely written kinds also get faults. */
  readonly #kinds = new Set<string>();
  /** Requests of the first of two rivals that were sent before: by their inputs, which each try repeats. */
  readonly #tried = new WeakSet<object>();

  constructor(ports: NemesisPorts) {
    this.#ports = ports;
    this.#fates = ports.prng.fork('fates');
  }

  /** Starts all spontaneous events; they stop once the profile has no faults. */
  start(fleet: Fleet): void {
    const { prng, timeline, seen } = this.#ports;
    const victim = (): SimulatedProcess | undefined => (fleet.busy.length === 0 ? undefined : prng.pick(fleet.busy));
    this.#repeat(
      'crashes',
      ({ crashEveryMs }) => crashEveryMs,
      () => {
        const chosen = victim();
        const environment = fleet.environments.find(({ process }) => process !== undefined && process === chosen);
        if (environment !== undefined) fleet.kill(environment, 'crashed');
      },
    );
    this.#repeat(
      'freezes',
      ({ freezeEveryMs }) => freezeEveryMs,
      () => this.freeze(victim()),
    );
    this.#repeat(
      'herds',
      ({ herdEveryMs }) => herdEveryMs,
      ({ ttlMs }) => {
        const lengthMs = prng.logarithmic(0.3 * ttlMs, 3 * ttlMs);
        seen('all frozen');
        for (const process of fleet.busy) this.freeze(process, lengthMs);
      },
    );
    this.#repeat(
      'partitions',
      ({ partitionEveryMs }) => partitionEveryMs,
      ({ ttlMs }) => {
        const process = victim();
        if (process === undefined) return;
        seen('partition');
        this.#partitionedUntil.set(process.name, timeline.now + prng.logarithmic(0.1 * ttlMs, 2 * ttlMs));
      },
    );
    this.#repeat(
      'outages',
      ({ outageEveryMs }) => outageEveryMs,
      ({ ttlMs }) => {
        seen('outage');
        this.#outUntil = timeline.now + prng.logarithmic(0.1 * ttlMs, 2 * ttlMs);
      },
    );
    this.#repeat(
      'focus',
      ({ focusEveryMs }) => focusEveryMs,
      () => {
        const kind = this.#kinds.size === 0 ? undefined : prng.pick([...this.#kinds]);
        if (kind === undefined) return;
        const ending = prng.pick(['throttled', 'replyLost', 'replyLost', 'requestLost', 'late'] as const);
        const until = timeline.now + prng.logarithmic(3_000, LONGEST_FOCUS_MS);
        this.#focus = { kind, row: undefined, ending, until };
        seen(`one row ${ending}`);
      },
    );
    this.#repeat(
      'throttled kind',
      ({ throttledKindEveryMs }) => throttledKindEveryMs,
      ({ ttlMs }) => {
        const process = victim();
        if (process === undefined) return;
        const kind = prng.chance(0.5) ? 'session' : prng.pick([...this.#kinds, 'session']);
        seen(`rows of one kind throttled for one process: ${kind}`);
        const until = timeline.now + prng.logarithmic(0.3 * ttlMs, 2 * ttlMs);
        this.#throttled = { process: process.name, kind, until };
      },
    );
    this.#repeat(
      'steps',
      ({ clockStepEveryMs }) => clockStepEveryMs,
      ({ clockErrorMs }) => {
        const process = victim();
        if (process === undefined) return;
        seen('clock stepped');
        process.wall.step(prng.between(-clockErrorMs, clockErrorMs) - process.wall.errorAt(timeline.now));
      },
    );
  }

  freeze(process: SimulatedProcess | undefined, lengthMs?: number): void {
    if (process === undefined) return;
    const { prng, recorder, seen } = this.#ports;
    const { ttlMs, staleAfterThawMs } = this.#ports.profile();
    const forMs = lengthMs ?? prng.logarithmic(10, 3 * ttlMs);
    seen(forMs > ttlMs ? 'frozen beyond the TTL' : 'frozen');
    recorder.happened(process.name, `frozen for ${forMs.toFixed(0)} ms`);
    process.stall(forMs);
    if (staleAfterThawMs > 0) process.wall.goStale({ untilTrueMs: process.now + staleAfterThawMs, behindMs: forMs });
  }

  /** Ends all faults; frozen processes thaw in time. */
  heal(): void {
    this.#partitionedUntil.clear();
    this.#outUntil = 0;
    this.#focus = undefined;
    this.#throttled = undefined;
  }

  fateOf(request: Request): Fate {
    const prng = this.#fates;
    const profile = this.#ports.profile();
    const { latencyMs } = profile;
    const requestMs = prng.exponential(latencyMs);
    const replyMs = prng.exponential(latencyMs);
    const { now } = this.#ports.timeline;
    if (now < this.#outUntil || now < (this.#partitionedUntil.get(request.process.name) ?? 0))
      return this.#seen({ ending: prng.chance(0.7) ? 'requestLost' : 'replyLost', requestMs, replyMs });
    const lost = profile.rivals > 0 ? this.#fateOfRival(request) : undefined;
    if (lost !== undefined) return this.#seen({ ending: lost, requestMs, replyMs });
    if (profile.throttledKindEveryMs > 0 && this.#isThrottled(request))
      return this.#seen({ ending: 'throttled', requestMs, replyMs });
    const focused = profile.focusEveryMs === 0 ? undefined : this.#focusedFate(request, { requestMs, replyMs });
    if (focused !== undefined) return this.#seen(focused);
    const drawn = this.#draw(profile, request.kind);
    const ending = drawn ?? 'answered';
    const isLate = prng.chance(profile.late);
    const isDuplicate = prng.chance(profile.duplicate);
    if (isLate) this.#ports.seen('request late');
    if (isDuplicate) this.#ports.seen('request duplicated');
    return this.#seen({
      ending,
      requestMs: isLate ? prng.logarithmic(latencyMs, latencyMs + profile.latestMs) : requestMs,
      replyMs,
      duplicateAfterMs: isDuplicate ? prng.logarithmic(1, 1 + profile.latestMs) : undefined,
    });
  }

  /** Called when a request has left: the moment between sending and hearing. */
  atBoundary(process: SimulatedProcess): void {
    const prng = this.#fates;
    const { boundaryKill, boundaryStall, ttlMs } = this.#ports.profile();
    if (prng.chance(boundaryKill)) {
      this.#ports.seen('killed at a boundary');
      this.#ports.recorder.happened(process.name, 'killed at a boundary');
      process.kill();
    } else if (prng.chance(boundaryStall)) {
      this.#ports.seen('stalled at a boundary');
      this.freeze(process, prng.logarithmic(1, 3 * ttlMs));
    }
  }

  /** Returns the fate of a request that writes the row in trouble. Session rows are spared: their faults are partitions. */
  #focusedFate({ kind, input }: Request, ways: Pick<Fate, 'requestMs' | 'replyMs'>): Fate | undefined {
    if (!WRITES.includes(kind)) return undefined;
    const names = rowsWrittenBy(kind, input).map(({ name }) => name);
    for (const name of names) if (!name.startsWith('session#')) this.#kinds.add(kindOf(name));
    const focus = this.#focus;
    if (focus === undefined || this.#ports.timeline.now >= focus.until) return undefined;
    focus.row ??= names.find((name) => kindOf(name) === focus.kind);
    if (focus.row === undefined || !names.includes(focus.row)) return undefined;
    const { ending } = focus;
    if (ending !== 'late') return { ...ways, ending };
    return { ...ways, ending: 'answered', requestMs: this.#fates.logarithmic(1_000, LONGEST_FOCUS_MS) };
  }

  /** The first try of a write of the first rival is often lost, so that the second comes after what the other has done. */
  #fateOfRival({ kind, input, process }: Request): Fate['ending'] | undefined {
    if (!process.name.startsWith(FIRST_RIVAL) || !WRITES.includes(kind) || this.#tried.has(input)) return undefined;
    this.#tried.add(input);
    if (!this.#fates.chance(0.6)) return undefined;
    return this.#fates.chance(0.7) ? 'replyLost' : 'requestLost';
  }

  #isThrottled({ process, kind, input }: Request): boolean {
    if (!WRITES.includes(kind)) return false;
    const kinds = rowsWrittenBy(kind, input).map(({ name }) => kindOf(name));
    for (const written of kinds) if (written !== 'session') this.#kinds.add(written);
    const throttled = this.#throttled;
    if (throttled === undefined || this.#ports.timeline.now >= throttled.until) return false;
    return process.name === throttled.process && kinds.includes(throttled.kind);
  }

  #draw(profile: Profile, kind: DynamoKind): Fate['ending'] | undefined {
    const prng = this.#fates;
    if (prng.chance(profile.requestLost)) return 'requestLost';
    if (prng.chance(profile.replyLost)) return 'replyLost';
    if (prng.chance(profile.failedBefore)) return 'failedBefore';
    if (prng.chance(profile.failedAfter)) return 'failedAfter';
    if (prng.chance(profile.throttled)) return 'throttled';
    return WRITES.includes(kind) && prng.chance(profile.conflict) ? 'conflict' : undefined;
  }

  #seen(fate: Fate): Fate {
    this.#ports.seen(ENDING_NAMES[fate.ending]);
    return fate;
  }

  #repeat(name: string, meanOf: (profile: Profile) => number, act: (profile: Profile) => void): void {
    const { timeline } = this.#ports;
    const waits = this.#ports.prng.fork(name);
    const again = (): void => {
      const meanMs = meanOf(this.#ports.profile());
      if (meanMs === 0) return;
      timeline.after(waits.exponential(meanMs), () => {
        const profile = this.#ports.profile();
        if (meanOf(profile) === 0) return;
        act(profile);
        again();
      });
    };
    again();
  }
}

function kindOf(row: string): string {
  return row.slice(0, Math.max(0, row.search(/[#/]/)));
}
