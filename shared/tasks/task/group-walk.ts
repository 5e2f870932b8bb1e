/**
 * Groups: the due tasks of one key and limit stand together, and so do the tasks of one tenant. Workers walk by.
 *
 * Groups are in their own index, ordered by tenant, by key, and then by due time. A worker walks through it in a circle: it takes the
 * few oldest tasks of one tenant, skips the rest of them to the next tenant, and starts again after the last. It also skips the tasks of
 * a key that is full, tasks that are not due, and tasks behind the first one of their line. A skip is one query, however many entries it
 * passes over.
 * The worker begins at a random position, different for each worker. There are no counters and nothing is held back:
 * a tenant or a full key costs no write, and one without tasks is free.
 *
 * Guarantees
 *   - With n tenants that have due tasks in a shard, a worker reaches a tenant's oldest task
 *     after at most n visits, for any backlog of the others:
 *     each visit takes at most `QUANTUM` tasks. A worker that has lost many claims to others of its shard reaches it after at most 2n.
 *   - A full key delays only its own tasks, however many of them wait.
 *
 * Does not guarantee
 *   - Order between groups, or between the tasks of one group in different shards.
 *     Priorities go before groups: a high priority of any tenant goes first.
 *   - Anything between tasks with and without a tenant: workers treat both alike. A key without a tenant is like a tenant of its own, but
 *     a visit may take as many of its tasks as it allows.
 *     For a fair queue, every task must name its tenant.
 */
import type { Random } from '../../core/runtime/random.ts';
import type { LinePlace } from './line.ts';
import type { GroupEntry, GroupHint, ReadyPartition, TaskStore } from './task-store.ts';

/** Tasks of one tenant taken in one visit: enough to be worth a poll, few enough to reach the next tenant soon. */
export const QUANTUM = 4;
const PAGE_LIMIT = 50;
/** Maximum pages to read in one round while all their tasks are held by others or not due. */
const PAGES_LIMIT = 40;

export interface Walked {
  readonly hints: readonly GroupHint[];
  /** Whether there is no entry at all. */
  readonly isEmpty: boolean;
  /** Whether the round is complete. */
  readonly isFullyRead: boolean;
  /** Pages read in this round so far. */
  readonly pages: number;
}

export interface WalkQuery {
  readonly now: number;
  /** Number of entries wanted; slightly more may be returned. */
  readonly wanted: number;
  /** Tasks of one tenant taken per visit. Default: `QUANTUM`. */
  readonly quantum?: number;
  /** The most tasks of one key and limit taken per visit. Default: a page. */
  readonly ofGroup?: ((hint: GroupHint) => number) | undefined;
  /** Default: every entry. */
  readonly isWorthReading?: (hint: GroupHint) => boolean;
  /** Called with each page. */
  readonly onPage?: ((entries: readonly GroupEntry[]) => void) | undefined;
  /** Returns a turn of a line that has come, if it is known well enough not to be read. Default: unknown. */
  readonly turnOf?: ((place: LinePlace) => number | undefined) | undefined;
  /** Returns what to read of an entry's group although its key is full; undefined: the key may have capacity. Default: undefined. */
  readonly lookAt?: ((entry: GroupEntry) => Look | undefined) | undefined;
  /** Returns the entries of a page that are worth reading after all; the walk goes on for others. Default: all. */
  readonly admit?: ((entries: readonly GroupEntry[]) => Promise<ReadonlySet<GroupEntry>>) | undefined;
  /** Called for each foreign entry. */
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

/** What a worker reads of a full key's tasks, because crashed workers may still run some of them. */
export interface Look {
  /** The number of entries to pass before the walk skips the rest. */
  readonly left: number;
  /** Entries up to here were passed before. Undefined: none. */
  readonly from: string | undefined;
  /** Notes that an entry was passed. @returns whether it is worth reading */
  pass(entry: GroupEntry): boolean;
  /** Notes that no entries follow. */
  end(): void;
}

/** One worker's round-robin walk through the groups of one partition. */
export class GroupWalk {
  readonly #partition: ReadyPartition;
  readonly #tasks: Pick<TaskStore, 'pageOfGroups'>;
  /** Everything before this position has been visited in this round. */
  #position: string;
  /** Start of a round that needs more than one call, because it has found nothing yet. */
  #round: { readonly start: string; hasWrapped: boolean; seen: number; pages: number } | undefined;
  /** The look at the group that was visited last. */
  #looking: { readonly end: string; readonly look: Look } | undefined;

  /** @param random chooses the start. Default: the first position, for callers that only count */
  constructor(partition: ReadyPartition, tasks: Pick<TaskStore, 'pageOfGroups'>, random?: Random) {
    this.#partition = partition;
    this.#tasks = tasks;
    this.#position = random === undefined ? FIRST_PLACE : anyPlace(random);
  }

