/** One generation of a wait group: the API to add, lease, finish and wait for members. */
import { ConfigurationError, MismatchError, assert } from '../../core/errors.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import { WAIT_OPTIONS } from '../../core/wait/wait.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsOf } from '../../session/limits.ts';
import type { WaitOutcome, WaitPorts } from './wait-for-members.ts';
import { waitForMembers } from './wait-for-members.ts';
import type { GroupKey, GroupRecord, MemberRecord, MemberState } from './waitgroup.ts';
import { MEMBERS_PER_ADD, describeGroup, validMembers } from './waitgroup.ts';

export interface AddOptions {
  /** Leases the members to this session: if it expires before they are done, they are lost, and `wait` does not block on them. */
  readonly session?: Pick<SessionHolder, 'id' | 'ensureTrusted'> | undefined;
  /** No more members will come. */
  readonly seal?: boolean | undefined;
}

/** Ten read units. */
const PAGE_LIMIT = 250;

/** One generation of a wait group: adds members, marks them done, and waits for all members. It is stateless. */
export class WaitGroup implements GroupKey {
  readonly name: string;
  readonly generation: number;
  readonly #ports: WaitPorts;
  readonly #maxClockSkewMs: number;

  private constructor(group: GroupKey, ports: WaitPorts, maxClockSkewMs: number) {
    this.name = group.name;
    this.generation = group.generation;
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
  }

  /**
   * Opens the group's current generation, complete or not. Creates the group if it does not exist.
   * @param options.generation selects an older generation, such as the one that a message from its time names
   */
  static async open(
    name: string,
    ports: WaitPorts,
    options: { readonly maxClockSkewMs: number; readonly generation?: number | undefined },
  ): Promise<WaitGroup> {
    validName('wait group', name);
    const { maxClockSkewMs, generation } = options;
    if (generation !== undefined) validWholeNumber(`the generation of wait group ${name}`, generation, { min: 0 });
    const group = generation === undefined ? await currentGroup(name, ports) : { name, generation };
    return new WaitGroup(group, ports, maxClockSkewMs);
  }

  /**
   * Adds members by id, or a number of members with generated ids. Ids that are already members count once.
   * More than 99 members take several requests: after an error, add the same ids again. Generated ids are lost with an error,
   * although their members may exist: if that matters, pass your own ids.
   * @returns all their ids
   * @throws MismatchError when the group is sealed, and adds nothing; if it was sealed during the call, the first batches of 99 were added
   * @throws LeaseLostError when `options.session` is lost, and adds nothing
   * @throws ConfigurationError if ids are not valid names, are repeated, or are too long, and adds nothing
   */
  async add(members: number | readonly string[], options: AddOptions = {}): Promise<readonly string[]> {
    validOptions(`the options of adding to ${describeGroup(this)}`, options, ['session', 'seal']);
    const { groups, runtime } = this.#ports;
    const ids = validMembers(describeGroup(this), members, () => runtime.ids.ordered());
    groups.ensureStorable(this, ids);
    options.session?.ensureTrusted();
    const session = options.session?.id;
    // One after the other, because they all check the group's row, and concurrent transactions would refuse each other.
    for (let from = 0; from < ids.length; from += MEMBERS_PER_ADD) {
      const batch = ids.slice(from, from + MEMBERS_PER_ADD).map((id) => ({ id, session }));
      const outcome = await groups.addMembers(this, batch, stampOf(runtime));
      if (outcome.kind === 'refused') throw this.#closed(outcome.current);
    }
    if (options.seal === true) await this.seal();
    return ids;
  }

  /** Seals the group: no more members will come, and only now can a wait end. A repeated call changes nothing. */
  async seal(): Promise<void> {
    const outcome = await this.#ports.groups.seal(this, stampOf(this.#ports.runtime));
    if (outcome.kind === 'refused' && outcome.current === undefined)
      throw new MismatchError(describeGroup(this), `${describeGroup(this)} does not exist: its row was removed`);
  }

