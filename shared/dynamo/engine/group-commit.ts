/**
 * Callers of one process that change one shared row share transactions: the first is sent at once, and later ones wait while it is in
 * flight follow together. So a crowd in one process costs a few requests, and one caller costs what it did.
 *
 *   - They are sent in the order of their calls, at most 100 actions and 3 MB together.
 *   - Each keeps its own guard, nonce and outcome. One that is refused leaves the group with its row, and the others are sent again.
 *   - One that cannot be sent at all, or that a row can never take, fails alone: then each is sent on its own.
 *   - Without a response, all of a group are unknown. One whose row has its own nonce was applied by an earlier attempt.
 *   - A commit goes alone: a condition of its caller, or the number that bars its late copies, would decide for its neighbours as well.
 */
import { ConfigurationError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/write.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import { itemSizeBytes } from './capacity.ts';
import type { DynamoItem } from './driver.ts';
import type { Canceled, Sender, WriteResult } from './send.ts';
import type { Action } from './transaction.ts';
import { TRANSACTION_ACTIONS_LIMIT, isBlind, isUnfit, rowOf, tokenOf, transactStatement } from './transaction.ts';
import type { Verb } from './verb.ts';

export interface Member {
  readonly nonce: string;
  readonly limits?: WriteLimits | undefined;
  /** If one of a list fails, the later ones are not sent. */
  readonly list?: object | undefined;
}

/** The row that a group shares, and how its members are written. */
export interface SharedRow<One extends Member, Row, Alone> {
  readonly what: string;
  /** Whether a plan is wrong after a conflict, because it names what it has seen of the row. */
  readonly isObserved: boolean;
  read(): Promise<Row>;
  /** Each member's actions, its own write first; and the one action of the row for the first `count` of them. */
  plan(
    members: readonly One[],
    row: Row,
  ): Promise<{
    readonly verb: Verb;
    readonly parts: readonly (readonly Action[])[];
    readonly shared: (count: number) => readonly Action[];
  }>;
  /** The row after these members, if that is known. */
  after?(row: Row, count: number): { readonly row: Row } | undefined;
  /** How to react to a refusal of the shared row: plan on the returned row, send each separately, or refuse all. */
  onRefusal(item: DynamoItem | undefined): { readonly again: Row } | 'alone' | 'refused';
  /** Sends one on its own, as without groups. Absent: as a group of one. */
  readonly alone?: ((member: One) => Promise<Alone>) | undefined;
}

interface Waiting<One, Alone> {
  readonly member: One;
  readonly answer: PromiseWithResolvers<WriteResult | Alone>;
  earlierAttempt: 'none' | 'unknown';
}

interface Seen<Row> {
  readonly row: Row;
}

/** Below DynamoDB's 4 MB, because we measure rows and not requests. */
const BYTES_LIMIT = 3_000_000;
const REFUSED = 'ConditionalCheckFailed';

export class GroupCommit<One extends Member, Row, Alone = never> {
  readonly #sender: Sender;
  /** By group. A group without a transaction in flight has no entry. */
  readonly #waiting = new Map<string, Waiting<One, Alone>[]>();

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** @param names of the group, whose members have the same `shared` */
  send(names: readonly string[], member: One, shared: SharedRow<One, Row, Alone>): Promise<WriteResult | Alone> {
    const name = JSON.stringify(names);
    const answer = Promise.withResolvers<WriteResult | Alone>();
    const one: Waiting<One, Alone> = { member, answer, earlierAttempt: 'none' };
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) waiting.push(one);
    else {
      const first = [one];
      this.#waiting.set(name, first);
      void this.#sendAll(name, first, shared);
    }
    return answer.promise;
  }

  async #sendAll(name: string, waiting: Waiting<One, Alone>[], shared: SharedRow<One, Row, Alone>): Promise<void> {
    let known: Seen<Row> | undefined;
    while (waiting.length > 0) {
      const batch = new Batch(waiting.splice(0, TRANSACTION_ACTIONS_LIMIT - 1), shared, this.#sender, known);
      const failed = await batch.send();
      known = batch.seen;
      // Those that did not fit come first, so that the order of the calls stays.
      waiting.unshift(...batch.left);
      for (const { member, error } of failed) rejectBehind(member, error, waiting);
    }
    this.#waiting.delete(name);
  }
}

/** Rejects later members of the same list. Otherwise they would take the failed one's position. */
function rejectBehind<One extends Member, Alone>(failed: One, error: unknown, waiting: Waiting<One, Alone>[]): void {
  if (failed.list === undefined) return;
  for (const behind of waiting.filter(({ member }) => member.list === failed.list)) {
    waiting.splice(waiting.indexOf(behind), 1);
    behind.answer.reject(error);
  }
}

/** One group on its way. */
class Batch<One extends Member, Row, Alone> {
  /** The shared row, as the last response has shown it. */
  seen: Seen<Row> | undefined;
  /** Those that did not fit. */
  left: readonly Waiting<One, Alone>[] = [];
  /** Not yet decided. */
  #group: readonly Waiting<One, Alone>[];
  readonly #shared: SharedRow<One, Row, Alone>;
  readonly #sender: Sender;

  constructor(
    group: readonly Waiting<One, Alone>[],
    shared: SharedRow<One, Row, Alone>,
    sender: Sender,
    seen: Seen<Row> | undefined,
  ) {
    this.#group = group;
    this.#shared = shared;
    this.#sender = sender;
    this.seen = seen;
  }

