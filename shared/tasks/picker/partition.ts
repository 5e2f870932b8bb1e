/**
 * `Partition` is one partition of an index as one worker reads it: oldest first, or in a lane of groups round robin.
 *
 * A page is read at once and used in parts: an entry costs a fiftieth of a read unit as part of a page, and a whole request by itself.
 * Each page continues from the last one, so entries that others hold hide nothing behind them. Once a heartbeat the oldest entries are
 * read again, because the tasks of crashed workers are there.
 *
 * Workers that share a partition read the same entries, so each tries a part of them first: see `share.ts`.
 */
import { shuffled } from '../../core/runtime/random.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Visit } from '../task/group-walk.ts';
import { GroupWalk } from '../task/group-walk.ts';
import type { Lane } from '../task/lane.ts';
import { laneName } from '../task/lane.ts';
import type { GroupEntry, GroupHint, ReadyEntry, ReadyPartition, TaskStore } from '../task/task-store.ts';
import { PRIORITIES } from '../task/task.ts';
import type { Share } from './share.ts';
import { BARREN_PAGES, FRESH_MS, LONGEST_BACKOFF_MS, PAGE_ENTRIES } from './tuning.ts';

export interface PartitionOptions {
  readonly place: ReadyPartition;
  readonly lane: Lane;
  /** Whether the worker serves its shard. */
  readonly isOwn: boolean;
  /** The part of the entries that the worker tries first. */
  readonly share: Share;
  /** Whether its lane is known to be in use. If not, a walk begins at the first position: one request instead of two. */
  readonly isInUse: boolean;
  readonly heartbeatMs: number;
}

export interface PartitionPorts {
  readonly tasks: Pick<TaskStore, 'page' | 'pageOfGroups'>;
  readonly runtime: Runtime;
  readonly onDamaged: (error: unknown) => void;
  /** Whether an operator has paused a tenant: none of its tasks is proposed. */
  readonly isPaused: (tenant: string | undefined) => boolean;
}

export type Hint = ReadyEntry & Partial<Pick<GroupHint, 'line'>>;

export interface PollQuery {
  readonly wanted: number;
  readonly isWorthReading: (hint: Hint) => boolean;
  /** Plans the visit to the tasks of one key, or of one line. */
  readonly visit: (partition: string, group: readonly GroupEntry[]) => Visit;
  /** Leaves out tasks of full keys. */
  readonly admit: (hints: readonly GroupHint[]) => Promise<readonly GroupHint[]>;
}

export class Partition {
  readonly name: string;
  readonly isOwn: boolean;
  readonly lane: Lane;
  /** 0 is the highest priority. */
  readonly rank: number;
  /** Whether its lane is known to be in use. */
  readonly isInUse: boolean;
  /** Whether it probably has more entries, and is worth a poll at once. */
  isHot = false;
  /** Whether its last round has left entries of others, and so has not shown that nothing is left. */
  hasLeft = false;
  /** Monotonic time from which it is worth a poll, if it is not hot. */
  dueAt = -Infinity;
  /** The poll in which it was last served, counted over all partitions. */
  servedAt = 0;
  readonly #options: PartitionOptions;
  readonly #ports: PartitionPorts;
  readonly #walk: GroupWalk;
  /** Entries that were read, and not used yet. They are dropped at a monotonic time. */
  #ahead: readonly Hint[] = [];
  #aheadUntil = 0;
  /** Everything before this position was read in this round. Undefined: the round begins. */
  #after: unknown;
  /** Where the last page began. */
  #pageAfter: unknown;
  #oldestReadAt = -Infinity;
  /** The oldest entries when they were last read beside the others, and how many such reads in a row have shown each. */
  #oldest: ReadonlyMap<string, number> = new Map();
  /** Of these, entries of others that have stayed: the worker tries them only if their worker has crashed. */
  #ofOthers: ReadonlySet<string> = new Set();
  #isEnd = false;
  /** Wall clock of the last read, which showed what was due by then. */
  #readUpTo = 0;
  /** How often the worker's share of this partition was doubled, because nothing else was left. */
  #widened = 0;
  /** Pages in a row that had only entries of others. */
  #barren = 0;
  /** Tenants and keys of which the last visit has left entries, and drawn none. The next one tries one of them. */
  readonly #passedBy = new Set<string>();
  /**
   * Entries of groups that the last polls have shown, and that were nothing to try.
   * In a slow store, `isWorthReading` forgets them between two polls.
   */
  readonly #fruitless = new Set<string>();
  /** Whether this round has found a task to try, whether it has left entries of others, and whether its last page was read. */
  #round = { hasFound: false, hasLeft: false, isRead: false };

