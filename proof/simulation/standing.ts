/**
 * Finds stalls after the world has healed. Checked every few seconds; each rule has a bound.
 *
 * L10 a due task with capacity is claimed, and one whose worker is dead is taken over, while a worker has a free slot.
 * L11 a task that a live session runs has code that runs, or an end that is being settled.
 * L12 a lock or permit that a live session holds has a holder who knows.
 * L13 a caller who waits for a free lock or permit gets it.
 * L14 every entry in a queue has a caller who waits; the entry of an expired session is removed with the next caller.
 * L15 no row of a session, lock, semaphore, key or queue grows with its age.
 * L16 refused claims stay few compared with granted ones; before healing, only in worlds whose index does not lag.
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Priority } from '../../shared/tasks/task/task.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import type { Ask, Asks } from './asks.ts';
import * as bounds from './bounds.ts';
import { SAMPLE_EVERY_MS } from './bounds.ts';
import type { Applied, HistoryEvent } from './history.ts';
import { hasTurn, isToBePassed } from './invariants/lines.ts';
import { holdersOf, ticketsOf } from './invariants/semaphores.ts';
import type { Measure, Report } from './invariants/rule.ts';
import { isLock, isSemaphore, isTask } from './invariants/rule.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import type { Profile } from './profile.ts';
import type { Recorder } from './recorder.ts';
import { sessionRow } from './recorder.ts';
import type { SessionState } from './session-states.ts';
import { isOpenAt, sessionsIn } from './session-states.ts';
import { USERS_SESSION } from './workloads/linger.ts';
import { isKnownKind, maxAttemptsOf, maxDeathsOf } from './workloads/task-code.ts';
import { laneName } from '../../shared/tasks/task/lane.ts';

/** A request costs a unit a kilobyte; four are what a row may come to by names and limits alone. */
const LARGEST_ROW_BYTES = 4_096;

interface StandingPorts {
  readonly recorder: Pick<Recorder, 'rows' | 'believers' | 'takenByCopies' | 'askAll'>;
  readonly asks: Asks;
  readonly report: Report;
  readonly measure: Measure;
  /** True time. */
  readonly now: () => number;
}

export class Standing {
  readonly #ports: StandingPorts;
  readonly #profile: Profile;
  /** Rows whose size was checked. */
  readonly #sized = new WeakSet<DynamoItem>();
  /** By rule and subject: the start of the stall. */
  #since = new Map<string, number>();
  #standing = new Map<string, number>();
  #claims: DynamoItem[] = [];
  /** Whether a worker had room at the last sample; for a last attempt after a crash, only one that ran nothing. */
  #placeBefore = { forAny: false, forLastAttempt: false };
  #aliveBefore: ReadonlySet<string> = new Set();
  #isHealed = false;
  #isOver = false;
  readonly #claimsOf = new Map<string, { at: number; refused: number; granted: number }>();
  readonly #claiming = new Map<number, string>();

  constructor(profile: Profile, ports: StandingPorts) {
    this.#profile = profile;
    this.#ports = ports;
  }

  on(event: HistoryEvent): void {
    if (event.kind === 'applied' && isTask(event.row)) this.#onTask(event);
    else if (event.kind === 'called' && event.verb === 'task.claim') this.#claiming.set(event.operation, event.process);
    else if (event.kind === 'returned') this.#onReturned(event.operation, event.outcome, event.at);
  }

  /** To be called every `SAMPLE_EVERY_MS` while all is well. */
  sample(): void {
    const { recorder } = this.#ports;
    recorder.askAll();
    const all = recorder.rows;
    const sessions = sessionsIn(all, this.#ports.now(), this.#profile);
    this.#standing = new Map();
    this.#readTasks(all, sessions);
    this.#readHolders(all, sessions);
    this.#readAsks(all, sessions);
    this.#readSizes(all);
    this.#since = this.#standing;
    this.#claims = [];
  }

  /** The half after a leap has its own faults. */
  suffers(): void {
    this.#isHealed = false;
    this.#isOver = false;
  }

  /** Time was called: workers exit when the queue is empty, and ticks start others. */
  timeCalled(): void {
    this.#isOver = true;
  }

  /** Stalls from before the healing count from this moment. */
  healed(): void {
    this.#isHealed = true;
    this.#since = new Map();
    this.#claims = [];
    this.#claimsOf.clear();
  }

  #onTask({ before, after }: Applied): void {
    if (after?.state !== 'running') return;
    if (before?.state === 'running' && before.leaseCounter === after.leaseCounter) return;
    this.#claims.push(after);
  }

