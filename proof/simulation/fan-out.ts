/**
 * Checks that there are as many workers as the work needs: judged in worlds where only ticks and wakes start workers, once they have
 * healed.
 *
 * W1 a tick starts at least as many workers as the rule wants for the true entries.
 * W2 a due task with capacity does not wait for longer than a tick and `startWithin`, unless all permitted workers are busy throughout;
 * and no longer than two heartbeats while the same live worker has a free slot.
 * W3 neither a tick nor a wake starts more workers than the rule wants for the true entries, less the workers that wakers have just
 * started.
 *
 * The rule itself (`wantedWorkers`) is the shipped code; this file counts the entries, and how many of them can run.
 * Rows and permits that change while a plan is made are counted both for and against the plan, so either reading is right.
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { TOKENS_PER_PART } from '../../shared/core/permit-parts.ts';
import { SHOWS_WITHIN_MS } from '../../shared/tasks/dispatch/pending-starts.ts';
import { wantedWorkers } from '../../shared/tasks/dispatch/plan.ts';
import type { Planned } from '../../shared/tasks/dispatch/planning.ts';
import { besideMs as besideBoundMs, startedMs } from './bounds.ts';
import type { Applied } from './history.ts';
import { hasTurn, keepsPlace } from './invariants/lines.ts';
import type { Measure, Report } from './invariants/rule.ts';
import { isTask } from './invariants/rule.ts';
import { holdersOf } from './invariants/semaphores.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import type { Profile } from './profile.ts';
import { QUEUE_NAME } from './rows.ts';
import { isOpenAt, sessionsIn } from './session-states.ts';

interface WakersStart {
  /** When its plan was begun, and when it was made: others know of it by then. */
  readonly at: number;
  readonly madeAt: number;
  readonly count: number;
  /** The permits' counter before. */
  readonly token: number;
}

/** The state of a plan in progress. */
interface PlanUnderWay {
  readonly made: (plan: { readonly planned?: Planned; readonly started: number }) => void;
}

interface FanOutPorts {
  readonly rows: () => ReadonlyMap<string, DynamoItem>;
  /** True time. */
  readonly now: () => number;
  readonly report: Report;
  readonly measure: Measure;
}

interface Settings {
  readonly maxWorkers: number;
  readonly concurrency: number;
  readonly startWithinMs: number;
}

/** How long a waker counts what the index does not show, and how long such tasks took to come through the stream. */
const HEARD_MS = 1_500;
/** Up to this number of entries, the sample is complete. */
const SAMPLED = 25;
const PERMITS = `permits#${QUEUE_NAME}`;

const isOfPermits = (row: string): boolean => row === PERMITS || row.startsWith(`${PERMITS}/`);
function permitsIn(rows: ReadonlyMap<string, DynamoItem>): readonly DynamoItem[] {
  return [...rows].flatMap(([row, item]) => (isOfPermits(row) ? [item] : []));
}

export class FanOut {
  readonly #ports: FanOutPorts;
  readonly #profile: Profile;
  readonly #settings: Settings;
  /** When each task row, and the row of permits, was written last. */
  readonly #writtenAt = new Map<string, number>();
  /** The recent starts of wakers. */
  #starts: WakersStart[] = [];
  #waiting = new Map<string, number>();
  /** Per session: its running tasks, when it last ran its maximum, and the start of its permit. */
  readonly #running = new Map<string, number>();
  readonly #fullUntil = new Map<string, number>();
  #permitted = new Map<string, number>();
  #isJudging = false;

  constructor(profile: Profile, settings: Settings, ports: FanOutPorts) {
    this.#profile = profile;
    this.#settings = settings;
    this.#ports = ports;
  }

  on({ row, at, before, after }: Applied): void {
    if (isTask(row)) this.#writtenAt.set(row, at);
    if (isOfPermits(row)) this.#writtenAt.set(PERMITS, at);
    if (!isTask(row)) return;
    if (before?.state === 'running') this.#count(String(before.session), -1, at);
    if (after?.state === 'running') this.#count(String(after.session), 1, at);
  }