  constructor(options: PartitionOptions, ports: PartitionPorts) {
    const { lane, place, isOwn, isInUse } = options;
    this.#options = options;
    this.#ports = ports;
    this.name = `${laneName(lane)} ${place.shard}`;
    this.isOwn = isOwn;
    this.isInUse = isInUse;
    this.lane = lane;
    this.rank = PRIORITIES.indexOf(lane.priority);
    this.#walk = new GroupWalk(place, ports.tasks, isInUse ? ports.runtime.random : undefined);
  }

  /** Returns entries worth reading, at most as many as wanted, and how many pages it has read for them. */
  async next(query: PollQuery): Promise<{ readonly hints: readonly Hint[]; readonly pages: number }> {
    const now = this.#now;
    this.#ahead = now < this.#aheadUntil ? this.#ahead.filter(query.isWorthReading) : [];
    const isOldestDue = this.isOwn && !this.lane.isOfGroups && this.#oldestReadAt + this.#options.heartbeatMs <= now;
    const isFirstRead = this.#oldestReadAt === -Infinity;
    let pages = 0;
    if (!this.hasAhead || isOldestDue) {
      pages = this.lane.isOfGroups ? await this.#walkOn(query) : await this.#readOn(query, isOldestDue);
      this.#aheadUntil = now + LONGEST_BACKOFF_MS;
    }
    // The tasks of crashed workers are at the front of the oldest entries. Workers that start together read the same ones at first.
    const hints =
      isOldestDue && !isFirstRead
        ? this.#ahead.slice(0, query.wanted)
        : this.#options.share.take(this.#ahead, query.wanted);
    const taken = new Set(hints);
    this.#ahead = this.#ahead.filter((hint) => !taken.has(hint));
    if (this.lane.isOfGroups) for (const { id } of hints) this.#fruitless.add(id);
    return { hints, pages };
  }

  /** Whether an entry is read only because its worker may have crashed. */
  isOfOthers(id: string): boolean {
    return this.#ofOthers.has(id) && !this.#options.share.has(id, this.#widened);
  }

  get hasMore(): boolean {
    return this.hasAhead || !this.#isEnd;
  }

  /** Whether it has entries that were read, and not used yet. */
  get hasAhead(): boolean {
    return this.#ahead.length > 0;
  }