  #onReturned(operation: number, outcome: string, at: number): void {
    const process = this.#claiming.get(operation);
    if (process === undefined) return;
    this.#claiming.delete(operation);
    // An index that lags, as a fault, shows tasks where they were: claims of them are refused until it has caught up.
    if (!this.#isHealed && this.#profile.staleMs > 0) return;
    const known = this.#claimsOf.get(process);
    const count =
      known === undefined || at - known.at > bounds.REFUSED_WINDOW_MS ? { at, refused: 0, granted: 0 } : known;
    this.#claimsOf.set(process, count);
    if (outcome === 'applied') count.granted++;
    else if (outcome === 'refused' || outcome === 'canceled') count.refused++;
    const limit = bounds.refusedClaims(count.granted);
    this.#ports.measure('L16', count.refused, limit);
    if (count.refused > limit)
      this.#ports.report(
        'L16',
        '',
        `${count.refused} claims of ${process} were refused within a minute, and ${count.granted} granted`,
      );
  }

  #readTasks(rows: ReadonlyMap<string, DynamoItem>, sessions: ReadonlyMap<string, SessionState>): void {
    const { concurrency, maxClockSkewMs, chains } = this.#profile;
    const now = this.#ports.now();
    const running = new Map<string, number>();
    const due: [row: string, item: DynamoItem][] = [];
    const believed = new Set(this.#ports.recorder.believers.map(({ row, token }) => `${row} ${token}`));
    const paused = rows.get('queue#jobs')?.pausedTenants as ReadonlySet<string> | undefined;
    for (const [row, item] of rows) {
      if (!isTask(row)) continue;
      const isPaused = paused?.has(String(item.tenant)) === true;
      const isReady = item.state === 'ready' && !isPaused && hasTurn(item, rows) && isDue(item, now - maxClockSkewMs);
      if ((isReady && hasCapacity(item, rows, now)) || isToBePassed(item, rows)) due.push([row, item]);
      if (item.state !== 'running') continue;
      const session = String(item.session);
      if (sessions.get(session)?.isAlive !== true) {
        if (!isPaused) due.push([row, item]);
        continue;
      }
      running.set(session, (running.get(session) ?? 0) + 1);
      const claim = `${row} ${String(item.leaseCounter)}`;
      // A poisonous task kills one worker after the other: each claim is judged by itself.
      if (!believed.has(claim) && this.#stands('L11', claim, bounds.settledMs(this.#profile)))
        this.#ports.report(
          'L11',
          row,
          'is run by a live session, and none of its code runs: its end was never settled',
        );
    }
    if (rows.get('queue#jobs')?.paused === true) return;
    const workers = [...sessions].filter(([, { name, isAlive }]) => name === 'worker' && isAlive);
    // If workers need a permit, a crashed worker keeps its permit until its session has ended, and workers that start in the interim exit.
    const working = chains ? workers.filter(([id]) => believed.has(`${sessionRow(id)} 0`)) : workers;
    const hasRoom = (places: number): boolean =>
      workers.length === 0 || working.some(([id]) => (running.get(id) ?? 0) < places);
    const place = { forAny: hasRoom(concurrency), forLastAttempt: hasRoom(1) };
    const passing = this.#passing(
      workers.map(([id]) => id),
      (id) => (running.get(id) ?? 0) < concurrency,
    );
    for (const [row, item] of due) {
      const kind = isLastAttempt(item) ? 'forLastAttempt' : 'forAny';
      const isServed = this.#isServed(item);
      if (this.#profile.fullKeys && kind === 'forAny')
        for (const [id, isPassing] of passing)
          if (isPassing && !isServed) this.#starves(row, item, ` ${id}`);
          else this.#keep(`${this.#starving(row, item)} ${id}`);
      else if (this.#placeBefore[kind] && place[kind] && !isServed) this.#starves(row, item);
      else this.#keep(this.#starving(row, item));
    }
    this.#placeBefore = place;
  }

  /**
   * The live workers, and whether each was there at the last sample and has either a free place or taken a task without a key since.
   * In a world of keys, each worker's looks count by themselves: there is no end of other tasks, and what it knows of a key dies with it.
   */
  #passing(workers: readonly string[], hasRoom: (id: string) => boolean): ReadonlyMap<string, boolean> {
    const tookOthers = new Set(this.#claims.flatMap(({ key, session }) => (key === undefined ? [session] : [])));
    const isPassing = (id: string): boolean => this.#aliveBefore.has(id) && (hasRoom(id) || tookOthers.has(id));
    const passing = new Map(workers.map((id) => [id, isPassing(id)]));
    this.#aliveBefore = new Set(workers);
    return passing;
  }

  /** Whether tasks like it, or of a higher priority, were claimed since the last sample, so it only waits for its turn. */
  #isServed({ state, tenant, key, priority, directoryKey }: DynamoItem): boolean {
    const { lone, fullKeys } = this.#profile;
    const isStrict = lone || fullKeys;
    /** Workers alternate between plain tasks and tasks of groups, and pass the tasks of a full key without a turn. */
    const isInTurn = (claimed: DynamoItem): boolean =>
      fullKeys && directoryKey !== undefined
        ? state === 'ready' && claimed.directoryKey !== undefined
        : claimed.key === undefined && claimed.tenant === tenant;
    return this.#claims.some(
      (claimed) =>
        // Workers of others may be at the key, but not in a lone world or a world of keys.
        (key !== undefined && (!isStrict || nameOfKey(claimed) === nameOfKey({ key }))) ||
        rankOf(claimed.priority) < rankOf(priority) ||
        isInTurn(claimed),
    );
  }

  #starves(row: string, item: DynamoItem, by = ''): void {
    const name = this.#starving(row, item) + by;
    // A sum of samples, not a span: one claim of another task does not make up for a minute without one.
    const looks = (this.#since.get(name) ?? 0) + 1;
    this.#standing.set(name, looks);
    const boundMs = this.#starvingMs(item);
    this.#ports.measure('L10', looks * SAMPLE_EVERY_MS, boundMs);
    if (looks * SAMPLE_EVERY_MS <= boundMs) return;
    const what = item.state === 'running' ? 'is run by a dead session' : 'is due and has room';
    this.#ports.report('L10', row, `${what}, and for ${boundMs / 1_000} s a worker with a free place left it there`);
  }

  /**
   * A lone worker polls each of its partitions within a heartbeat, in lanes that it knows of: docs/timing.md. It may be started by a tick
   * first, and a crashed worker seems to have a free place until its session has expired.
   */
  #starvingMs({ priority, directoryKey }: DynamoItem): number {
    const { lone, feedsLater } = this.#profile;
    if (feedsLater && !this.#isOver) return bounds.polledMs(this.#profile);
    const lanes = this.#ports.recorder.rows.get('queue#jobs')?.lanes as ReadonlySet<string> | undefined;
    const lane = laneName({ priority: priority as Priority, isOfGroups: directoryKey !== undefined });
    if (!lone || this.#isOver || !(lanes?.has(lane) ?? lane === 'normal')) return bounds.STARVING_MS;
    return bounds.starvingAloneMs(this.#profile);
  }

  /**
   * If workers exit when empty, a claimed task starts a new wait for the next tick; long-lived workers should not make it wait for one.
   */
  #starving(row: string, { leaseCounter }: DynamoItem): string {
    return this.#profile.stays && !this.#profile.lone ? `L10 ${row}` : `L10 ${row} ${String(leaseCounter)}`;
  }

  /** With one worker, the wait of a task starts again when it serves others. */
  #keep(name: string): void {
    if (this.#profile.lone) return;
    const known = this.#since.get(name);
    if (known !== undefined) this.#standing.set(name, known);
  }

  #readHolders(rows: ReadonlyMap<string, DynamoItem>, sessions: ReadonlyMap<string, SessionState>): void {
    const boundMs = bounds.settledMs(this.#profile);
    const believed = new Set(this.#ports.recorder.believers.map(({ row, token }) => `${row} ${token}`));
    const open = this.#ports.asks.open;
    const check = (row: string, session: string, token: number): void => {
      const { isAlive = false, name } = sessions.get(session) ?? {};
      if (!isAlive || name !== USERS_SESSION || believed.has(`${row} ${token}`)) return;
      const isByCopy = this.#ports.recorder.takenByCopies.has(`${row} ${token}`);
      if (this.#stands('L12', `${row} ${token}`, boundMs))
        this.#ports.report(
          'L12',
          row,
          `is held under token ${token} by live session ${session}, and no code of it knows${isByCopy ? '; a second delivery took it' : ''}`,
        );
    };
    for (const [row, item] of rows) {
      if (isLock(row) && typeof item.session === 'string') check(row, item.session, Number(item.leaseCounter));
      if (!isSemaphore(row)) continue;
      for (const { session, token, closedUntil } of holdersOf(item))
        if (closedUntil === undefined) check(row, session, token);
      for (const ticket of ticketsOf(item)) {
        const session = ticket.slice(0, ticket.lastIndexOf('/'));
        const callers = open.filter((ask) => ask.row === row);
        if (callers.some((ask) => ask.session === session)) continue;
        // The next caller drops the place of a dead session: without a caller it is in no one's way.
        if (callers.length === 0 && sessions.get(session)?.isAlive !== true) continue;
        if (this.#stands('L14', `${row} ${ticket}`, bounds.placeLeftMs(this.#profile)))
          this.#ports.report('L14', row, `place ${ticket} of its queue has no caller that waits`);
      }
    }
  }

  #readAsks(rows: ReadonlyMap<string, DynamoItem>, sessions: ReadonlyMap<string, SessionState>): void {
    const isAlone = this.#profile.lone && !this.#isOver;
    const asks = this.#ports.asks.open;
    for (const ask of asks) {
      const item = rows.get(ask.row);
      const isFree = ask.kind === 'lock' ? this.#isFree(item, sessions) : this.#hasPermits(ask, asks, item, sessions);
      const name = `${ask.row} ${ask.session} ${ask.since}`;
      if (isFree && this.#stands('L13', name, bounds.servedMs(ask.kind, this.#profile, isAlone)))
        this.#ports.report(
          'L13',
          ask.row,
          `${ask.process.name} waits for ${ask.kind === 'lock' ? 'it' : `${ask.permits} of it`}, which is free, and does not get it`,
        );
    }
  }

  #isFree(item: DynamoItem | undefined, sessions: ReadonlyMap<string, SessionState>): boolean {
    const now = this.#ports.now();
    if (item === undefined) return true;
    if (typeof item.session === 'string') return isOpenAt(now, sessions.get(item.session));
    return item.notBefore === undefined || Number(item.notBefore) - EPOCH_MS + this.#profile.maxClockSkewMs < now;
  }

  #hasPermits(
    ask: Ask,
    asks: readonly Ask[],
    item: DynamoItem | undefined,
    sessions: ReadonlyMap<string, SessionState>,
  ): boolean {
    if (item === undefined) return true;
    const now = this.#ports.now();
    const held = holdersOf(item)
      .filter(({ session, closedUntil }) =>
        closedUntil === undefined
          ? !isOpenAt(now, sessions.get(session))
          : closedUntil - EPOCH_MS + this.#profile.maxClockSkewMs > now,
      )
      .reduce((sum, { permits }) => sum + permits, 0);
    const queued = asks.find(({ fair, row }) => fair && row === ask.row);
    return Number(item.limit) - held >= ask.permits && (queued === undefined || queued === ask);
  }

  #readSizes(rows: ReadonlyMap<string, DynamoItem>): void {
    for (const [row, item] of rows) {
      // A write makes a new item.
      if (this.#sized.has(item) || !/^(session|lock|semaphore|key|queue|waitgroup)#/.test(row)) continue;
      this.#sized.add(item);
      const bytes = JSON.stringify(item, plain).length;
      this.#ports.measure('L15', bytes, LARGEST_ROW_BYTES);
      if (bytes > LARGEST_ROW_BYTES)
        this.#ports.report('L15', row, `has grown to ${bytes} bytes, and every write of it costs that`);
    }
  }

  /** Whether this has been so for longer than the bound. */
  #stands(rule: string, what: string, boundMs: number): boolean {
    const now = this.#ports.now();
    const name = `${rule} ${what}`;
    const since = this.#since.get(name) ?? now;
    this.#standing.set(name, since);
    this.#ports.measure(rule, now - since, boundMs);
    return now - since > boundMs;
  }
}