  /** Sends until each is decided, or does not fit. @returns the failed ones */
  async send(): Promise<readonly { readonly member: One; readonly error: unknown }[]> {
    try {
      await this.#sendTogether();
      return [];
    } catch (error) {
      this.seen = undefined;
      const failed: { readonly member: One; readonly error: unknown }[] = [];
      const group = this.#taken();
      for (const one of group) {
        const { list } = one.member;
        const before = list === undefined ? undefined : failed.find(({ member }) => member.list === list);
        // One of them may be to blame.
        const isTried = before === undefined && error instanceof ConfigurationError && group.length > 1;
        const own = isTried ? await this.#sendAlone(one) : (before ?? { error });
        if (own === undefined) continue;
        one.answer.reject(own.error);
        failed.push({ member: one.member, error: own.error });
      }
      return failed;
    }
  }

  #sendTogether(): Promise<void> {
    const { what, alone, isObserved } = this.#shared;
    const limits = this.#group[0]?.member.limits;
    return retryContended(what, { ...this.#sender.patience, ...limits }, async ({ isAfterPause }) => {
      if (this.#group.length === 1 && alone !== undefined) return this.#sendEach();
      if (isAfterPause || this.seen === undefined) this.seen = { row: await this.#shared.read() };
      const { verb, parts } = await this.#planned(this.seen.row);
      const [{ member }] = this.#group as [Waiting<One, Alone>];
      const actions = parts.flat();
      const statement = transactStatement(verb, actions, tokenOf(member, actions.slice(1)));
      const result = await this.#sender.transactTogether(statement, limits, { isStaleAfterConflict: isObserved });
      if (result.kind === 'canceled') return this.#judge(result, parts);
      this.seen = this.#shared.after?.(this.seen.row, this.#group.length);
      for (const { answer } of this.#taken()) answer.resolve({ ...result, item: undefined });
      return undefined;
    });
  }

  /** The actions of the members that fit, and the action of the shared row. */
  async #planned(row: Row): Promise<{ readonly verb: Verb; readonly parts: readonly (readonly Action[])[] }> {
    const { verb, parts, shared } = await this.#shared.plan(
      this.#group.map(({ member }) => member),
      row,
    );
    const fits = fitting(parts);
    this.left = [...this.#group.slice(fits), ...this.left];
    this.#group = this.#group.slice(0, fits);
    return { verb, parts: [...parts.slice(0, fits), shared(fits)] };
  }

  /** Decides the members whose own writes were refused. The others are sent again, or as the shared row's refusal says. */
  async #judge(result: Canceled, parts: readonly (readonly Action[])[]): Promise<Contended | undefined> {
    const { reasons, earlierAttempt } = result;
    let at = 0;
    this.#group = this.#group.filter((one, nth) => {
      const own = reasons[at];
      at += parts[nth]?.length ?? 0;
      if (earlierAttempt === 'unknown') one.earlierAttempt = 'unknown';
      if (own?.code !== REFUSED) return true;
      one.answer.resolve(refusedBy(one, own.item));
      return false;
    });
    const shared = reasons[at];
    if (this.#group.length === 0) return undefined;
    const unfit = reasons.find(isUnfit);
    if (unfit !== undefined && this.#shared.alone !== undefined) return this.#sendEach();
    if (unfit !== undefined)
      throw new ConfigurationError(
        `${this.#shared.what}: a row refuses the change (${unfit.code}: ${unfit.message ?? ''})`,
      );
    if (shared?.code !== REFUSED) return contended(result, { isBlind: isBlind(result) });
    const then = this.#shared.onRefusal(shared.item);
    if (then === 'alone') return this.#sendEach();
    if (then === 'refused') for (const one of this.#taken()) one.answer.resolve(refusedBy(one, shared.item));
    else this.seen = { row: then.again };
    return this.#group.length === 0 ? undefined : contended(result);
  }

  async #sendEach(): Promise<undefined> {
    for (const one of this.#taken()) {
      const failed = await this.#sendAlone(one);
      if (failed !== undefined) one.answer.reject(failed.error);
    }
  }

  async #sendAlone(one: Waiting<One, Alone>): Promise<{ readonly error: unknown } | undefined> {
    try {
      const { alone } = this.#shared;
      if (alone === undefined) await new Batch([one], this.#shared, this.#sender, undefined).#sendTogether();
      else one.answer.resolve(await alone(one.member));
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  #taken(): readonly Waiting<One, Alone>[] {
    const group = this.#group;
    this.#group = [];
    return group;
  }
}

/** How many fit into one transaction with the shared row's action; at least one. A transaction names each row once. */
function fitting(parts: readonly (readonly Action[])[]): number {
  let actions = 1;
  let bytes = 0;
  const rows = new Set<string>();
  for (const [at, part] of parts.entries()) {
    actions += part.length;
    bytes += part.reduce((sum, action) => sum + bytesOf(action), 0);
    const isOver = actions > TRANSACTION_ACTIONS_LIMIT || bytes > BYTES_LIMIT;
    if (at > 0 && (isOver || part.some((action) => rows.has(rowOf(action))))) return at;
    for (const action of part) rows.add(rowOf(action));
  }
  return parts.length;
}

function bytesOf(action: Action): number {
  return Object.values(action as Readonly<Record<string, DynamoItem>>).reduce(
    (sum, part) => sum + itemSizeBytes(part),
    0,
  );
}

/** One whose row has its own nonce was applied by an earlier attempt. */
function refusedBy<One extends Member, Alone>(
  { member, earlierAttempt }: Waiting<One, Alone>,
  item: DynamoItem | undefined,
): WriteResult {
  return item?.nonce === member.nonce
    ? { kind: 'applied', item, late: true, earlierAttempt: 'none' }
    : { kind: 'refused', item, earlierAttempt };
}
