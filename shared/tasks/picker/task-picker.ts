/**
 * Picks the next task for a worker to claim. Start here; everything else in this folder serves this loop:
 *
 *     poll a partition ──▶ skip what is known to wait ──▶ read the rows ──▶ hand out candidates ──▶ the worker claims
 *
 * A *partition* is one queue, priority and shard of an index, once for plain tasks and once for tasks with a tenant or key (a *lane*).
 * A *poll* reads one page of it: ids only. Most polls find nothing, so most of this code decides when not to poll.
 *
 * What is polled next: `partitions.ts`. Which part of it a worker tries first: `partition.ts` and `share.ts`.
 * What is skipped: tasks that run elsewhere, for 2 s or half of the time that they have run (`rows.ts`); tasks of a full key, and of a line
 * whose turn has not come, for a quarter of the time for which nothing has changed (`waits.ts`, `lines.ts`); paused tenants; and the parts
 * of other workers.
 * What goes first: the next task of a key or line whose task has just ended here; tasks of crashed workers; then the oldest.
 * Tasks that were announced are read by their ids for a slot that would otherwise rest: at once, or when they are due.
 *
 * Where to change what: priorities are `PRIORITIES` in `../task/task.ts`, and `partitions.ts` names the lowest; a key's limit is judged in
 * `../task/key-limit.ts` and remembered in `waits.ts`; how often anything is polled is in `partitions.ts`, with numbers of `tuning.ts`.
 *
 * Polling is not needed for safety: reads may be stale, and a wrong guess costs a refused claim. Two rules are: a task that is checked out
 * here is not handed out again, and one whose write is undecided never comes back. Three mistakes cost more, and each has happened: not
 * reading a full key's running tasks (if their worker has crashed, the key stands still for ever), counting the tasks of full keys as a
 * tenant's share (its other keys starve), and exiting before the last partition was polled (tasks wait for the next tick).
 */
import { waiterIdOf } from '../task/batch.ts';
import { QUANTUM } from '../task/group-walk.ts';
import { laneName } from '../task/lane.ts';
import type { ReadyTask, TaskKey } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import type { Candidate, Found, Outcome } from './candidate.ts';
import type { Partition } from './partition.ts';
import type { LanePorts, PartitionSettings } from './partitions.ts';
import { Partitions } from './partitions.ts';
import type { RowsPorts, RowsSettings } from './rows.ts';
import { Rows } from './rows.ts';
import { FRESH_MS, HELD_RECHECK_MS, IDLE_AFTER_MS, MIN_POLL_GAP_MS, PAGE_ENTRIES, jittered } from './tuning.ts';

export interface PickerSettings extends RowsSettings, PartitionSettings {}

export interface PickerPorts extends RowsPorts, LanePorts {
  /** Notifies resting slots that there is something to find now. */
  readonly onWorthPolling: () => void;
}

/** A checked-out candidate that waits for a slot. */
interface Buffered {
  readonly found: Found;
  readonly from: Partition | undefined;
  readonly staleAt: number;
}

export class TaskPicker {
  readonly #settings: PickerSettings;
  readonly #ports: PickerPorts;
  readonly #rows: Rows;
  readonly #partitions: Partitions;
  #buffer: Buffered[] = [];
  #announced: TaskKey[] = [];
  /** Announced tasks that are due later, by id, and when each is read again. */
  readonly #later = new Map<string, TaskKey & { readonly readAt: number }>();
  /** Rows to read at once: doubled when slots use them up in time, halved when they do not. */
  #batch = 1;
  #foundAt = -Infinity;
  /** Slots that wait for a refill. */
  #waiting = 0;
  #refilling: Promise<void> | undefined;
  #runnersReadAt: number;
  /** When the waiting tasks of full keys were last tried, and a partition polled that was due, whatever is at hand. */
  #asideAt = -Infinity;

  constructor(session: string, settings: PickerSettings, ports: PickerPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#rows = new Rows(session, settings, ports);
    this.#partitions = new Partitions(settings, ports, this.#rows.lanes);
    this.#runnersReadAt = this.#now;
  }

