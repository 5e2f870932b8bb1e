/** A queue's figures, at a price that does not grow with the queue: counting stops when its units are used up, and reports that. */
import { workerName } from '../../../shared/tasks/dispatch/live-workers.ts';
import { wantedNow } from '../../../shared/tasks/dispatch/wanted-now.ts';
import { readWhole } from '../../../shared/coordination/semaphore/fleet.ts';
import { workersSemaphore } from '../../../shared/tasks/dispatch/dispatcher.ts';
import type { ListedEntry } from '../../../shared/tasks/queue/listing.ts';
import { isPausedTenant } from '../../../shared/tasks/task/queue-store.ts';
import type { RunningTask } from '../../../shared/tasks/task/task.ts';
import type { ConsoleConnection, Stores } from '../connection.ts';
import type { Count, QueueFigures } from '../../model.ts';
import type { PartitionSight } from './flow.ts';
import { RecentFlow } from './flow.ts';
import type { SessionBook } from './session-book.ts';
import type { Source } from './sources.ts';
import { sourcesOf } from './sources.ts';

/** Entries of a hundred bytes: as many as half a read unit has room for. */
const FIRST_PAGE_ENTRIES = 30;
const NEXT_PAGE_ENTRIES = 100;
/** Enough for the heads of 24 partitions and of as many of groups, or for the former and some hundred entries more. */
const INDEX_UNITS = 26;
/** Half of these requests find nothing in a queue without groups, so they are rare there. */
const GROUPS_EVERY_MS = 30_000;
/** Oldest tasks that are read, by the batch, until their units are used up: rows may be large. */
const ROWS_PER_BATCH = 8;
const ROW_UNITS = 6;
/** The list of dead tasks has four parts. It changes slowly. */
const DEAD_PAGES = 4;
const DEAD_EVERY_MS = 10_000;
/** Maximum number of worker sessions that one poll reads. */
const SESSIONS_PER_LOOK = 4;

/** How far a poll read one source. */
interface Walk {
  readonly source: Source;
  readonly hints: ListedEntry[];
  after: unknown;
}

export class QueueReader {
  readonly queue: string;
  readonly #connection: ConsoleConnection;
  readonly #book: SessionBook;
  readonly #sources: readonly Source[];
  #groups: { readonly at: number; readonly areThere: boolean } | undefined;
  readonly #flow = new RecentFlow();
  #dead: { readonly at: number; readonly count: Count } | undefined;
  #figures: QueueFigures | undefined;
  #running: readonly RunningTask[] = [];
  #permits: readonly { readonly session: string; readonly token: number }[] = [];

  constructor(connection: ConsoleConnection, book: SessionBook, queue: string) {
    this.queue = queue;
    this.#connection = connection;
    this.#book = book;
    this.#sources = sourcesOf(queue, connection.options.shards);
  }

  /** As of the last poll; undefined before the first. */
  get figures(): QueueFigures | undefined {
    return this.#figures;
  }

  /** False if the last poll found no tasks in groups. */
  get mayHaveGroups(): boolean {
    return this.#groups?.areThere ?? true;
  }

  /** Running tasks that were among those read. */
  get running(): readonly RunningTask[] {
    return this.#running;
  }

  /** Permits of the queue's workers. */
  get permits(): readonly { readonly session: string; readonly token: number }[] {
    return this.#permits;
  }

  /** The next poll counts again. */
  forget(): void {
    this.#dead = undefined;
  }

  /** @param listed sessions of the queue's workers, which may have expired */
  async read(stores: Stores, listed: readonly string[]): Promise<QueueFigures> {
    const at = this.#connection.now();
    const [record, walks, dead, workers] = await Promise.all([
      stores.queues.get(this.queue),
      this.#readIndex(at),
      this.#countDead(stores, at),
      this.#readWorkers(stores, listed),
    ]);
    const hints = walks.flatMap((walk) => walk.hints);
    const due = hints.filter(({ readyAt }) => readyAt <= at);
    const open = due.filter(({ tenant }) => !isPausedTenant(record, tenant));
    const oldest = await this.#readOldest(due);
    const waiting = oldest.flatMap((task) =>
      task.state === 'ready' && !isPausedTenant(record, task.tenant) ? [task.readyAt] : [],
    );
    this.#running = oldest.filter((task) => task.state === 'running');
    const figures: QueueFigures = {
      queue: this.queue,
      at,
      dead,
      workers,
      isPaused: record?.isPaused === true,
      reason: record?.reason,
      pausedTenants: [...(record?.pausedTenants ?? [])].sort(),
      held: due.length - open.length,
      due: byPriority(walks, at),
      later: hints.length - due.length,
      isMore: walks.some(({ after }) => after !== undefined),
      checked: oldest.length,
      running: this.#running.length,
      oldestReadyAgeMs: waiting.length === 0 ? null : Math.max(0, at - Math.min(...waiting)),
      wanted: wantedNow(record, open, workers, at) ?? null,
      tookMs: record?.tookMs ?? null,
      flow: this.#flow.note(at, walks.map(sightOf)),
    };
    this.#figures = figures;
    return figures;
  }