  #count(session: string, more: number, at: number): void {
    const before = this.#running.get(session) ?? 0;
    if (before >= this.#settings.concurrency) this.#fullUntil.set(session, at);
    this.#running.set(session, before + more);
  }

  /** Faults may have left anything behind: plans are judged once, and waits counted from, when they are over. */
  judges(isJudging: boolean): void {
    this.#isJudging = isJudging;
    this.#waiting.clear();
    this.#permitted.clear();
  }

  /** @param by who plans: wakers know of each other's starts, and a dispatcher of none */
  begin(by: string): PlanUnderWay {
    const beganAt = this.#ports.now();
    const isWhole = this.#isJudging;
    const token = this.#token;
    return {
      made: ({ planned, started }) => {
        if (planned !== undefined && isWhole && this.#isJudging) this.#judge(by, beganAt, planned, started);
        if (started > 0 && isWaker(by))
          this.#starts.push({ at: beganAt, madeAt: this.#ports.now(), count: started, token });
      },
    };
  }

  /** To be called every few seconds while all is well. */
  sample(): void {
    if (!this.#isJudging) return;
    const now = this.#ports.now();
    const rows = this.#ports.rows();
    const sessions = sessionsIn(rows, now, this.#profile);
    // The permit of a crashed worker stays in the row until its capacity is needed.
    const holders = permitsIn(rows)
      .flatMap(holdersOf)
      .filter(({ session }) => !isOpenAt(now, sessions.get(session)));
    const free = holders.filter(
      ({ session }) =>
        sessions.get(session)?.isAlive === true && (this.#running.get(session) ?? 0) < this.#settings.concurrency,
    );
    const isFull = holders.length >= this.#settings.maxWorkers && free.length === 0;
    this.#permitted = new Map(holders.map(({ session }) => [session, this.#permitted.get(session) ?? now]));
    const freeSince = Math.min(
      ...free.map(({ session }) => Math.max(this.#permitted.get(session) ?? now, this.#fullUntil.get(session) ?? 0)),
    );
    const isPaused = rows.get(`queue#${QUEUE_NAME}`)?.paused === true;
    const boundMs = startedMs(this.#profile.tickMs, this.#settings.startWithinMs);
    const looksApartMs = besideBoundMs(this.#profile);
    const waits = new Map<string, number>();
    for (const [row, item] of rows) {
      if (!isTask(row) || item.state !== 'ready' || !hasTurn(item, rows) || isFull || isPaused) continue;
      if (dueSince(item) > now || isLimited(item)) continue;
      const since = this.#waiting.get(`${row} ${String(item.leaseCounter)}`) ?? now;
      waits.set(`${row} ${String(item.leaseCounter)}`, since);
      const besideMs = now - Math.max(since, freeSince);
      this.#ports.measure('W2', Math.max(0, besideMs), looksApartMs);
      this.#ports.measure('W2', now - since, boundMs);
      if (besideMs > looksApartMs)
        this.#ports.report(
          'W2',
          row,
          `is due and waits for ${besideMs} ms beside one and the same worker with a free slot`,
        );
      if (now - since > boundMs)
        this.#ports.report('W2', row, `is due and waits for ${now - since} ms, while workers are free or missing`);
    }
    this.#waiting = waits;
  }

  #judge(by: string, beganAt: number, planned: Planned, started: number): void {
    if ((this.#writtenAt.get(PERMITS) ?? -Infinity) >= beganAt) return;
    const { live, tookMs } = planned;
    const rows = this.#ports.rows();
    const entries = [...rows].filter(([row, item]) => isTask(row) && isInIndex(item) && hasTurn(item, rows));
    const isChanged = (row: string): boolean => (this.#writtenAt.get(row) ?? -Infinity) >= beganAt;
    const changed = [...this.#writtenAt].filter(([row]) => isTask(row) && isChanged(row)).length;
    const still = entries.filter(([row]) => !isChanged(row)).map(([, item]) => item);
    // If only some entries are limited, a sample is an estimate.
    if (still.length + changed > SAMPLED && new Set(still.map(isLimited)).size > 1) return;
    const skewMs = 2 * this.#profile.clockErrorMs;
    const least = demandOf(still, beganAt - skewMs, this.#settings);
    const most = demandOf(still, this.#ports.now() + skewMs, this.#settings);
    const wanted = ({ due, late }: { readonly due: number; readonly late: number }): number =>
      wantedWorkers({ due, late, tookMs }, live, this.#settings).workers;
    if (by.startsWith('dispatcher') && live + started < wanted(least))
      this.#ports.report(
        'W1',
        '',
        `${by} started ${started} workers beside ${live} for ${least.due} tasks, ${least.late} of them late; wanted are ${wanted(least)}`,
      );
    // A waker counts announced tasks of the last second that the index does not show; if there are many, it estimates from a sample how
    // many have ended.
    const inIndex = new Set(entries.map(([row]) => row));
    const hasEnded = ([row, at]: readonly [string, number]): boolean =>
      isTask(row) && !inIndex.has(row) && beganAt - HEARD_MS <= at && at < beganAt;
    const ended = [...this.#writtenAt].filter(hasEnded).length;
    const counted = { due: most.due + changed + ended, late: most.late + changed };
    const pending = isWaker(by) ? this.#pendingAt(beganAt) : 0;
    // Only a waker knows whether tasks come one by one.
    const beside = wantedWorkers({ ...counted, tookMs }, live + pending, this.#settings, isWaker(by)).workers;
    const upper = Math.max(wanted(counted), beside);
    if (started > Math.max(0, upper - live - pending))
      this.#ports.report(
        'W3',
        '',
        `${by} started ${started} workers beside ${live} and ${pending} that wakers had just started, for ${most.due} tasks; wanted are ${upper}`,
      );
  }

  get #token(): number {
    const counters = permitsIn(this.#ports.rows()).map(({ leaseCounter }) => Number(leaseCounter) % TOKENS_PER_PART);
    return counters.reduce((all, one) => all + one, 0);
  }

  /** The starts of wakers until then, minus starts that may already have a permit. */
  #pendingAt(at: number): number {
    this.#starts = this.#starts.filter((start) => at - start.at < SHOWS_WITHIN_MS - STARTING_MARGIN_MS);
    const known = this.#starts.filter(({ madeAt }) => madeAt <= at);
    const shown = this.#token - Math.min(...known.map(({ token }) => token));
    return known.length === 0 ? 0 : Math.max(0, known.reduce((sum, { count }) => sum + count, 0) - shown);
  }
}

const isWaker = (by: string): boolean => by.startsWith('waker');

/** A waker notes its starts when it begins them, by its own clock. */
const STARTING_MARGIN_MS = 1_000;

function isInIndex(item: DynamoItem): boolean {
  const { state, readyKey, directoryKey } = item;
  return (readyKey ?? directoryKey) !== undefined && (state === 'ready' || state === 'running' || keepsPlace(item));
}

function dueSince({ readyAt }: DynamoItem): number {
  return Number(readyAt) - EPOCH_MS;
}

/** Whether a key limits how many like it run. */
function isLimited({ key }: DynamoItem): boolean {
  return key !== undefined;
}

/** Entries that are due and that workers could run, and how many of them are late. */
function demandOf(
  items: readonly DynamoItem[],
  at: number,
  { startWithinMs }: Settings,
): { readonly due: number; readonly late: number } {
  const due = items.filter((item) => dueSince(item) <= at);
  let [sum, late] = [0, 0];
  for (const group of Map.groupBy(due, keyOf).values()) {
    const { limit = Infinity } = (group[0]?.key ?? {}) as { readonly limit?: number };
    const lateOnes = group.filter((item) => dueSince(item) < at - startWithinMs / 2).length;
    const part = Math.min(group.length, limit) / group.length;
    sum += part * group.length;
    late += part * lateOnes;
  }
  return { due: sum, late };
}

function keyOf({ key }: DynamoItem): string {
  return (key as { readonly key: string } | undefined)?.key ?? '';
}
