/** Polls all queues in turn: the cost of a refresh does not grow with the number of queues. */
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import { sumOf } from '../../../cli/queue/queue-summary.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { Holding, Overview, QueueFigures, Reading } from '../../model.ts';
import { QueueReader } from './queue.ts';
import type { SessionBook } from './session-book.ts';
import { WorkerWalk } from './worker-walk.ts';

/** A refresh polls another queue only while it has used less. One costs 15 to 45 units. */
const ROUND_UNITS = 20;
/** Pause between two searches for new queues and their workers: half a unit for a hundred names, and eight units for their sessions. */
const DISCOVER_EVERY_MS = 10_000;
/** Pages of a hundred worker sessions that the first search reads; a later one reads one page and continues from there. */
const FIRST_SESSION_PAGES = 8;
const QUEUES_LIMIT = 200;
/** At a round every two seconds: ten minutes. */
const READINGS_KEPT = 300;
/** Sessions that may have ended, read a round: a unit each. */
const SESSIONS_PER_ROUND = 8;
const HOUR_MS = 3_600_000;
/** Over how long the rate of units is taken. */
const RATE_MS = 30_000;

export class OverviewReader {
  readonly #connection: ConsoleConnection;
  readonly #book: SessionBook;
  /** In the order of their next readers. */
  readonly #queues = new Map<string, QueueReader>();
  readonly #readings: Reading[] = [];
  readonly #spending: { readonly at: number; readonly units: number }[] = [];
  #discoveredAt = -Infinity;
  readonly #workers = new WorkerWalk();
  #lostSeen = 0;

  constructor(connection: ConsoleConnection, book: SessionBook) {
    this.#connection = connection;
    this.#book = book;
    connection.options.queues.forEach((queue) => this.include(queue));
  }

  /** A queue that was named; those without a worker so far are known by their names only. */
  include(queue: string): void {
    if (!this.#queues.has(queue) && this.#queues.size < QUEUES_LIMIT)
      this.#queues.set(queue, new QueueReader(this.#connection, this.#book, queue));
  }

  /** The next round begins with this queue: an act has just changed it. */
  putFirst(queue: string): void {
    const reader = this.#queues.get(queue);
    if (reader === undefined) return;
    reader.forget();
    const others = [...this.#queues].filter(([name]) => name !== queue);
    this.#queues.clear();
    for (const [name, other] of [[queue, reader] as const, ...others]) this.#queues.set(name, other);
  }

  /** Whether tasks of the queue may be in groups: unknown until its first poll. */
  mayHaveGroups(queue: string): boolean {
    return this.#queues.get(queue)?.mayHaveGroups ?? true;
  }

  get queues(): readonly string[] {
    return [...this.#queues.keys()].sort();
  }

  /** One round. @returns the read units that it took */
  async read(): Promise<number> {
    const before = this.#connection.readUnits();
    await this.#discover();
    for (const [queue, reader] of [...this.#queues]) {
      if (this.#connection.readUnits() - before >= ROUND_UNITS) break;
      await reader.read(this.#connection.open(), this.#workers.of(queue));
      // To the end of the line.
      this.#queues.delete(queue);
      this.#queues.set(queue, reader);
    }
    await this.#book.refresh(this.#connection.open(), this.#book.living(), { limit: SESSIONS_PER_ROUND });
    this.#note();
    return this.#connection.readUnits() - before;
  }

  overview(): Overview {
    const readers = [...this.#queues.values()];
    return {
      now: this.#connection.now(),
      desk: this.#connection.info,
      queues: this.#figures().toSorted((one, other) => (one.queue < other.queue ? -1 : 1)),
      unseen: readers.filter(({ figures }) => figures === undefined).map(({ queue }) => queue),
      readings: this.#readings,
      lost: this.#book.lost(),
      lostInHour: this.#book.lostAfter(this.#connection.now() - HOUR_MS),
      units: { total: this.#connection.readUnits(), perSecond: this.#unitsPerSecond() },
    };
  }

  /** Holdings of sessions, as of the last polls of the queues. */
  holdings(): ReadonlyMap<string, readonly Holding[]> {
    const held = new Map<string, Holding[]>();
    const note = (session: string, holding: Holding): void => {
      const list = held.get(session) ?? [];
      list.push(holding);
      held.set(session, list);
    };
    for (const reader of this.#queues.values()) {
      const { queue } = reader;
      for (const { session, token } of reader.permits)
        note(session, { kind: 'permit', name: workersSemaphore(queue), leaseCounter: token });
      for (const { session, id, leaseCounter } of reader.running)
        note(session, { kind: 'task', name: id, queue, leaseCounter });
    }
    return held;
  }

  /**
   * Finds queues by their workers. A deployed worker holds a permit of the queue's semaphore, which stays when the worker is gone.
   * A worker of `createWorker` or `leasehold work` holds none, so the sessions are read as well.
   */
  async #discover(): Promise<void> {
    const now = this.#connection.now();
    if (now - this.#discoveredAt < DISCOVER_EVERY_MS) return;
    const { leasehold, sessions } = this.#connection.open();
    const prefix = workersSemaphore('');
    for await (const name of leasehold.semaphores.list(prefix)) {
      this.include(name.slice(prefix.length));
      if (this.#queues.size >= QUEUES_LIMIT) break;
    }
    const pages = this.#discoveredAt === -Infinity ? FIRST_SESSION_PAGES : 1;
    for (let page = 0; page < pages; page++) {
      const { queues, isOver } = await this.#workers.turnPage(sessions);
      for (const queue of queues) this.include(queue);
      if (isOver) break;
    }
    this.#discoveredAt = now;
  }

  #figures(): readonly QueueFigures[] {
    return [...this.#queues.values()].flatMap(({ figures }) => figures ?? []);
  }

  #note(): void {
    const figures = this.#figures();
    const at = this.#connection.now();
    const sum = (of: (queue: QueueFigures) => number): number => figures.reduce((total, queue) => total + of(queue), 0);
    const lost = this.#book.lostSinceOpening;
    this.#readings.push({
      at,
      backlog: sum(({ due }) => sumOf(due)),
      dead: sum(({ dead }) => dead.count),
      workers: sum(({ workers }) => workers.live),
      oldestReadyAgeMs: Math.max(0, ...figures.map(({ oldestReadyAgeMs }) => oldestReadyAgeMs ?? 0)),
      arrived: sum(({ flow }) => flow?.arrived ?? 0),
      left: sum(({ flow }) => flow?.left ?? 0),
      lost: lost - this.#lostSeen,
    });
    this.#lostSeen = lost;
    if (this.#readings.length > READINGS_KEPT) this.#readings.shift();
    this.#spending.push({ at, units: this.#connection.readUnits() });
    while ((this.#spending[0]?.at ?? at) < at - RATE_MS) this.#spending.shift();
  }

  #unitsPerSecond(): number {
    const [first] = this.#spending;
    const last = this.#spending.at(-1);
    if (first === undefined || last === undefined || last.at <= first.at) return 0;
    return ((last.units - first.units) / (last.at - first.at)) * 1_000;
  }
}
