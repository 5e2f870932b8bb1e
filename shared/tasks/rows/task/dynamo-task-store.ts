import type { BatchRecord } from '../../task/batch.ts';
import { waiterOf } from '../../task/batch.ts';
import type { Fullness, KeyLimit } from '../../task/key-limit.ts';
import { fullnessOf, IDLE_KEY } from '../../task/key-limit.ts';
import { CorruptItemError } from '../../../core/errors.ts';
import type { Stamp } from '../../../core/lease/write.ts';
import type { ClaimLimits, NewTask, TaskStore } from '../../task/task-store.ts';
import type { Json, ReadyTask, RunningTask, TaskRecord } from '../../task/task.ts';
import { decodeBatch, createBatch, readBatch } from '../batch-statements.ts';
import { decodeTask } from './task-codec.ts';
import { spawnedIn } from './change-parts.ts';
import { SharedWrites } from './shared-writes.ts';
import { TaskEndings } from './task-endings.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { taskKey } from '../../../dynamo/engine/keys.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import type { EnqueueStore } from '../../queue/task-writer.ts';
import { createEnqueueStore } from './enqueue-store.ts';
import { outcomeOf, Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender, TransactionResult, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { readPayload } from '../payload-statements.ts';
import { putFailure, readFailure } from '../failure-statements.ts';
import type { TaskReader } from './task-reader.ts';
import { createTaskReader } from './task-reader.ts';
import { barCommit, commitTask } from './commit-statements.ts';
import { waitForChildren } from './children-statements.ts';
import { decodeKey, enterKey, readKey } from '../key-statements.ts';
import { expireTask, joinGroup } from './operator-statements.ts';
import { leaveLine } from './line-statements.ts';
import * as statements from './task-statements.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';

/** For stores of further rows. */
export interface TaskStoreParts {
  readonly sender: Sender;
  readonly options: TaskStoreOptions;
  readonly endings: TaskEndings;
}

export function createTaskStore(sender: Sender, options: TaskStoreOptions): TaskStore {
  const reader = createTaskReader(sender, options.table);
  const attempts = new AttemptStore(sender, options, reader);
  return Object.assign(attempts, createEnqueueStore(sender, options), reader, { getTurns: attempts.turnsBy(reader) });
}

/** The writes of workers, and of contenders of a dead worker: the beginning of an attempt, its records, and its end. */
class AttemptStore implements Omit<TaskStore, keyof EnqueueStore | keyof TaskReader> {
  readonly table: string;
  readonly parts: TaskStoreParts;
  readonly #sender: Sender;
  readonly #options: TaskStoreOptions;
  readonly #reader: TaskReader;
  readonly #tasks: Rows<TaskRecord>;
  readonly #batches: Rows<BatchRecord>;
  readonly #endings: TaskEndings;
  readonly #entries: SharedWrites<TransactionResult>;

  constructor(sender: Sender, options: TaskStoreOptions, reader: TaskReader) {
    this.table = options.table;
    this.#sender = sender;
    this.#options = options;
    this.#reader = reader;
    this.#tasks = new Rows(sender, decodeTask);
    this.#batches = new Rows(sender, decodeBatch);
    this.#endings = new TaskEndings(sender, options);
    this.parts = { sender, options, endings: this.#endings };
    this.#entries = new SharedWrites(sender);
  }

  /** Reads no line that this process has itself led to the turn asked for. */
  turnsBy(reader: TaskReader): TaskStore['getTurns'] {
    const { lines } = this.#endings.linked;
    return async (queue, keys, query = {}) => {
      const { atLeast = Infinity } = query;
      const left = new Map(keys.map((key) => [key, lines.turnLeft(queue, key)]));
      const unknown = keys.filter((key) => (left.get(key) ?? 0) < atLeast);
      return unknown.length === 0 ? left : new Map([...left, ...(await reader.getTurns(queue, unknown, query))]);
    };
  }

  readonly complete: TaskStore['complete'] = (claim, result, stamp, limits) =>
    this.#endings.end(
      'complete',
      claim,
      statements.completeTask(this.table, claim, encode(result), this.#endings.stampOf(claim, 'done', stamp)),
      stamp,
      { limits, result },
    );

  readonly discard: TaskStore['discard'] = (claim, error, stamp, limits) =>
    this.#endings.end(
      'discard',
      claim,
      statements.discardTask(this.table, claim, error, this.#endings.stampOf(claim, 'dead', stamp)),
      stamp,
      { limits, error },
    );

  readonly giveUp: TaskStore['giveUp'] = (claim, reason, stamp, limits) =>
    this.#endings.end(
      'giveUp',
      claim,
      statements.giveUpTask(this.table, claim, reason, this.#endings.stampOf(claim, 'cancelled', stamp)),
      stamp,
      { limits },
    );

  readonly retry: TaskStore['retry'] = (claim, failure, stamp, limits) => {
    const own = statements.retryTask(this.table, claim, failure, this.#options.shards, stamp);
    const verb = failure.isRefunded === true ? 'release' : 'retry';
    return this.#endings.end(verb, claim, own, stamp, { limits, error: failure.error });
  };

  readonly release: TaskStore['release'] = (claim, stamp, limits) =>
    this.#endings.end('release', claim, statements.releaseTask(this.table, claim, stamp), stamp, { limits });

  readonly snooze: TaskStore['snooze'] = (claim, readyAt, stamp, limits) => {
    const own = statements.snoozeTask(this.table, claim, { readyAt, shards: this.#options.shards }, stamp);
    return this.#endings.end('snooze', claim, own, stamp, { limits });
  };

  readonly markDead: TaskStore['markDead'] = (observed, error, stamp) =>
    this.#endings.end(
      'markDead',
      observed,
      statements.markDead(this.table, observed, error, this.#endings.stampOf(observed, 'dead', stamp)),
      stamp,
      { error },
    );

  readonly cancel: TaskStore['cancel'] = (...cancelling) => this.#endings.cancel(...cancelling);

  readonly expire: TaskStore['expire'] = (observed, stamp) => {
    const early = expireTask(this.table, observed, EXPIRED, stamp, this.#options.shards);
    const own = expireTask(this.table, observed, EXPIRED, this.#endings.stampOf(observed, 'cancelled', stamp));
    return this.#endings.end('expire', observed, own, stamp, { early });
  };

  readonly passTurn: TaskStore['passTurn'] = (observed, stamp, limits) => {
    const { queue, id, links } = observed;
    // Its batch has counted its end.
    const task = { queue, id, links: { line: links?.line } };
    // It has ended when it was cancelled.
    const { place } = this.#endings.stampOf(observed, 'cancelled', { ...stamp, now: observed.finishedAt });
    const own = leaveLine(this.table, observed, { ...stamp, place });
    return this.#endings.end('passTurn', task, own, stamp, { limits });
  };

  readonly commit: TaskStore['commit'] = async (claim, result, effects, stamp, limits) => {
    // The nonce is unique per logical commit and the same for all its attempts, as the service's idempotency token requires.
    const ending = this.#endings.stampOf(claim, 'done', stamp);
    const own = commitTask(this.table, claim, { result: encode(result), children: spawnedIn(effects) }, ending);
    const change = { ...this.#endings.changeOf('complete', claim, own, stamp, { result }), effects };
    const outcome = await this.#endings.linked.commit(change, stamp, limits);
    if (outcome.kind === 'applied') this.#options.onCreated?.(spawnedIn(effects), stamp.now);
    return outcome;
  };

  readonly waitForChildren: TaskStore['waitForChildren'] = async (claim, id, children, stamp, limits) => {
    const { queue } = claim;
    const { shards, onCreated } = this.#options;
    const counter = { queue, id, total: children.length, waiter: waiterOf(claim) };
    const batch = actionOf(createBatch(this.table, counter, stamp));
    const own = waitForChildren(this.table, claim, counter, shards, stamp);
    const effects = children.map((child) => ({ spawn: child }));
    const outcome = await this.#endings.linked.commit({ task: claim, to: 'ready', own, batch, effects }, stamp, limits);
    if (outcome.kind === 'applied') onCreated?.(children, stamp.now);
    if (outcome.kind !== 'refused' || outcome.current?.follower === undefined) return outcome;
    // Its children are no longer needed: if the task continues, it has other work.
    const settled = await this.#endings.end('snooze', claim, own, stamp, { limits });
    return settled.kind === 'refused' ? settled : { kind: 'applied', isFollowed: settled.isFollowed === true };
  };

  readonly bar: TaskStore['bar'] = async (claim, stamp, limits) => {
    const result = await this.#sender.write(barCommit(this.table, claim, stamp), stamp.nonce, limits);
    return result.kind === 'applied' ? { kind: 'applied', row: undefined } : outcomeOf(result, decodeTask, decodeTask);
  };

  readonly progress: TaskStore['progress'] = (claim, progress, stamp, limits) =>
    this.#tasks.write(statements.saveProgress(this.table, claim, storedJson(progress), stamp), stamp, limits);

  readonly keepFailure: TaskStore['keepFailure'] = async (claim, stack, stamp, limits) => {
    const result = await this.#sender.write(putFailure(this.table, claim, stack, stamp), stamp.nonce, limits);
    return result.kind === 'applied'
      ? { kind: 'applied', row: undefined }
      : { kind: 'refused', current: undefined, earlierAttempt: result.earlierAttempt };
  };

  readonly getFailure: TaskStore['getFailure'] = async (key) => {
    const { Item } = await this.#sender.read(readFailure(this.table, key));
    if (Item === undefined) return undefined;
    const row = new ItemReader(Item);
    return { stack: row.string('text'), leaseCounter: row.count('leaseCounter') };
  };

  readonly getPayload: TaskStore['getPayload'] = async (task, limits) => {
    const { Item } = await this.#sender.read(readPayload(this.table, task, task.payload ?? {}), limits);
    return Item === undefined ? undefined : new ItemReader(Item).text('text');
  };

  readonly claim: TaskStore['claim'] = async (observed, session, stamp, limits) => {
    const line = observed.links?.line;
    if (line !== undefined && limits?.hasTurn !== true) {
      const turns = await this.#reader.getTurns(observed.queue, [line.key]);
      if (line.ticket > (turns.get(line.key) ?? 0))
        return { kind: 'refused', current: undefined, earlierAttempt: 'none' };
    }
    ensureRaisable(observed);
    const own = statements.claimTask(this.table, observed, session, stamp);
    const result =
      observed.links?.concurrency === undefined
        ? await this.#sender.write(own, stamp.nonce, limits)
        : await this.#claimWithPlace(own, { observed, session, limit: observed.links.concurrency }, stamp, limits);
    if (result.kind === 'full')
      return { kind: 'refused', current: undefined, earlierAttempt: 'none', full: result.full };
    if (result.kind === 'applied' && result.item === undefined)
      return { kind: 'applied', row: claimedRow(observed, session, stamp) };
    return outcomeOf(result, decodeRunning, decodeTask);
  };

  readonly takeOver: TaskStore['takeOver'] = async (observed, session, stamp, limits) => {
    ensureRaisable(observed);
    const own = statements.takeOverTask(this.table, observed, session, stamp);
    return this.#tasks.writeAs<RunningTask>(own, stamp, limits);
  };

  readonly join: TaskStore['join'] = async (observed, stamp, limits) => {
    const own = joinGroup(this.table, observed, this.#options.shards, stamp);
    const result = await this.#sender.write(own, stamp.nonce, limits);
    if (result.kind === 'applied') return { kind: 'applied', row: undefined };
    return { ...result, current: result.item && decodeTask(result.item) };
  };

  readonly createBatch: TaskStore['createBatch'] = async (batch, callback, stamp) => {
    const own = createBatch(this.table, batch, stamp);
    const result =
      callback === undefined
        ? await this.#sender.write(own, stamp.nonce)
        : await this.#sender.transact(together(own, [this.#creationOf(callback, stamp)], stamp.nonce), stamp.nonce);
    if (result.kind === 'applied') return { kind: 'applied' };
    const { earlierAttempt } = result;
    if (result.kind === 'refused')
      return { kind: 'refused', current: result.item && decodeBatch(result.item), earlierAttempt };
    return { kind: 'refused', current: undefined, earlierAttempt, taken: decodeTask(result.reasons[1]?.item ?? {}) };
  };

  #creationOf(task: NewTask, stamp: Stamp): Action {
    return actionOf(statements.enqueueTask(this.table, task, this.#options.shards, stamp));
  }

  readonly getBatch: TaskStore['getBatch'] = (key) => this.#batches.get(readBatch(this.table, key));

  /**
   * Claims a task together with a slot of its key. A read detects a key at capacity, at a fifth of the cost of a refusal.
   * If a slot has just become free, it is probably still free: a read would cost a round trip in which the slot is idle.
   */
  async #claimWithPlace(
    own: Statement<'update'>,
    { observed, session, limit }: { observed: ReadyTask; session: string; limit: KeyLimit },
    stamp: Stamp,
    limits: ClaimLimits | undefined,
  ): Promise<WriteResult | { readonly kind: 'full'; readonly full: Fullness }> {
    const isLookedAt = limits?.expectsCapacity !== true || limit.rate !== undefined;
    const state = isLookedAt
      ? decodeKey((await this.#sender.read(readKey(this.table, observed.queue, limit.key))).Item)
      : IDLE_KEY;
    const full = fullnessOf(limit, state, stamp.now);
    if (full !== undefined) return { kind: 'full', full };
    const enter = (count: number, by: Stamp) => enterKey(this.table, observed, limit, state, by, count);
    const alone = () =>
      this.#sender.transact(together(own, [actionOf(enter(1, stamp))], stamp.nonce), stamp.nonce, limits);
    const names = [observed.queue, limit.key, String(limit.limit), session];
    const result =
      limit.rate === undefined && limits !== undefined
        ? await this.#entries.send({ names, own, stamp, limits, merge: enter, alone })
        : await alone();
    return result.kind === 'canceled' ? { ...result, kind: 'refused', item: undefined } : result;
  }
}

const EXPIRED = 'not started before it expired';

/** A claim raises the counter, which starts at the clock. @throws CorruptItemError for one that could not be read then */
function ensureRaisable({ queue, id, leaseCounter }: TaskRecord): void {
  if (Number.isSafeInteger(leaseCounter + 1)) return;
  const found = `is ${leaseCounter}: no claim can raise it`;
  throw new CorruptItemError(taskKey(queue, id).pk, 'leaseCounter', found);
}

/** The task after a claim whose response has no row: the guard ensures that it was as observed. */
function claimedRow(observed: ReadyTask, session: string, { now, nonce }: Stamp): RunningTask {
  const { leaseCounter, attempts } = observed;
  const claim = { session, claimedAt: now, nonce, leaseCounter: leaseCounter + 1, attempts: attempts + 1 };
  return { ...observed, ...claim, state: 'running' };
}

function encode(result: Json | undefined): StoredText | undefined {
  return result === undefined ? undefined : storedJson(result);
}

function decodeRunning(item: DynamoItem): RunningTask {
  return decodeTask(item) as RunningTask;
}
