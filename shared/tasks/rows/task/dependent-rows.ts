/**
 * Dependent rows (batch counter, key slot, line) change in the same transaction as the task:
 * a batch counts its end, a key frees its slot, a line passes its turn.
 *
 * One transaction updates the task and its dependent rows; `task-endings.ts` writes a task that has none.
 * Its first action is the task's own write, with guard and nonce, so a dependent row changes exactly as often as the task does.
 */
import { ConfigurationError, StoreUnavailableError } from '../../../core/errors.ts';
import type { WriteLimits, Stamp } from '../../../core/lease/write.ts';
import type { BatchKey, BatchRecord, ChildEnding } from '../../task/batch.ts';
import { isMiscounted } from '../../task/batch.ts';
import { defined } from '../../../core/defined.ts';
import { allOf } from '../../../core/runtime/all-of.ts';
import { contended, retryContended } from '../../../core/wait/retry-contended.ts';
import { TRANSACTION_ACTIONS_LIMIT } from '../../task/spawning.ts';
import type { CommitOutcome, NewTask, Settled } from '../../task/task-store.ts';
import type { Notify } from '../../task/task.ts';
import { arrivalOf, endOfChild } from '../../durable/arrival.ts';
import type { CheckpointOutcome } from '../../durable/journal-store.ts';
import { arrive, putArrival } from './arrival-statements.ts';
import { describeTask } from '../../task/task.ts';
import { decodeBatch, leftIn, countDown, countLast, recountBatch } from '../batch-statements.ts';
import { decodeTask } from './task-codec.ts';
import type { Change, Followed, Part, Sent } from './change-parts.ts';
import {
  effectParts,
  effectReasons,
  miscountedIn,
  partOf,
  reasonsOf,
  refusalsOf,
  spawnedIn,
  writesIn,
  committedOutcome,
} from './change-parts.ts';
import { SharedWrites } from './shared-writes.ts';
import { ensureFit } from './unfit-rows.ts';
import type { Seat } from './task-statements.ts';
import { enqueueTask, readTask } from './task-statements.ts';
import { lineKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { outcomeOf } from '../../../dynamo/engine/rows.ts';
import { lineOf } from './adding-store.ts';
import type { KnownLine, LineChange, LineMove } from './lines.ts';
import { decodeLine, Lines } from './lines.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { isNotWaiting, resumeParent } from './children-statements.ts';
import { leaveKey } from '../key-statements.ts';
import { isMissingTable } from '../../../dynamo/engine/missing-table.ts';
import { actionOf, isBlind, rowOf, tableOf, together, tokenOf } from '../../../dynamo/engine/transaction.ts';

export class DependentRows {
  readonly #sender: Sender;
  readonly #table: string;
  readonly #shards: number;
  readonly lines: Lines;
  readonly #shared: SharedWrites<Sent>;

  constructor(sender: Sender, { table, shards }: { readonly table: string; readonly shards: number }) {
    this.#sender = sender;
    this.#table = table;
    this.#shards = shards;
    this.lines = new Lines(sender, table);
    this.#shared = new SharedWrites(sender);
  }

  /** @param seen the follower that has already made the task's row refuse `change.own` */
  settle(change: Change, stamp: Stamp, limits?: WriteLimits, seen?: Followed): Promise<Settled> {
    return this.#unlessFollowed(change, limits, (one) => this.#settle(one, stamp, limits), seen);
  }

  async #settle(change: Change, stamp: Stamp, limits: WriteLimits | undefined): Promise<Settled> {
    const { own, task } = change;
    const sent = await this.#change(change, stamp, limits);
    // A transaction returns no row.
    if (sent.kind === 'applied')
      return {
        kind: 'applied',
        row: task.links === undefined && sent.item ? decodeTask(sent.item) : undefined,
        ...defined({ miscounted: sent.miscounted }),
      };
    if (sent.kind === 'refused') return outcomeOf(sent, decodeTask, decodeTask);
    throw new StoreUnavailableError(`${own.verb}: the rows that depend on the task refused the change`, {
      applied: sent.earlierAttempt === 'unknown' ? 'unknown' : 'no',
    });
  }

  /** Sends a change with its effects. A `canceled` result has one reason for each effect. */
  commit(change: Change, stamp: Stamp, limits: WriteLimits | undefined): Promise<CommitOutcome> {
    return this.#unlessFollowed(change, limits, async (one) => {
      const sent = await this.#change(one, stamp, limits).catch((error: unknown) => {
        throw isMissingTable(error) ? this.#missingElsewhere(one, error) : error;
      });
      const outcome = committedOutcome(sent, effectReasons(sent));
      return outcome.kind === 'applied' ? { ...outcome, ...defined({ miscounted: miscountedIn(sent) }) } : outcome;
    });
  }

  /** The service does not name the missing table. It cannot be ours, because we claimed the task from it. */
  #missingElsewhere({ own, task, effects = [] }: Change, cause: unknown): unknown {
    const others = new Set(
      writesIn(effects)
        .map(tableOf)
        .filter((table) => table !== this.#table),
    );
    if (others.size === 0) return cause;
    const found = `there is no table ${[...others].join(' or ')} in this account and region`;
    const message = `${own.verb} of ${describeTask(task)}: ${found}: its code writes there, so create it, or name another`;
    return new ConfigurationError(message, { cause });
  }

  #change(change: Change, stamp: Stamp, limits: WriteLimits | undefined): Promise<Sent> {
    const { task, to } = change;
    const { batch, notify } = task.links ?? {};
    const send = (companions: readonly Part[]): Promise<Sent> =>
      this.#sendThroughLines(change, companions, stamp, limits);
    if (notify !== undefined && isEnd(to))
      return this.#tellWaiter(notify, endOfChild(to, change.outcome ?? {}), stamp, send);
    const alone = (): Promise<Sent> =>
      batch === undefined || !isEnd(to) ? send([]) : this.#endChild({ queue: task.queue, id: batch }, to, stamp, send);
    const shared = this.#sharedOf(change);
    const { session } = task;
    if (shared === undefined || session === undefined || limits === undefined) return alone();
    const names = [...shared.names, task.queue, session];
    return this.#shared.send({ ...shared, names, own: change.own, stamp, limits, alone });
  }

  /** The only dependent row of a change, if several tasks may change it at once. */
  #sharedOf(
    change: Change,
  ): { names: string[]; merge: (count: number, stamp: Stamp) => Statement<'update'> } | undefined {
    const { task, from = 'running', to, effects, batch: children } = change;
    const { batch, concurrency, line, notify } = task.links ?? {};
    const isPlain = effects === undefined && children === undefined && line === undefined && change.isFollowed !== true;
    if (!isPlain || notify !== undefined || from !== 'running') return undefined;
    if (batch !== undefined && concurrency === undefined && isEnd(to))
      return {
        names: ['batch', batch, to],
        merge: (count, stamp) => countDown(this.#table, { queue: task.queue, id: batch }, to, stamp, count),
      };
    if (concurrency !== undefined && batch === undefined && to !== 'running')
      return {
        names: ['key', concurrency.key],
        merge: (count, stamp) => leaveKey(this.#table, task, concurrency.key, stamp, count),
      };
    return undefined;
  }

  /** The end of a child is an arrival in the journal of the durable task that waits for it. */
  async #tellWaiter(
    { openKey, ...key }: Notify,
    end: ReturnType<typeof endOfChild>,
    stamp: Stamp,
    send: (companions: readonly Part[]) => Promise<Sent>,
  ): Promise<Sent> {
    const arrival = arrivalOf(openKey, end, stamp);
    return retryContended(`the end of a child of ${describeTask(key)}`, this.#sender.patience, async () => {
      const { Item } = await this.#sender.read(readTask(this.#table, key.queue, key.id));
      const waiter = Item === undefined ? undefined : decodeTask(Item);
      // An operator may retry a dead task, which then finds it.
      if (waiter?.journal?.open.has(openKey) !== true) return send([]);
      const own = actionOf(arrive(this.#table, waiter, arrival, this.#shards, stamp));
      const separate =
        arrival.content === undefined ? [] : [actionOf(putArrival(this.#table, key, arrival, stamp.now))];
      const sent = await send([own, ...separate].map((action) => partOf('waiter', action)));
      return refusalsOf(sent, 'waiter').length > 0 ? contended(sent) : sent;
    });
  }

  /** A checkpoint of a durable task with the user's writes, or with child tasks. */
  async checkpoint(change: Change, stamp: Stamp, limits: WriteLimits | undefined): Promise<CheckpointOutcome> {
    const sent = await this.#sendThroughLines(change, [], stamp, limits).catch((error: unknown) => {
      throw isMissingTable(error) ? this.#missingElsewhere(change, error) : error;
    });
    if (sent.kind === 'canceled') return { kind: 'canceled', reasons: effectReasons(sent) };
    if (sent.kind === 'applied') return { kind: 'applied' };
    return { kind: 'refused', current: sent.item && decodeTask(sent.item) };
  }

  /** Counts the end of a child in its batch. If another program has written how many are pending, these are counted again first. */
  async #endChild(
    batch: BatchKey,
    ending: ChildEnding,
    stamp: Stamp,
    send: (companions: readonly Part[]) => Promise<Sent>,
  ): Promise<Sent> {
    // Reported to the caller that ends the child; the child ends anyway.
    let miscounted: BatchRecord | undefined;
    const ended = await retryContended(`the numbers of batch ${batch.id}`, this.#sender.patience, async () => {
      const oneOfMany = await send([partOf('count', actionOf(countDown(this.#table, batch, ending, stamp)))]);
      const [refusal] = refusalsOf(oneOfMany, 'count');
      if (refusal === undefined) return oneOfMany;
      // The batch was deleted by TTL, so this child has no waiting parent.
      if (refusal.item === undefined) return send([]);
      const [record, left] = [decodeBatch(refusal.item), leftIn(refusal.item)];
      if (left !== record.pending || isMiscounted(record)) miscounted ??= record;
      if (left !== record.pending) {
        await this.#sender.write(recountBatch(this.#table, record, left), stamp.nonce);
        return contended(oneOfMany);
      }
      return record.pending > 0 ? this.#endLast(record, ending, stamp, send) : send([]);
    });
    return { ...ended, ...defined({ miscounted }) };
  }

  async #endLast(
    batch: BatchRecord,
    ending: ChildEnding,
    stamp: Stamp,
    send: (companions: readonly Part[]) => Promise<Sent>,
  ): Promise<Sent> {
    const last = partOf('count', actionOf(countLast(this.#table, batch, ending, stamp)));
    const { waiter } = batch;
    if (waiter.kind === 'nobody') return send([last]);
    const wake = partOf('waiter', actionOf(resumeParent(this.#table, waiter.task, batch, stamp)));
    return retryContended(`the end of batch ${batch.id}`, this.#sender.patience, async () => {
      const woken = await send([last, wake]);
      if (refusalsOf(woken, 'waiter').length === 0) return woken;
      // The waiter no longer waits, so the batch ends without it. If an operator has retried the waiter since then, it waits again.
      const unwoken = await send([last, partOf('waiter', isNotWaiting(this.#table, waiter.task, batch))]);
      return unwoken.kind === 'canceled' && refusalsOf(unwoken, 'waiter').length > 0 ? contended(unwoken) : unwoken;
    });
  }

  /** A task that leaves `running` frees the slot of its key. */
  #leaveKey({ task, from = 'running', to }: Change, stamp: Stamp): readonly Part[] {
    const key = task.links?.concurrency?.key;
    const leaves = key !== undefined && from === 'running' && to !== 'running';
    return leaves ? [partOf('slot', actionOf(leaveKey(this.#table, task, key, stamp)))] : [];
  }

  /**
   * Sends a change in one transaction that frees the slot of the task's key, passes the turn of its line if it ends, and adds ordered
   * children to their lines.
   */
  async #sendThroughLines(
    change: Change,
    companions: readonly Part[],
    stamp: Stamp,
    limits: WriteLimits | undefined,
  ): Promise<Sent> {
    const moves = movesOf(change);
    let leave = this.#leaveKey(change, stamp);
    const known = new Map<string, KnownLine>();
    const patience = { ...this.#sender.patience, ...limits };
    return retryContended(lineOf(change.task), patience, async ({ isAfterPause }) => {
      if (isAfterPause) known.clear();
      const plans = await allOf(
        moves.map(({ children, ...move }) => {
          const seen = known.get(lineKey(move.queue, move.key).pk);
          return this.lines.plan({ ...move, joiners: children.length }, stamp, seen);
        }),
      );
      const inLines = plans.flatMap(({ actions }) => actions.map((action) => partOf('line', action)));
      const seats = new Map<object, Seat | undefined>(
        moves.flatMap(({ children }, at) => children.map((child, place) => [child, plans[at]?.seats[place]] as const)),
      );
      const own = plans.some(({ isEarly }) => isEarly) ? (change.early ?? change.own) : change.own;
      const effects = effectParts(change.effects ?? [], (child) =>
        actionOf(enqueueTask(this.#table, child, this.#shards, stamp, seats.get(child))),
      );
      const others = new Set([
        rowOf({ Update: { Key: taskKey(change.task.queue, change.task.id) } }),
        ...[...inLines, ...effects.children].map(({ action }) => rowOf(action)),
      ]);
      // If a child has the waiter's id, the waiter's row refuses it. No other action may name that row.
      const unmerged = companions.filter(({ action }) => !others.has(rowOf(action)));
      const sent = await this.#send({ ...change, own }, [...unmerged, ...leave, ...inLines], effects, stamp, limits);
      if (sent.kind === 'applied') this.#noteLines(moves, plans);
      if (sent.kind !== 'canceled') return sent;
      if (moves.length > 0 && isBlind(sent)) return contended(sent, { isBlind: true });
      const ofLines = refusalsOf(sent, 'line');
      if (ofLines.length > 0) this.#noteLines(moves, []);
      for (const { item } of ofLines) if (item !== undefined) known.set(String(item.pk), { line: decodeLine(item) });
      // The row of its key was deleted, so there is no count to change. The task must still be able to end.
      if (refusalsOf(sent, 'slot').length > 0) leave = [];
      else if (ofLines.length === 0) return sent;
      return contended(sent);
    });
  }

  #noteLines(moves: readonly ChangeMove[], plans: readonly LineChange[]): void {
    for (const [at, { children, ...move }] of moves.entries())
      this.lines.note({ ...move, joiners: children.length }, plans[at]);
  }

  async #send(
    { task, own, batch, effects, isFollowed = false }: Change,
    companions: readonly Part[],
    { writes, children }: ReturnType<typeof effectParts>,
    stamp: Stamp,
    limits: WriteLimits | undefined,
  ): Promise<Sent> {
    const parts = [...companions, ...(batch === undefined ? [] : [partOf('batch', batch)]), ...writes, ...children];
    const named = companions.map(({ action }) => action);
    const token = tokenOf(stamp, isFollowed ? [actionOf(own), ...named] : named);
    if (parts.length === 0 && effects === undefined) return this.#sender.write(own, stamp.nonce, limits);
    const actions = 1 + parts.length;
    if (actions > TRANSACTION_ACTIONS_LIMIT)
      throw new ConfigurationError(
        `${describeTask(task)} and its dependent rows would take ${actions} actions, and ` +
          `one transaction takes ${TRANSACTION_ACTIONS_LIMIT}: ` +
          `${1 + companions.length} are its own and those of lines and batches, write or spawn less together with it`,
      );
    const transaction = together(
      own,
      parts.map(({ action }) => action),
      token,
    );
    const isStaleAfterConflict = companions.some(({ owner }) => owner.kind === 'line');
    const result = await this.#sender.transact(transaction, stamp.nonce, limits, { isStaleAfterConflict });
    if (result.kind !== 'canceled') return result;
    const ours = [actionOf(own), ...parts.map(({ owner, action }) => (owner.kind === 'effect' ? undefined : action))];
    await ensureFit({ sender: this.#sender, table: this.#table }, ours, result.reasons);
    return { ...result, reasons: reasonsOf(parts, result.reasons) };
  }

  /**
   * Sends a change that ends an attempt. If the row refuses it, still shows this attempt and has a follower, the task
   * continues with the follower instead: it becomes ready, so its batch and its line keep waiting.
   * Within an attempt, a follower can only be replaced by a newer one, so the first write cannot be applied late.
   */
  async #unlessFollowed<Result extends Settled | CommitOutcome>(
    change: Change,
    limits: WriteLimits | undefined,
    send: (change: Change) => Promise<Result>,
    seen?: Followed,
  ): Promise<Result> {
    const { task, promote } = change;
    let followed = seen;
    const patience = { ...this.#sender.patience, ...limits };
    return retryContended(`the end of ${describeTask(task)}`, patience, async () => {
      const promotion = promote === undefined || followed === undefined ? undefined : promote(followed);
      const result = await send(
        promotion === undefined ? change : { ...change, own: promotion, to: 'ready', isFollowed: true },
      );
      if (result.kind === 'applied') return promotion === undefined ? result : { ...result, isFollowed: true };
      const next = followerIn(change, result);
      if (next === undefined || result.kind === 'canceled') return result;
      followed = next;
      return contended(result);
    });
  }
}

/** The follower that made the row refuse the end of this attempt, if any. */
export function followerIn({ task, promote }: Change, result: Settled | CommitOutcome): Followed | undefined {
  if (promote === undefined || result.kind !== 'refused') return undefined;
  const { current } = result;
  const isSame = current?.state === 'running' && current.leaseCounter === task.leaseCounter;
  if (!isSame || current.session !== task.session || current.follower === undefined) return undefined;
  return { follower: current.follower, journal: current.journal };
}

type ChangeMove = Omit<LineMove, 'joiners'> & { readonly children: NewTask[] };

function isEnd(to: Change['to']): to is ChildEnding {
  return to !== 'ready' && to !== 'running';
}

/** A change's moves, one for each line: the task leaves its line, and children join theirs. */
function movesOf({ task, to, effects = [] }: Change): readonly ChangeMove[] {
  const moves = new Map<string, ChangeMove>();
  const place = isEnd(to) ? task.links?.line : undefined;
  const { queue } = task;
  if (place !== undefined) {
    const { key, ticket } = place;
    moves.set(lineKey(queue, key).pk, { queue, key, leaver: ticket, children: [] });
  }
  for (const child of spawnedIn(effects)) {
    const { line: key } = child;
    if (key === undefined) continue;
    const { pk } = lineKey(child.queue, key);
    const move = moves.get(pk) ?? { queue: child.queue, key, children: [] };
    move.children.push(child);
    moves.set(pk, move);
  }
  return [...moves.values()];
}