  /**
   * Returns the next entries worth reading, some of each tenant. It returns fewer than wanted after a full round, or after too many entries
   * held by other workers; then the round continues with the next call. `isFullyRead` distinguishes the two.
   * Entries that other workers hold, that are not due, or whose key is full, do not count towards a tenant's share.
   * The tasks of one group come in their order.
   */
  async next({
    now,
    wanted,
    quantum = QUANTUM,
    ofGroup = () => PAGE_LIMIT,
    isWorthReading = () => true,
    onPage: onRead = () => undefined,
    turnOf = () => undefined,
    lookAt = () => undefined,
    admit = (entries) => Promise.resolve(new Set(entries)),
    onDamaged,
  }: WalkQuery): Promise<Walked> {
    const found: { readonly hint: GroupHint; readonly turn: number }[] = [];
    const share = new Map<string, number>();
    /** By tenant: tasks that were found. */
    const turns = new Map<string, number>();
    const round = this.#round ?? { start: this.#position, hasWrapped: false, seen: 0, pages: 0 };
    const { start } = round;
    let isFullyRead = false;
    /** The end of a key's tasks, if the walk has stopped among them. */
    let open: string | undefined;
    for (let page = 0; page < PAGES_LIMIT && found.length < wanted; page++) {
      const { entries, next } = await this.#tasks.pageOfGroups(this.#partition, {
        after: this.#position,
        limit: PAGE_LIMIT,
        onDamaged,
      });
      const isLast = next === undefined;
      onRead(entries);
      const onPage: GroupEntry[] = [];
      round.pages++;
      // Skips a page of foreign entries.
      if (entries.length === 0 && next !== undefined) this.#position = next;
      round.seen += entries.length;
      /** Leaves out the entries of full keys, which do not count towards their tenant's share. */
      const settle = async (): Promise<void> => {
        const asked = onPage.splice(0);
        const admitted = asked.length === 0 ? undefined : await admit(asked);
        for (const entry of asked) {
          const { hint, tenantEnd } = entry;
          const turn = turns.get(tenantEnd) ?? 0;
          if (admitted?.has(entry) === true) {
            found.push({ hint, turn });
            turns.set(tenantEnd, turn + 1);
          } else if (hint.tenant !== undefined) share.set(tenantEnd, (share.get(tenantEnd) ?? 0) - 1);
        }
      };
      let isCut = false;
      for (const entry of entries) {
        const { hint, place, end, tenantEnd } = entry;
        isCut = round.hasWrapped && place > start;
        if (isCut) break;
        if (this.#looking !== undefined && this.#looking.end !== end) this.#endLook();
        if (open !== end) open = undefined;
        // Entries of a group that was skipped a moment ago.
        if (place < this.#position) continue;
        const isShareTaken = (): boolean => hint.tenant !== undefined && (share.get(tenantEnd) ?? 0) >= quantum;
        if (isShareTaken()) await settle();
        const [ofTenant, taken] = [share.get(tenantEnd) ?? 0, share.get(end) ?? 0];
        // Skips the rest of a tenant whose share is taken.
        if (isShareTaken()) {
          this.#position = tenantEnd;
          continue;
        }
        const look = lookAt(entry);
        const turn = hint.line && turnOf(hint.line);
        const isBehind = hint.line !== undefined && (taken > 0 || hint.line.ticket > (turn ?? Infinity));
        const isFull = look === undefined ? hint.limit !== undefined && taken >= ofGroup(hint) : look.left <= 0;
        // Skips the rest of a group whose key is full, or that has no more due tasks, and all of a line but its first task.
        if (isFull || isBehind || hint.readyAt > now) {
          this.#looking = undefined;
          this.#position = end;
          continue;
        }
        if (look === undefined) {
          this.#position = place;
          if (!isWorthReading(hint)) continue;
          // An entry before the turn is of a task that has just ended.
          if (hint.line === undefined || hint.line.ticket >= (turn ?? 0)) share.set(end, taken + 1);
          if (hint.tenant === undefined) open = end;
          else share.set(tenantEnd, ofTenant + 1);
          onPage.push(entry);
          continue;
        }
        this.#looking = { end, look };
        if (look.from !== undefined && place <= look.from) {
          this.#position = look.from;
          continue;
        }
        this.#position = place;
        if (look.pass(entry)) found.push({ hint, turn: 0 });
      }
      if (isLast && !isCut) this.#endLook();
      await settle();
      isFullyRead =
        round.hasWrapped && (isLast || entries.some(({ place }) => place > start) || this.#position >= start);
      if (isFullyRead) break;
      if (!isLast) continue;
      round.hasWrapped = true;
      this.#position = FIRST_PLACE;
      isFullyRead = start === FIRST_PLACE;
      if (isFullyRead) break;
    }
    // The next visit begins again with the oldest tasks of the key.
    if (open !== undefined) this.#position = open;
    this.#round = isFullyRead || found.length > 0 ? undefined : round;
    // Without any group, the next call begins at the first position, and so takes one request.
    const isEmpty = round.hasWrapped && round.seen === 0;
    if (isEmpty) this.#position = FIRST_PLACE;
    // First one task of each group, then a second one of each, so that a caller that takes only some of them is fair, too.
    found.sort((one, other) => one.turn - other.turn);
    return { hints: found.map(({ hint }) => hint), isEmpty, isFullyRead, pages: round.pages };
  }

  #endLook(): void {
    this.#looking?.look.end();
    this.#looking = undefined;
  }
}

function anyPlace(random: Random): string {
  return Math.floor(random.next() * HASHES)
    .toString(16)
    .padStart(HASH_DIGITS, '0');
}

/** Positions begin with this many digits of a hash of the tenant or key, so that adjacent groups are unrelated. */
export const HASH_DIGITS = 8;
const HASHES = 16 ** HASH_DIGITS;
/** Sorts before all positions. DynamoDB allows no empty text in a condition on a key. */
export const FIRST_PLACE = ' ';
