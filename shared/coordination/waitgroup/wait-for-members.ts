/**
 * Waits for the members of a wait group.
 *
 * Finished members stay finished, and the seal excludes new ones, so a wait reads each finished member only once:
 * it reads the members in order, stops at the first pending one, and continues from there.
 */
import { MismatchError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import { waitFor } from '../../core/wait/wait.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import type { SessionPorts } from '../../session/session-contender.ts';
import { SessionVerdicts, earliestEnd } from '../../session/session-verdicts.ts';
import type { WaitGroupStore } from './waitgroup-store.ts';
import type { GroupKey, MemberRecord } from './waitgroup.ts';
import { describeGroup } from './waitgroup.ts';

export type WaitOutcome =
  /** The number of members, and how many of them were lost. */
  | { readonly kind: 'complete'; readonly members: number; readonly lost: number }
  /** `pending`: the first of the pending members; empty before the group is sealed. */
  | { readonly kind: 'pending'; readonly isSealed: boolean; readonly pending: readonly string[] };

export interface WaitPorts extends SessionPorts {
  readonly groups: WaitGroupStore;
}

/** Rows of about 160 bytes: one read unit. */
const READ_LIMIT = 25;
/** Larger steps while all members read have finished: ten read units each. */
const STRIDE_LIMIT = 250;

/** A waiter costs a read unit a second on average, and notices the end within two seconds. */
const PAUSES = { firstMs: 125, longestMs: 2_000, spreadMs: 100 };

export async function waitForMembers(
  group: GroupKey,
  options: WaitOptions,
  ports: WaitPorts,
  maxClockSkewMs: number,
): Promise<WaitOutcome> {
  const walk = new Walk(group, ports, maxClockSkewMs);
  const waited = await waitFor<WaitOutcome, WaitOutcome>(
    async () => {
      const { outcome, until } = await walk.goOn();
      return outcome.kind === 'complete' ? { kind: 'found', found: outcome } : { kind: 'blocked', by: outcome, until };
    },
    { options, pauses: PAUSES },
    ports.runtime,
  );
  return waited.kind === 'found' ? waited.found : waited.by;
}

interface MembersReading {
  readonly outcome: WaitOutcome;
  /** Earliest expiry among the sessions of pending members. */
  readonly until: number | null;
}

class Walk {
  readonly #group: GroupKey;
  readonly #ports: WaitPorts;
  readonly #sessionVerdicts: SessionVerdicts;
  #isSealed = false;
  /** All members up to this one have finished and are counted. */
  #after: string | undefined;
  #members = 0;
  #lost = 0;

  constructor(group: GroupKey, ports: WaitPorts, maxClockSkewMs: number) {
    this.#group = group;
    this.#ports = ports;
    this.#sessionVerdicts = new SessionVerdicts(ports, maxClockSkewMs);
  }

  async goOn(): Promise<MembersReading> {
    if (!this.#isSealed) {
      const current = await this.#ports.groups.get(this.#group.name);
      // A generation above the row's may still begin. A group without a row starts over at the clock, above all its earlier generations.
      if (current === undefined)
        throw new MismatchError(
          describeGroup(this.#group),
          `${describeGroup(this.#group)} does not exist: its row was removed or never written; open the group without naming a generation`,
        );
      const age = current.generation - this.#group.generation;
      if (age < 0) return pending(false, [], null);
      if (age === 0 && current.state === 'open') return pending(false, [], null);
      if (age === 0 && current.state === 'complete') return complete(current.members ?? 0, current.lost ?? 0);
      // Or a later generation has begun, so this one is complete, and its members show the counts.
      this.#isSealed = true;
    }
    return this.#walkOn();
  }

  async #walkOn(): Promise<MembersReading> {
    for (let limit = READ_LIMIT; ; limit = STRIDE_LIMIT) {
      const page = await this.#ports.groups.members(this.#group, { after: this.#after, limit });
      const { members, until } = await this.#loseTheDead(page.members);
      this.#pass(members);
      const rest = members.filter(({ state }) => state === 'pending').map(({ id }) => id);
      if (rest.length > 0) return pending(true, rest, until);
      if (page.isLast) return this.#finish();
    }
  }

  /** Counts finished members, up to the first pending one. */
  #pass(members: readonly MemberRecord[]): void {
    for (const { id, state } of members) {
      if (state === 'pending') return;
      this.#after = id;
      this.#members++;
      if (state === 'lost') this.#lost++;
    }
  }

  /** Records members of expired sessions as lost, and returns all members. */
  async #loseTheDead(
    members: readonly MemberRecord[],
  ): Promise<{ readonly members: readonly MemberRecord[]; readonly until: number | null }> {
    const sessions = members.flatMap(({ state, session }) =>
      state === 'pending' && session !== undefined ? session : [],
    );
    const standings = await this.#sessionVerdicts.judge(new Set(sessions));
    const settled = members.map(async (member) => {
      const { id, session, state } = member;
      if (state !== 'pending' || session === undefined || standings.get(session)?.kind !== 'free') return member;
      const outcome = await this.#ports.groups.loseMember(this.#group, { id, session }, stampOf(this.#ports.runtime));
      return outcome.kind === 'applied' ? outcome.row : (outcome.current ?? member);
    });
    return { members: await allOf(settled), until: earliestEnd(standings) };
  }

  async #finish(): Promise<MembersReading> {
    const counts = { members: this.#members, lost: this.#lost };
    // If refused, another waiter has already recorded it, with the same counts.
    await this.#ports.groups.complete(this.#group, counts, stampOf(this.#ports.runtime));
    return complete(counts.members, counts.lost);
  }
}

function complete(members: number, lost: number): MembersReading {
  return { outcome: { kind: 'complete', members, lost }, until: null };
}

function pending(isSealed: boolean, ids: readonly string[], until: number | null): MembersReading {
  return { outcome: { kind: 'pending', isSealed, pending: ids }, until };
}
