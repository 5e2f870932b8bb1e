/**
 * Groups: the due tasks of one key and limit stand together, and so do the tasks of one tenant. Workers walk by.
 *
 * Groups are in their own index, ordered by tenant, by key, and then by due time. A worker walks through it in a circle: it takes the
 * few oldest tasks of one tenant, skips the rest of them to the next tenant, and starts again after the last. It also skips the rest of a
 * group whose visit is over, and tasks that are not due. A skip is one query, regardless of the number of entries.
 * The worker begins at a random position, different for each worker. There are no counters and nothing is held back:
 * a tenant or a full key costs no write, and one without tasks is free.
 *
 * Guarantees
 *   - With n tenants that have due tasks in a shard, a worker reaches a tenant's oldest task
 *     after at most n visits, for any backlog of the others:
 *     each visit takes at most `QUANTUM` tasks. A worker that has lost many claims to others of its shard reaches it after at most 2n.
 *   - A full key delays only its own tasks.
 *
 * Does not guarantee
 *   - Order between groups, or between the tasks of one group in different shards.
 *     Priorities go before groups: a high priority of any tenant goes first.
 *   - Anything between tasks with and without a tenant: workers treat both alike. A key without a tenant counts as a tenant, but
 *     a visit may take as many of its tasks as it allows.
 *     For a fair queue, every task must name its tenant.
 */
import type { Random } from '../../core/runtime/random.ts';
import type { GroupEntry, GroupHint, ReadyPartition, TaskStore } from './task-store.ts';

/** Tasks of one tenant taken in one visit: enough to be worth a poll, few enough to reach the next tenant soon. */
export const QUANTUM = 4;
const PAGE_LIMIT = 50;
/** Maximum pages to read in one call while all of their tasks have to wait. */
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

/** A visit to one group. The walk counts down, and notes how far it came. */
export interface Visit {
  /** The number of entries to take before the walk skips the rest. */
  left: number;
  /** Entries up to here are passed over. Undefined: none. */
  after?: string | undefined;
  /** Whether it is for what the entries show, not for tasks to run: they need no admission, and do not count towards a tenant's share. */
  readonly isLook?: boolean;
}

export interface WalkQuery {
  readonly now: number;
  /** Number of entries wanted; slightly more may be returned. */
  readonly wanted: number;
  /** Tasks of one tenant taken per visit. Default: `QUANTUM`. */
  readonly quantum?: number;
  /** Plans the visit to a group, given its entries on this page. Default: all of a key, and one task of a line. */
  readonly visit?: ((group: readonly GroupEntry[]) => Visit) | undefined;
  /** Selects the allowed entries of a page. The others do not count towards a tenant's share. Default: all. */
  readonly admit?: ((hints: readonly GroupHint[]) => Promise<readonly GroupHint[]>) | undefined;
  /** Whether all of a tenant's entries are passed over: one query more at most. Default: of none. */
  readonly isPaused?: ((tenant: string | undefined) => boolean) | undefined;
  /** Default: every entry. */
  readonly isWorthReading?: (hint: GroupHint) => boolean;
  /** Called for each foreign entry. */
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

/** One worker's round-robin walk through the groups of one partition. */
export class GroupWalk {
  readonly #partition: ReadyPartition;
  readonly #tasks: Pick<TaskStore, 'pageOfGroups'>;
  /** Everything before this position has been visited in this round. */
  #position: string;
  /** A round that needs more than one call, because it has found nothing yet. */
  #round: { readonly start: string; hasWrapped: boolean; seen: number; pages: number } | undefined;

  /** @param random chooses the start. Default: the first position, for callers that only count */
  constructor(partition: ReadyPartition, tasks: Pick<TaskStore, 'pageOfGroups'>, random?: Random) {
    this.#partition = partition;
    this.#tasks = tasks;
    this.#position = random === undefined ? FIRST_PLACE : anyPlace(random);
  }

