/**
 * A wait group: a set of named members, and a wait that ends when all of them are done.
 *
 * Guarantees
 *   - `add` and `done` count by id: repeated, retried or duplicated, they count once.
 *   - `wait` ends as complete only when the group is sealed and every member that was ever added is done, or lost with its session.
 *     A group that has not been sealed is never complete, so members that come and go quickly cannot end a wait too early.
 *   - `add` to a sealed group changes nothing; members are added in transactions of 99.
 *   - A leased member cannot block `wait` forever: when its session is invalid and that session's lock-delay is over, a waiter
 *     records the member as lost. Lost is final: a late `done` returns `lost`.
 *   - Generations: a complete group can start over under the next number; late requests of an old generation only change the old one.
 *
 * Does not guarantee
 *   - That `wait` ends if a member without a lease never calls `done`: give `wait` a deadline.
 *   - That a member works once, or at all. A lease shows that a member's session is alive, not that it works alone: use a lock for that.
 *
 *       add (group open)           done
 *     ──────────────────▶ pending ───────▶ done
 *                            │ ▲ │ its session expired: a waiter finds it
 *                            │ └─┘ lease     └──────▶ lost
 *
 *     group:  open ── seal ──▶ sealed ── a wait found no member pending ──▶ complete ── begin ──▶ open, next generation
 *
 * A member is a row, so the cost per member does not grow with the group, and members do not contend for one row.
 *
 * | verb | requests | units |
 * | --- | --- | --- |
 * | add of n members | 1 per 99 | 2 written per member, and 2 per request |
 * | done | 1 | 1 written |
 * | lease | 1, or 2 if another session has leased the member | 1 written each |
 * | seal, complete, begin | 1 | 1 written |
 * | a poll of `wait` | 1, and 1 for the sessions of leased members | 1 read per 4 KB of the page |
 * | `wait` in all | | its polls; each member is read once: 1 read per 25 |
 */
import { ConfigurationError, shown } from '../../core/errors.ts';
import { validName } from '../../core/validate/options.ts';

export type GroupState = 'open' | 'sealed' | 'complete';

export interface GroupRecord {
  readonly name: string;
  /** Starts at the clock and never restarts. */
  readonly generation: number;
  readonly state: GroupState;
  /** The number of members, and how many of them were lost. Known once the generation is complete. */
  readonly members: number | undefined;
  readonly lost: number | undefined;
  readonly nonce: string;
}

/** One generation of one group. */
export interface GroupKey {
  readonly name: string;
  readonly generation: number;
}

export type MemberState = 'pending' | 'done' | 'lost';

export interface MemberRecord {
  readonly id: string;
  readonly state: MemberState;
  /** The session that works on it, if it is leased. */
  readonly session: string | undefined;
  readonly nonce: string;
}

/** Members of one transaction, which takes a hundred actions and needs one for the group. */
export const MEMBERS_PER_ADD = 99;

/** @throws ConfigurationError for an invalid count, or ids that are invalid or repeated */
export function validMembers(
  what: string,
  members: number | readonly string[],
  makeId: () => string,
): readonly string[] {
  if (typeof members === 'number') {
    if (!Number.isSafeInteger(members) || members < 0)
      throw new ConfigurationError(`${what}: add(${members}): must be a whole number of members, or their ids`);
    return Array.from({ length: members }, makeId);
  }
  if (!Array.isArray(members))
    throw new ConfigurationError(
      `${what}: add(${shown(members)}): must be a whole number of members, or a list of their ids`,
    );
  const ids = (members as readonly string[]).map((id) => validName(`${what}: member id`, id));
  if (new Set(ids).size < ids.length) {
    const repeated = ids.find((id, at) => ids.indexOf(id) !== at);
    throw new ConfigurationError(
      `${what}: add has the id ${JSON.stringify(repeated)} twice: an id stands for one member`,
    );
  }
  return ids;
}

export function describeGroup({ name, generation }: GroupKey): string {
  return `wait group ${name} (generation ${generation})`;
}