  /** Reads the heads of all sources, then further pages of long ones, until the units are used up. */
  async #readIndex(now: number): Promise<readonly Walk[]> {
    const stores = this.#connection.open();
    const isDue = this.mayHaveGroups || now - (this.#groups?.at ?? 0) >= GROUPS_EVERY_MS;
    const walks = this.#sources.map((source): Walk => ({ source, hints: [], after: undefined }));
    const asked = walks.filter(({ source }) => isDue || !source.isOfGroups);
    await Promise.all(asked.map((walk) => readOn(stores, walk, FIRST_PAGE_ENTRIES)));
    if (isDue)
      this.#groups = {
        at: now,
        areThere: walks.some(({ source, hints }) => source.isOfGroups && hints.length > 0),
      };
    for (let rest = walks; stores.spent() < INDEX_UNITS;) {
      rest = rest.filter(({ after }) => after !== undefined);
      const [next, ...others] = rest;
      if (next === undefined) break;
      await readOn(stores, next, NEXT_PAGE_ENTRIES);
      rest = [...others, next];
    }
    return walks;
  }

  async #readOldest(due: readonly ListedEntry[]) {
    const stores = this.#connection.open();
    const oldest = due.toSorted((one, other) => one.readyAt - other.readyAt);
    const tasks = [];
    for (let from = 0; from < oldest.length && stores.spent() < ROW_UNITS; from += ROWS_PER_BATCH)
      tasks.push(...(await stores.tasks.getMany(oldest.slice(from, from + ROWS_PER_BATCH))));
    return tasks;
  }

  async #countDead({ operatorStore }: Stores, now: number): Promise<Count> {
    if (this.#dead !== undefined && now - this.#dead.at < DEAD_EVERY_MS) return this.#dead.count;
    let after: unknown;
    let count = 0;
    for (let page = 0; page < DEAD_PAGES; page++) {
      const { keys, next } = await operatorStore.pageOfDead(this.queue, after);
      count += keys.length;
      after = next;
      if (next === undefined) break;
    }
    this.#dead = { at: now, count: { count, isMore: after !== undefined } };
    return this.#dead.count;
  }

  async #readWorkers(stores: Stores, listed: readonly string[]): Promise<QueueFigures['workers']> {
    const semaphore = await readWhole(workersSemaphore(this.queue), stores.semaphores);
    this.#permits = semaphore?.holders ?? [];
    const holders = new Set(this.#permits.map(({ session }) => session));
    await this.#book.refresh(stores, [...holders, ...listed], { limit: SESSIONS_PER_LOOK });
    // An unread permit holder counts as live, because many listed sessions may have expired.
    const permits = [...holders].filter((id) => ['live', 'damaged', undefined].includes(this.#book.standing(id)));
    const others = listed.filter((id) => !holders.has(id) && this.#isWorker(id));
    return { live: permits.length + others.length, permits: permits.length, limit: semaphore?.limit ?? 0 };
  }

  #isWorker(id: string): boolean {
    return this.#book.standing(id) === 'live' && this.#book.line(id, [])?.name === workerName(this.queue);
  }
}

async function readOn({ tasks }: Stores, walk: Walk, limit: number): Promise<void> {
  const { hints, next } = await walk.source.read(tasks, walk.after, limit);
  walk.hints.push(...hints);
  walk.after = next;
}

function byPriority(walks: readonly Walk[], now: number): QueueFigures['due'] {
  const due = { high: 0, normal: 0, low: 0 };
  for (const { source, hints } of walks) due[source.priority] += hints.filter(({ readyAt }) => readyAt <= now).length;
  return due;
}

/** A truncated poll of a source without time order says nothing about arrivals and departures. */
function sightOf({ source, hints, after }: Walk): PartitionSight {
  const isMore = after !== undefined;
  return source.isOfGroups && isMore ? { hints: [], isMore } : { hints, isMore };
}