  /**
   * Returns the next entries worth reading, some of each tenant. It returns fewer than wanted after a full round, or after too many pages
   * without one; then the round continues with the next call. `isFullyRead` distinguishes the two.
   * Entries that are not worth reading or not due do not count towards a tenant's share.
   */
  async next({
    now,
    wanted,
    quantum = QUANTUM,
    visit: plan = ([first]) => ({ left: first?.hint.line === undefined ? Infinity : 1 }),
    admit = (hints) => Promise.resolve(hints),
    isPaused = () => false,
    isWorthReading = () => true,
    onDamaged,
  }: WalkQuery): Promise<Walked> {
    const found: { readonly hint: GroupHint; readonly turn: number }[] = [];
    /** By the end of a tenant's entries: how many were found. */
    const share = new Map<string, number>();
    /** Entries that were not found yet, because they must be admitted. */
    let asked: GroupEntry[] = [];
    const shareOf = (tenantEnd: string): number =>
      (share.get(tenantEnd) ?? 0) + asked.filter((one) => one.tenantEnd === tenantEnd).length;
    const settle = async (): Promise<void> => {
      const admitted = new Set(asked.length === 0 ? [] : await admit(asked.map(({ hint }) => hint)));
      for (const { hint, tenantEnd } of asked) {
        if (!admitted.has(hint)) continue;
        const turn = share.get(tenantEnd) ?? 0;
        share.set(tenantEnd, turn + 1);
        found.push({ hint, turn });
      }
      asked = [];
    };
    const round = this.#round ?? { start: this.#position, hasWrapped: false, seen: 0, pages: 0 };
    const { start } = round;
    let isFullyRead = false;
    let open: { readonly end: string; readonly visit: Visit } | undefined;
    for (let page = 0; page < PAGES_LIMIT && found.length < wanted && !isFullyRead; page++) {
      const query = { after: this.#position, limit: PAGE_LIMIT, onDamaged };
      const { entries, next } = await this.#tasks.pageOfGroups(this.#partition, query);
      round.pages++;
      round.seen += entries.length;
      // Skips a page of foreign entries.
      if (entries.length === 0 && next !== undefined) this.#position = next;
      for (const entry of entries) {
        const { hint, place, end, tenantEnd } = entry;
        if (round.hasWrapped && place > start) break;
        // Entries of a group that was skipped a moment ago.
        if (place < this.#position) continue;
        if (isPaused(hint.tenant)) {
          this.#position = tenantEnd;
          continue;
        }
        if (open?.end !== end) open = { end, visit: plan(entries.filter((other) => other.end === end)) };
        const { visit } = open;
        const isShareTaken = (): boolean => hint.tenant !== undefined && shareOf(tenantEnd) >= quantum;
        if (isShareTaken()) await settle();
        if (isShareTaken()) this.#position = tenantEnd;
        else if (visit.left <= 0 || hint.readyAt > now) this.#position = end;
        else if (visit.after !== undefined && place <= visit.after) this.#position = visit.after;
        else {
          this.#position = place;
          if (!isWorthReading(hint)) continue;
          visit.left--;
          visit.after = place;
          if (visit.isLook === true) found.push({ hint, turn: 0 });
          else asked.push(entry);
        }
      }
      await settle();
      const isLast = next === undefined;
      isFullyRead =
        round.hasWrapped && (isLast || entries.some(({ place }) => place > start) || this.#position >= start);
      if (isFullyRead || !isLast) continue;
      round.hasWrapped = true;
      this.#position = FIRST_PLACE;
      isFullyRead = start === FIRST_PLACE;
    }
    // The next visit begins again with the oldest tasks of the key.
    const last = found.at(-1)?.hint;
    if (
      last !== undefined &&
      last.tenant === undefined &&
      open !== undefined &&
      this.#position < open.end &&
      this.#position !== FIRST_PLACE
    )
      this.#position = open.end;
    this.#round = isFullyRead || found.length > 0 ? undefined : round;
    // Without any group, the next call begins at the first position, and so takes one request.
    const isEmpty = round.hasWrapped && round.seen === 0;
    if (isEmpty) this.#position = FIRST_PLACE;
    // First one task of each group, then a second one of each, so that a caller that takes only some of them is fair, too.
    found.sort((one, other) => one.turn - other.turn);
    return { hints: found.map(({ hint }) => hint), isEmpty, isFullyRead, pages: round.pages };
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