function isDue({ readyAt, name }: DynamoItem, now: number): boolean {
  return isKnownKind(String(name)) && Number(readyAt) - EPOCH_MS <= now;
}

/** A crashed worker's task: its last attempt waits until its worker runs nothing else. See `shared/tasks/worker/solo-gate.ts`. */
function isLastAttempt({ state, name, attempts, deaths = 0 }: DynamoItem): boolean {
  if (state !== 'running') return false;
  const kind = String(name);
  return Number(attempts) + 1 === maxAttemptsOf(kind) || Number(deaths) + 2 === maxDeathsOf(kind);
}

interface Limit {
  readonly key: string;
  readonly limit: number;
  readonly count?: number;
  readonly perMs?: number;
}

function hasCapacity({ queue, key }: DynamoItem, rows: ReadonlyMap<string, DynamoItem>, now: number): boolean {
  if (key === undefined) return true;
  const { key: name, limit, count, perMs } = key as unknown as Limit;
  const { running = 0, window, started } = rows.get(`key#${String(queue)}#${name}`) ?? {};
  if (Number(running) >= limit || count === undefined || perMs === undefined) return Number(running) < limit;
  const at = EPOCH_MS + now;
  return window === undefined || Number(window) < at - (at % perMs) || Number(started) < count;
}

function nameOfKey({ key }: DynamoItem): unknown {
  return (key as { readonly key?: unknown } | undefined)?.key;
}

function plain(_name: string, value: unknown): unknown {
  return value instanceof Set ? [...value] : value instanceof Uint8Array ? [...value] : value;
}

/** The place of a priority among them, the highest first. */
function rankOf(priority: unknown): number {
  return PRIORITIES.findIndex((known) => known === priority);
}