  /**
   * Leases a pending member to this session.
   * @returns the member's state: only a `pending` member needs work
   * @throws MismatchError when it is not a member
   */
  async lease(id: string, session: Pick<SessionHolder, 'id' | 'signal' | 'ensureTrusted'>): Promise<MemberState> {
    validName(`${describeGroup(this)}: member id`, id);
    if (typeof (session as Partial<typeof session> | null | undefined)?.ensureTrusted !== 'function')
      throw new ConfigurationError(`${describeGroup(this)}: lease needs a session: pass session.holder`);
    session.ensureTrusted();
    const limits = limitsOf(session);
    let observed: MemberRecord | undefined;
    for (;;) {
      const lease = { id, session: session.id, observed };
      const outcome = await this.#ports.groups.leaseMember(this, lease, stampOf(this.#ports.runtime), limits);
      const current = outcome.kind === 'applied' ? outcome.row : outcome.current;
      const state = this.#stateOf(id, current);
      // The second time, another session has taken the lease over during this call: as if it had come after ours.
      if (state !== 'pending' || current?.session === session.id || observed !== undefined) return state;
      // Another session has leased the member. This session takes the lease over.
      observed = current;
    }
  }

  /**
   * Marks a member done. A repeated call changes nothing.
   * @returns `lost` if a waiter has found its session expired and reported the member as lost, which is final
   * @throws MismatchError when it is not a member
   */
  async done(id: string): Promise<Exclude<MemberState, 'pending'>> {
    const outcome = await this.#ports.groups.finishMember(this, id, stampOf(this.#ports.runtime));
    const state = this.#stateOf(id, outcome.kind === 'applied' ? outcome.row : outcome.current);
    return state === 'lost' ? 'lost' : 'done';
  }

  /**
   * Waits until the group is sealed and has no pending members.
   * @returns `pending`, with some of the pending members, on timeout
   * @throws MismatchError when the group does not exist, so the wait could never end; the reason of `signal`
   */
  async wait(options: WaitOptions = {}): Promise<WaitOutcome> {
    validOptions(`the options of waiting for ${describeGroup(this)}`, options, WAIT_OPTIONS);
    return waitForMembers(this, options, this.#ports, this.#maxClockSkewMs);
  }

  /** Returns all members, in the order of their ids. Reads each row once. */
  async *members(): AsyncGenerator<MemberRecord> {
    let after: string | undefined;
    for (;;) {
      const { members, isLast } = await this.#ports.groups.members(this, { after, limit: PAGE_LIMIT });
      yield* members;
      after = members.at(-1)?.id;
      if (isLast || after === undefined) return;
    }
  }

  /**
   * Begins the next generation of a complete group. A second caller gets the same new generation.
   * @throws MismatchError when this generation is not complete yet
   */
  async next(): Promise<WaitGroup> {
    const { groups, runtime } = this.#ports;
    const outcome = await groups.begin(this, stampOf(runtime));
    const group = outcome.kind === 'applied' ? outcome.row : outcome.current;
    if (group === undefined || group.generation <= this.generation)
      throw new MismatchError(
        describeGroup(this),
        `${describeGroup(this)} is ${group?.state ?? 'gone'}: the next generation begins when a wait has found it complete`,
      );
    return new WaitGroup(group, this.#ports, this.#maxClockSkewMs);
  }

  #stateOf(id: string, member: MemberRecord | undefined): MemberState {
    if (member !== undefined) return member.state;
    throw new MismatchError(
      describeGroup(this),
      `${JSON.stringify(id)} is not a member of ${describeGroup(this)}: add it first`,
    );
  }

  #closed(current: GroupRecord | undefined): MismatchError {
    const found =
      current === undefined ? 'gone' : current.generation === this.generation ? current.state : 'an earlier generation';
    return new MismatchError(
      describeGroup(this),
      `${describeGroup(this)} is ${found} and takes no more members: seal it later, or begin the next generation`,
    );
  }
}

async function currentGroup(name: string, { groups, runtime }: WaitPorts): Promise<GroupRecord> {
  const found = await groups.get(name);
  if (found !== undefined) return found;
  const created = await groups.create(name, stampOf(runtime));
  if (created.kind === 'applied') return created.row;
  assert(created.current !== undefined, `wait group ${name} was refused by a row that is not there`);
  return created.current;
}
