import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';
import type { GroupKey, GroupRecord, MemberRecord } from './waitgroup.ts';

export interface MemberLease {
  readonly id: string;
  readonly session: string;
  /** Undefined: not leased. */
  readonly observed: MemberRecord | undefined;
}

/** Stores wait groups. Every write is conditional; see `coordination/waitgroup/row/waitgroup-statements.ts` for the guards. */
export interface WaitGroupStore {
  /** Refused if the group exists, in any generation. */
  create(name: string, write: Stamp): Promise<Outcome<GroupRecord>>;
  /** Refused unless it is open in this generation. */
  seal(group: GroupKey, write: Stamp): Promise<Outcome<GroupRecord>>;
  /** Refused unless it is sealed in this generation. */
  complete(
    group: GroupKey,
    counts: { readonly members: number; readonly lost: number },
    write: Stamp,
  ): Promise<Outcome<GroupRecord>>;
  /** Begins the next generation. Refused unless this one is complete. */
  begin(group: GroupKey, write: Stamp): Promise<Outcome<GroupRecord>>;
  /** Strongly consistent. */
  get(name: string): Promise<GroupRecord | undefined>;

  /** Sends nothing. @throws ConfigurationError for an id that does not fit into a key */
  ensureStorable(group: GroupKey, ids: readonly string[]): void;
  /** One transaction: refused unless the group is open in this generation. An existing member stays as it is. */
  addMembers(
    group: GroupKey,
    members: readonly { readonly id: string; readonly session: string | undefined }[],
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' } | Extract<Outcome<never, GroupRecord>, { kind: 'refused' }>>;
  /** Refused unless it is pending, and without a lease or as observed. */
  leaseMember(group: GroupKey, lease: MemberLease, write: Stamp, limits?: WriteLimits): Promise<Outcome<MemberRecord>>;
  /** Refused unless it is pending. */
  finishMember(group: GroupKey, id: string, write: Stamp): Promise<Outcome<MemberRecord>>;
  /** Refused unless it is pending and leased to the expired session. */
  loseMember(
    group: GroupKey,
    member: { readonly id: string; readonly session: string },
    write: Stamp,
  ): Promise<Outcome<MemberRecord>>;
  /** Members in the order of their ids, after `after` if given. Strongly consistent. */
  members(
    group: GroupKey,
    page: { readonly after: string | undefined; readonly limit: number },
  ): Promise<{ readonly members: readonly MemberRecord[]; readonly isLast: boolean }>;
}