  /** Notes how many tasks to try the last entries were. */
  found(tasks: number): void {
    if (tasks > 0) {
      this.#round.hasFound = true;
      this.#fruitless.clear();
    }
    if (this.#round.isRead && !this.hasAhead) this.#endRound();
  }

  /** Returns entries that were not tried to the front. */
  giveBack(hints: readonly Hint[]): void {
    if (hints.length === 0) return;
    this.#ahead = [...hints, ...this.#ahead];
    this.isHot = true;
  }

  /** Drops entries that were read ahead, because others have taken some of them: their page is read again. */
  readAgain(): void {
    if (!this.hasAhead || this.lane.isOfGroups) return;
    this.#ahead = [];
    this.#after = this.#pageAfter;
    this.#isEnd = this.#round.isRead = false;
  }

  /** Notes the fate of a claim. */
  claimed(isWon: boolean): void {
    if (!isWon) this.#widened = 0;
    this.#options.share.claimed(isWon);
  }

  /** How long it rests after a poll: the more pages that took, the longer, but at most a heartbeat. */
  restMs(pages: number): number {
    return Math.min(this.#options.heartbeatMs, FRESH_MS * Math.max(0, pages - 2));
  }

  async #readOn({ isWorthReading }: PollQuery, isOldestDue: boolean): Promise<number> {
    const { tasks, runtime, onDamaged } = this.#ports;
    const now = runtime.clock.now();
    // If the clock was set back, the query would end before the position to continue from, which the store refuses.
    if (now < this.#readUpTo) this.#after = undefined;
    this.#readUpTo = now;
    const isAside = isOldestDue && this.#after !== undefined;
    // What was read ahead of its last page is no longer worth reading.
    if (this.#round.isRead) this.#endRound();
    const after = isAside ? undefined : this.#after;
    const { hints, next } = await tasks.page(this.#options.place, { now, limit: PAGE_ENTRIES, after, onDamaged });
    if (after === undefined) this.#oldestReadAt = this.#now;
    const worth = hints.filter(isWorthReading);
    const stayed = isOldestDue ? this.#stayed(hints, worth) : undefined;
    if (isAside) {
      const first = new Set(stayed?.map(({ id }) => id));
      this.#ahead = [...(stayed ?? []), ...this.#ahead.filter(({ id }) => !first.has(id))];
      return 1;
    }
    this.#pageAfter = after;
    this.#after = next;
    this.#ahead = stayed ?? this.#shared(worth);
    this.#isEnd = this.#round.isRead = next === undefined;
    return 1;
  }

  /** Of the oldest entries, those of the share, and those of others that have stayed: a worker that has crashed holds any of them. */
  #stayed(hints: readonly Hint[], worth: readonly Hint[]): readonly Hint[] {
    const times = new Map(hints.map(({ id }) => [id, (this.#oldest.get(id) ?? 0) + 1]));
    const hasStayed = (id: string, reads: number): boolean => (times.get(id) ?? 0) > reads;
    const stayed = worth.filter(({ id }) => this.#isMine(id) || hasStayed(id, 1));
    // Of others' entries it tries a random few in full, and those that nobody has taken for two heartbeats: they may be in nobody's share.
    // The rest only if their worker has crashed.
    const isTried = (id: string): boolean => this.#isMine(id) || hasStayed(id, 2) || this.#isDrawn;
    this.#ofOthers = new Set(stayed.flatMap(({ id }) => (isTried(id) ? [] : [id])));
    this.#oldest = times;
    return stayed;
  }

  /** The entries of the share. After a few pages without any, the share is doubled. */
  #shared(worth: readonly Hint[]): readonly Hint[] {
    let mine = worth.filter(({ id }) => this.#isMine(id));
    this.#barren = mine.length > 0 || worth.length === 0 ? 0 : this.#barren + 1;
    if (this.#barren >= BARREN_PAGES) {
      this.#barren = 0;
      this.#widened++;
      mine = worth.filter(({ id }) => this.#isMine(id));
    }
    // The shard's own workers begin with the oldest entries.
    return this.isOwn && this.#widened === 0 ? mine : shuffled(this.#ports.runtime.random, mine);
  }

  /** A walk begins again with each group's oldest task. A fixed share would pass the same foreign tasks each time, so entries are drawn. */
  async #walkOn({ wanted, isWorthReading, visit, admit }: PollQuery): Promise<number> {
    const { runtime, onDamaged, isPaused } = this.#ports;
    const [tried, passed] = [new Set<string>(), new Set<string>()];
    const isTried = (hint: GroupHint): boolean => {
      if (!isWorthReading(hint) || this.#fruitless.has(hint.id)) return false;
      const group = hint.tenant ?? `key ${hint.limit?.key}`;
      const isIn = this.#options.share.isDrawn(this.#widened) || this.#passedBy.delete(group);
      (isIn ? tried : passed).add(group);
      if (!isIn) this.#round.hasLeft = true;
      return isIn;
    };
    const { hints, isFullyRead, pages } = await this.#walk.next({
      now: runtime.clock.now(),
      wanted,
      isPaused,
      isWorthReading: isTried,
      visit: (group) => visit(this.name, group),
      admit,
      onDamaged,
    });
    this.#ahead = hints;
    for (const group of passed) if (!tried.has(group)) this.#passedBy.add(group);
    // A tenant's tasks beyond its share are skipped, so only a round without a find shows that nothing is left.
    this.#isEnd = this.#round.isRead = isFullyRead && hints.length === 0;
    if (this.#isEnd) this.#round.hasFound = false;
    return pages;
  }

  get #isDrawn(): boolean {
    return this.#options.share.isDrawn(this.#widened, 2);
  }

  #isMine(id: string): boolean {
    const isMine = this.#options.share.has(id, this.#widened);
    if (!isMine) this.#round.hasLeft = true;
    return isMine;
  }

  /** If a round has found no task to try, but has left entries of others, the worker tries twice as many of them in the next one. */
  #endRound(): void {
    if (!this.#round.hasFound && this.#round.hasLeft) {
      this.#isEnd = false;
      this.#widened++;
    }
    this.hasLeft = this.#round.hasLeft;
    this.#round = { hasFound: false, hasLeft: false, isRead: false };
    this.#fruitless.clear();
  }

  get #now(): number {
    return this.#ports.runtime.clock.monotonic();
  }
}