  /** Returns the next candidate; undefined if other workers hold all due tasks, or none is due. */
  async next(): Promise<Candidate | undefined> {
    this.#dropStale();
    if (this.#buffer.length === 0 || this.#asideAt + FRESH_MS < this.#now) await this.#refillOnce();
    for (;;) {
      const next = this.#buffer.shift();
      if (next === undefined) return undefined;
      const { found, from } = next;
      const { id, links, tenant } = found.task;
      const isPaused = found.kind !== 'adopted' && this.#ports.isPaused(tenant);
      if (!isPaused && (found.kind !== 'ready' || this.#rows.keys.hasRoom(links?.concurrency))) {
        this.#rows.keys.enter(links?.concurrency, id);
        return { ...found, end: (outcome) => this.#end(found, from, outcome) };
      }
      this.#rows.putBack(found.task);
      if (found.kind === 'ready') this.#rows.keys.wait(links?.concurrency, found.task, next.staleAt);
    }
  }

  /** Tasks named by the worker's event are tried before all others: the index may not show them yet. */
  async beginWith(tasks: readonly TaskKey[]): Promise<void> {
    this.#add((await this.#rows.choose(tasks)).found);
  }

  /** Notes that tasks were enqueued. @param ids their ids, if known. Without ids, own partitions in use are worth a poll */
  expectTasks(ids: readonly string[] = []): void {
    this.#partitions.change();
    const known = new Set(this.#announced.map(({ id }) => id));
    const { queue } = this.#settings;
    const all = [...this.#announced, ...ids.filter((id) => !known.has(id)).map((id) => ({ queue, id }))];
    if (ids.length > 0 && all.length <= PAGE_ENTRIES) this.#announced = all;
    else this.#partitions.expect();
  }

  /** Notes that a task here has made others due. */
  expectFollowers(followers: readonly TaskKey[] = []): void {
    this.expectTasks(followers.flatMap(({ queue, id }) => (queue === this.#settings.queue ? [id] : [])));
  }

  /** Returns how long a slot without a candidate rests, unless something wakes it. */
  get restMs(): number {
    const laterAt = Math.min(...[...this.#later.values()].map(({ readAt }) => readAt));
    const restMs = this.#announced.length > 0 ? 0 : Math.min(this.#partitions.dueAt, laterAt) - this.#now;
    return Math.min(this.#settings.pollMs, Math.max(restMs, jittered(MIN_POLL_GAP_MS, this.#ports.runtime.random)));
  }

  /** Whether no candidate is checked out, and polls have found nothing since the last task ended. */
  get isDrained(): boolean {
    const isQuiet = this.#rows.areNone && this.#announced.length === 0 && !this.#rows.keys.areExpecting;
    return isQuiet && this.#partitions.best === undefined && this.#partitions.unseen === undefined;
  }

  async #end({ task, kind }: Found, from: Partition | undefined, outcome: Outcome): Promise<void> {
    const concurrency = task.links?.concurrency;
    this.#rows.keys.leave(concurrency, task.id);
    this.#rows.putBack(task);
    if (outcome !== 'unfit') this.#partitions.change();
    switch (outcome) {
      case 'ended':
      case 'settled':
      case 'kept':
        from?.claimed(true);
        break;
      case 'expired':
        this.#rows.skip(task, HELD_RECHECK_MS);
        break;
      case 'undecided':
        this.#rows.skip(task, Infinity);
        break;
      case 'unfit':
        this.#rows.skip(task, IDLE_AFTER_MS);
        break;
      case 'contended':
        // Workers that lose tasks of a key or line compete for its slots, which a part of the tasks does not change.
        if (concurrency === undefined && task.links?.line === undefined) from?.claimed(false);
        this.#rows.keys.wait(concurrency, task);
        this.#rows.skip(task, HELD_RECHECK_MS);
        break;
      case 'untried':
        break;
      default:
        if (concurrency !== undefined) this.#rows.keys.seeFull(concurrency, outcome.full);
        if (kind === 'ready') await this.#rows.turnAway(task);
    }
    if (outcome === 'ended' || outcome === 'settled' || outcome === 'expired') await this.#follow(task, from, outcome);
    // Slots rest until the last end is written. Now the worker may exit.
    if (this.#settings.exitsWhenEmpty && this.#rows.areNone) this.#ports.onWorthPolling();
  }

  /** The end of a task may have made others due: the next of its key or line, which is tried at once if it is known, and a parent. */
  async #follow(
    { id, priority, links = {} }: Found['task'],
    from: Partition | undefined,
    outcome: Outcome,
  ): Promise<void> {
    const { concurrency, line, batch } = links;
    const { keys, lines } = this.#rows;
    // A postponed task keeps its turn, and its batch waits for it. Its row says when it is due: the index may lag, and workers that have
    // just met it running leave it alone for a moment.
    const isOver = outcome !== 'settled';
    if (!isOver) this.expectTasks([id]);
    const ofKey = concurrency === undefined ? [] : [keys.ended(concurrency)];
    const ofLine = line === undefined || !isOver ? [] : [await lines.ended(line)];
    const next = [...ofKey, ...ofLine];
    const known = next.flatMap(({ fresh }) => fresh ?? []).filter((task) => this.#rows.checkOut(task));
    const read = async () => (await this.#rows.choose(next.flatMap(({ unread }) => unread))).found;
    const found = known.length > 0 ? known.map((task) => ({ kind: 'ready', task }) as const) : await read();
    // All tasks of a line stand in one partition, and so do those of a key of which one may run.
    const place = from?.lane.isOfGroups === true && (line !== undefined || concurrency?.limit === 1) ? from : undefined;
    this.#buffer = [...found.map((one) => this.#buffered(freed(one, concurrency?.key), place)), ...this.#buffer];
    const isMissed = found.length === 0 && (concurrency !== undefined || line !== undefined);
    if (isMissed && place !== undefined) place.isHot = true;
    else if (isMissed) this.#partitions.expect(priority);
    if (isOver && batch !== undefined) this.expectTasks([waiterIdOf(batch)]);
    if (isMissed || found.length > 0 || batch !== undefined) this.#ports.onWorthPolling();
    const ahead = known.length > 0 ? await read() : [];
    this.#buffer.push(...ahead.map((one) => this.#buffered(one, place)));
  }

  async #refillOnce(): Promise<void> {
    this.#waiting++;
    this.#refilling ??= this.#refill().finally(() => {
      this.#refilling = undefined;
    });
    await this.#refilling.finally(() => {
      this.#waiting--;
    });
  }

  /** Polls until one shows something to try, or none is worth a poll. */
  async #refill(): Promise<void> {
    // Slots that ask at the same time share one poll.
    await Promise.resolve();
    this.#rows.forget();
    this.#partitions.update();
    if (this.#runnersReadAt + this.#settings.heartbeatMs <= this.#now) {
      this.#runnersReadAt = this.#now;
      this.#add(await this.#rows.abandoned());
    }
    if (this.#asideAt + FRESH_MS < this.#now) {
      this.#asideAt = this.#now;
      const priority = this.#buffer[0]?.found.task.priority;
      // One of them, and all of a higher priority that are due by now: a slow store must not make the first due again before the last.
      const due = (isAbove: boolean) => this.#partitions.due(priority, isAbove, this.#asideAt);
      for (let one = due(false); one !== undefined; one = due(true)) await this.#poll(one);
      this.#add((await this.#rows.choose(await this.#rows.keys.retry(this.#waiting))).found);
    }
    // Polls whose rows others have taken are followed by larger ones.
    let times = 1;
    for (let polls = 0; polls < PAGE_ENTRIES && this.#buffer.length === 0; polls++) {
      const partition = this.#partitions.next(this.#rows.areNone);
      if (partition === undefined) break;
      if (await this.#poll(partition, times)) times *= 2;
    }
    if (this.#buffer.length === 0) await this.#readAnnounced();
  }

  /** @returns whether it has read rows */
  async #poll(partition: Partition, times = 1): Promise<boolean> {
    const { keys, lines } = this.#rows;
    const { isOwn } = partition;
    const polled = this.#partitions.poll(partition);
    const most = isOwn ? Math.max(this.#waiting, this.#batch) : QUANTUM;
    const { hints, pages } = await partition.next({
      wanted: Math.min(PAGE_ENTRIES, times * most),
      isWorthReading: (hint) => this.#rows.isWorthReading(hint),
      visit: (name, group) => (group[0]?.hint.line === undefined ? keys.visit(name, group) : lines.visit(group)),
      admit: (asked) => keys.admit(asked),
    });
    // A worker with work of its own takes only tasks of crashed workers from others.
    const isHelping = isOwn || this.#partitions.best?.isOwn !== true;
    if (hints.length > 0) this.#rows.lanes.add(laneName(partition.lane));
    const { found, taken } = await this.#rows.choose(hints, ({ id }) => !isHelping || partition.isOfOthers(id));
    partition.found(found.length);
    // One that has nothing else to do goes on with what it has read.
    const mayHelp = taken < hints.length || (this.#settings.exitsWhenEmpty && isHelping && partition.hasAhead);
    partition.isHot = partition.hasMore && (isOwn || hints.length === 0 || mayHelp);
    if (taken > 1) partition.readAgain();
    this.#add(found.slice(0, most), partition);
    this.#giveBack(found.slice(most), partition);
    polled({ isEmpty: found.length === 0 && !partition.isHot && !partition.hasLeft, pages });
    return hints.length > 0;
  }

  /** In the order of the index: by priority, and round robin among tenants. */
  async #readAnnounced(): Promise<void> {
    for (const { queue, id, readAt } of this.#later.values()) {
      if (readAt > this.#now) continue;
      this.#later.delete(id);
      this.#announced.push({ queue, id });
    }
    const { found, later } = await this.#rows.choose(this.#announced.splice(0, PAGE_ENTRIES));
    if (!this.#settings.exitsWhenEmpty) for (const task of later) this.#readLater(task);
    const turns = new Map<string | undefined, number>();
    const ordered = found.map((one) => {
      const turn = turns.get(one.task.tenant) ?? 0;
      turns.set(one.task.tenant, turn + 1);
      return { one, rank: PRIORITIES.indexOf(one.task.priority), turn };
    });
    ordered.sort((one, other) => one.rank - other.rank || one.turn - other.turn);
    this.#add(ordered.map(({ one }) => one));
  }

  /** Of many, the first ones only: polls find all. Workers that have heard the same read the row one after another. */
  #readLater({ queue, id, readyAt }: ReadyTask): void {
    if (this.#later.size >= PAGE_ENTRIES) return;
    const { clock, random } = this.#ports.runtime;
    this.#later.set(id, { queue, id, readAt: this.#now + readyAt - clock.now() + random.next() * FRESH_MS });
  }

  #add(found: readonly Found[], from?: Partition): void {
    if (found.length === 0) return;
    if (found.length >= this.#batch && this.#now < this.#foundAt + 2 * MIN_POLL_GAP_MS)
      this.#batch = Math.min(PAGE_ENTRIES, 2 * this.#batch);
    this.#foundAt = this.#now;
    this.#partitions.found();
    const rankOf = ({ found: { task } }: Buffered): number => PRIORITIES.indexOf(task.priority);
    this.#buffer.push(...found.map((one) => this.#buffered(one, from)));
    this.#buffer.sort((one, other) => rankOf(one) - rankOf(other));
  }

  #buffered(found: Found, from?: Partition): Buffered {
    return { found, from, staleAt: this.#now + FRESH_MS };
  }

  /** Gives candidates back that slots did not take while they were fresh. */
  #dropStale(): void {
    const stale = this.#buffer.filter(({ staleAt }) => staleAt < this.#now);
    if (stale.length === 0) return;
    this.#buffer = this.#buffer.filter(({ staleAt }) => staleAt >= this.#now);
    this.#batch = Math.max(1, Math.floor(this.#batch / 2));
    for (const { found, from } of stale) this.#giveBack([found], from);
  }

  #giveBack(found: readonly Found[], from: Partition | undefined): void {
    for (const { kind, task } of found) {
      this.#rows.putBack(task);
      if (kind === 'ready') this.#rows.keys.wait(task.links?.concurrency, task);
    }
    from?.giveBack(found.map(({ task }) => task));
  }

  get #now(): number {
    return this.#ports.runtime.clock.monotonic();
  }
}

/** A task of the key that has just freed a slot here needs no read of the key's row. */
function freed(found: Found, key: string | undefined): Found {
  const isOfKey = key !== undefined && found.task.links?.concurrency?.key === key;
  return found.kind === 'ready' && isOfKey ? { ...found, expectsCapacity: true } : found;
}
