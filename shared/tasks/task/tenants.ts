/**
 * Fairness between tenants: workers take tasks from tenants round robin,
 * so a tenant does not wait for another tenant's backlog.
 *
 * Tenants' tasks are in their own index, ordered by tenant and then by due time. A worker walks through it in a circle: it takes the
 * few oldest tasks of one tenant, skips the rest of them to the next tenant,
 * and starts again after the last. It begins at a random position, different for
 * each worker. There are no counters, so a tenant costs no write, and a tenant without tasks is free.
 *
 * Guarantees
 *   - With n tenants that have due tasks in a shard, a worker reaches a tenant's oldest task
 *     after at most n visits, for any backlog of the others:
 *     each visit takes at most `QUANTUM` tasks. A worker that has lost many claims to others of its shard reaches it after at most 2n.
 *
 * Does not guarantee
 *   - Order between tenants, or between a tenant's tasks in different shards.
 *     Priorities go before tenants: a high priority of any tenant goes first.
 *   - Anything between tasks with and without a tenant: workers treat both alike.
 *     For a fair queue, every task must name its tenant.
 */
import type { Random } from '../../core/runtime/random.ts';
import type { ReadyPartition, TaskStore, TenantEntry } from './task-store.ts';

/** Tasks of one tenant taken in one visit: enough to be worth a poll, few enough to reach the next tenant soon. */
export const QUANTUM = 4;
const PAGE_LIMIT = 50;
/** Maximum pages to read in one round while all their tasks are held by others or not due. */
const PAGES_LIMIT = 40;

export interface WalkQuery {
  readonly now: number;
  /** Number of entries wanted; slightly more may be returned. */
  readonly wanted: number;
  /** Tasks of one tenant taken per visit. Default: `QUANTUM`. */
  readonly quantum?: number;
  /** Default: every entry. */
  readonly isWorthReading?: (hint: TenantEntry) => boolean;
  /** Called for each foreign entry. */
  readonly onDamaged?: ((error: unknown) => void) | undefined;
}

/** One worker's round-robin walk through the tenants of one partition. */
export class TenantWalk {
  readonly #partition: ReadyPartition;
  readonly #tasks: Pick<TaskStore, 'pageOfTenants'>;
  /** Everything before this position has been visited in this round. */
  #position: string;
  /** Start of a round that needs more than one call, because it has found nothing yet. */
  #round: { readonly start: string; hasWrapped: boolean; seen: number } | undefined;

  /** @param random chooses the start. Default: the first position, for callers that only count */
  constructor(partition: ReadyPartition, tasks: Pick<TaskStore, 'pageOfTenants'>, random?: Random) {
    this.#partition = partition;
    this.#tasks = tasks;
    this.#position = random === undefined ? FIRST_PLACE : anyPlace(random);
  }

  /**
   * Returns the next entries worth reading, some of each tenant. It returns fewer than wanted after a full round, or after too many entries
   * held by other workers; then the round continues with the next call. `isFullyRead` distinguishes the two.
   * Entries that other workers hold, or that are not due, do not count towards a tenant's share.
   */
  async next({
    now,
    wanted,
    quantum = QUANTUM,
    isWorthReading = () => true,
    onDamaged,
  }: WalkQuery): Promise<{ hints: readonly TenantEntry[]; isEmpty: boolean; isFullyRead: boolean }> {
    const found: { readonly hint: TenantEntry; readonly turn: number }[] = [];
    const share = new Map<string, number>();
    const round = this.#round ?? { start: this.#position, hasWrapped: false, seen: 0 };
    const { start } = round;
    let isFullyRead = false;
    for (let page = 0; page < PAGES_LIMIT && found.length < wanted; page++) {
      const { entries, next } = await this.#tasks.pageOfTenants(this.#partition, {
        after: this.#position,
        limit: PAGE_LIMIT,
        onDamaged,
      });
      const isLast = next === undefined;
      // Skips a page of foreign entries.
      if (entries.length === 0 && next !== undefined) this.#position = next;
      round.seen += entries.length;
      for (const { hint, place, end } of entries) {
        if (round.hasWrapped && place > start) break;
        const taken = share.get(hint.tenant) ?? 0;
        // Skips the rest of a tenant whose share is taken, or that has no more due tasks.
        if (taken >= quantum || hint.readyAt > now) {
          this.#position = end;
          continue;
        }
        this.#position = place;
        if (!isWorthReading(hint)) continue;
        share.set(hint.tenant, taken + 1);
        found.push({ hint, turn: taken });
      }
      isFullyRead =
        round.hasWrapped && (isLast || entries.some(({ place }) => place > start) || this.#position >= start);
      if (isFullyRead) break;
      if (!isLast) continue;
      round.hasWrapped = true;
      this.#position = FIRST_PLACE;
      isFullyRead = start === FIRST_PLACE;
      if (isFullyRead) break;
    }
    this.#round = isFullyRead || found.length > 0 ? undefined : round;
    // Without any tenant, the next call begins at the first position, and so takes one request.
    const isEmpty = round.hasWrapped && round.seen === 0;
    if (isEmpty) this.#position = FIRST_PLACE;
    // First one task of each tenant, then a second one of each, so that a caller that takes only some of them is fair, too.
    found.sort((one, other) => one.turn - other.turn);
    return { hints: found.map(({ hint }) => hint), isEmpty, isFullyRead };
  }
}

function anyPlace(random: Random): string {
  return Math.floor(random.next() * HASHES)
    .toString(16)
    .padStart(HASH_DIGITS, '0');
}

/** Positions begin with this many digits of a hash of the tenant, so that adjacent tenants are unrelated. */
export const HASH_DIGITS = 8;
const HASHES = 16 ** HASH_DIGITS;
/** Sorts before all positions. DynamoDB allows no empty text in a condition on a key. */
export const FIRST_PLACE = ' ';
