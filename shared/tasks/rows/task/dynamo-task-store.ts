import { waiterOf } from '../../task/batch.ts';
import type { Fullness } from '../../task/key-limit.ts';
import { fullnessOf, IDLE_KEY } from '../../task/key-limit.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { ClaimLimits, SequencedStamp, UserWrite } from '../../task/task-store.ts';
import type { TaskAndPackStore } from '../../bulk/pack-store.ts';
import type { Claim, Follower, Json, ReadyTask, RunningTask } from '../../task/task.ts';
import { decodeBatch } from '../batch-codec.ts';
import { decodeTask } from './task-codec.ts';
import { spawnedIn } from './change-parts.ts';
import { DependentRows } from './dependent-rows.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { creationOf } from './effects.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { createEnqueueStore } from './enqueue-store.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import { createPackStore } from './dynamo-pack-store.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedJson } from '../../../dynamo/engine/stored-json.ts';
import { createBatch, readBatch } from '../batch-statements.ts';
import { putFailure, readFailure } from '../failure-statements.ts';
import { readPayload } from '../payload-statements.ts';
import { createTaskReader } from './task-reader.ts';
import { waitForChildren } from './children-statements.ts';
import { barCommit, commitTask } from './commit-statements.ts';
import type { Ended } from './follower-statements.ts';
import { promoteFollower } from './follower-statements.ts';
import { decodeKey } from '../key-codec.ts';
import { enterKey, readKey } from '../key-statements.ts';
import { cancelTask } from './cancelling.ts';
import { expireTask } from './operator-statements.ts';
import { joinGroup } from './group-statements.ts';
import { leaveLine } from './line-statements.ts';
import * as statements from './task-statements.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';

export function createTaskStore(sender: Sender, options: TaskStoreOptions): TaskAndPackStore {
  const { table, shards, onCreated } = options;
  const linked = new DependentRows(sender, { table, shards });
  const tasks = new Rows(sender, decodeTask);
  const batches = new Rows(sender, decodeBatch);
  const reader = createTaskReader(sender, table);
  return {
    table,
    bulk: createPackStore(sender, linked, options),

    ...createEnqueueStore(sender, options),
    ...reader,

    enqueueWrites: (task, stamp) => creationOf({ table, shards }, task, stamp) as UserWrite[],

    async createBatch(batch, callback, stamp) {
      const own = createBatch(table, batch, stamp);
      const beside = callback === undefined ? [] : creationOf({ table, shards }, callback, stamp);
      const result =
        beside.length === 0
          ? await sender.write(own, stamp.nonce)
          : await sender.transact(together(own, beside, stamp.nonce), stamp.nonce);
      if (result.kind === 'applied') return { kind: 'applied' };
      const { earlierAttempt } = result;
      if (result.kind === 'refused')
        return { kind: 'refused', current: result.item && decodeBatch(result.item), earlierAttempt };
      return { kind: 'refused', current: undefined, earlierAttempt, taken: decodeTask(result.reasons[1]?.item ?? {}) };
    },

    getBatch: (key) => batches.get(readBatch(table, key)),

    async getPayload(task, limits) {
      const { Item } = await sender.read(readPayload(table, task, task.payload), limits);
      return Item === undefined ? undefined : new ItemReader(Item).text('text');
    },

    async keepFailure(claim, stack, stamp, limits) {
      const result = await sender.write(putFailure(table, claim, stack, stamp), stamp.nonce, limits);
      return result.kind === 'applied'
        ? { kind: 'applied', row: undefined }
        : { kind: 'refused', current: undefined, earlierAttempt: result.earlierAttempt };
    },

    async getFailure(key) {
      const { Item } = await sender.read(readFailure(table, key));
      if (Item === undefined) return undefined;
      const row = new ItemReader(Item);
      return { stack: row.string('text'), leaseCounter: row.count('leaseCounter') };
    },

    async claim(observed, session, stamp, limits) {
      const line = observed.links?.line;
      if (line !== undefined && limits?.hasTurn !== true) {
        const turns = await reader.getTurns(observed.queue, [line.key]);
        if (line.ticket > (turns.get(line.key) ?? 0))
          return { kind: 'refused', current: undefined, earlierAttempt: 'none' };
      }
      const own = statements.claimTask(table, observed, session, stamp);
      const result =
        observed.links?.concurrency === undefined
          ? await sender.write(own, stamp.nonce, limits)
          : await claimWithPlace(own, observed, stamp, limits);
      if (result.kind === 'full')
        return { kind: 'refused', current: undefined, earlierAttempt: 'none', full: result.full };
      if (result.kind === 'applied' && result.item === undefined)
        return { kind: 'applied', row: claimedRow(observed, session, stamp) };
      return outcomeOf(result, decodeRunning, decodeTask);
    },

    async join(observed, stamp, limits) {
      const result = await sender.write(joinGroup(table, observed, shards, stamp), stamp.nonce, limits);
      if (result.kind === 'applied') return { kind: 'applied', row: undefined };
      return { ...result, current: result.item && decodeTask(result.item) };
    },

    async passTurn(observed, stamp, limits) {
      const { queue, id, links } = observed;
      const own = leaveLine(table, observed, stamp);
      // Its batch has counted its end.
      const task = { queue, id, links: { line: links?.line } };
      return linked.settle({ task, from: 'ready', to: 'cancelled', own }, stamp, limits);
    },

    takeOver: (observed, session, stamp, limits) =>
      tasks.writeAs<RunningTask>(statements.takeOverTask(table, observed, session, stamp), stamp, limits),

    bury: (observed, error, stamp) =>
      linked.settle(
        {
          task: observed,
          to: 'dead',
          own: statements.markDead(table, observed, error, stamp),
          promote: promoting(observed, { how: 'died', error }, stamp),
        },
        stamp,
      ),

    complete: (claim, result, stamp, limits) =>
      linked.settle(
        {
          task: claim,
          to: 'done',
          own: statements.completeTask(table, claim, encode(result), stamp),
          promote: promoting(claim, { how: 'done' }, stamp),
        },
        stamp,
        limits,
      ),

    async commit(claim, result, effects, stamp, limits) {
      // The nonce is unique per logical commit and the same for all its attempts, as the service's idempotency token requires.
      const own = commitTask(table, claim, encode(result), stamp);
      const promote = promoting(claim, { how: 'done' }, stamp);
      const outcome = await linked.commit({ task: claim, to: 'done', own, promote, effects }, stamp, limits);
      if (outcome.kind === 'applied') onCreated?.(spawnedIn(effects), stamp.now);
      return outcome;
    },

    retry: (claim, failure, stamp, limits) => {
      const how = failure.isRefunded === true ? 'released' : 'failed';
      const own = statements.retryTask(table, claim, failure, shards, stamp);
      const promote = promoting(claim, { how, error: failure.error }, stamp);
      return linked.settle({ task: claim, to: 'ready', own, promote }, stamp, limits);
    },

    async waitForChildren(claim, id, children, stamp, limits) {
      const { queue } = claim;
      const batch = actionOf(createBatch(table, { queue, id, total: children.length, waiter: waiterOf(claim) }, stamp));
      const own = waitForChildren(table, claim, id, shards, stamp);
      const effects = children.map((child) => ({ spawn: child }));
      const outcome = await linked.commit({ task: claim, to: 'ready', own, batch, effects }, stamp, limits);
      if (outcome.kind === 'applied') onCreated?.(children, stamp.now);
      if (outcome.kind !== 'refused' || outcome.current?.follower === undefined) return outcome;
      // Its children are no longer needed: if the task continues, it has other work.
      const settled = await linked.settle(
        { task: claim, to: 'ready', own, promote: promoting(claim, { how: 'snoozed' }, stamp) },
        stamp,
        limits,
      );
      return settled.kind === 'refused' ? settled : { kind: 'applied', isFollowed: settled.isFollowed === true };
    },

    discard: (claim, error, stamp, limits) =>
      linked.settle(
        {
          task: claim,
          to: 'dead',
          own: statements.discardTask(table, claim, error, stamp),
          promote: promoting(claim, { how: 'failed', error }, stamp),
        },
        stamp,
        limits,
      ),

    giveUp: (claim, reason, stamp, limits) =>
      linked.settle(
        {
          task: claim,
          to: 'cancelled',
          own: statements.giveUpTask(table, claim, reason, stamp),
          promote: promoting(claim, { how: 'cancelled' }, stamp),
        },
        stamp,
        limits,
      ),

    cancel: (observed, cancellation, stamp) => cancelTask(linked, { table, shards }, observed, cancellation, stamp),

    expire: (observed, stamp) =>
      linked.settle(
        {
          task: observed,
          from: 'ready',
          to: 'cancelled',
          own: expireTask(table, observed, EXPIRED, stamp),
          early: expireTask(table, observed, EXPIRED, stamp, shards),
        },
        stamp,
      ),

    release: (claim, stamp, limits) =>
      linked.settle(
        {
          task: claim,
          to: 'ready',
          own: statements.releaseTask(table, claim, stamp),
          promote: promoting(claim, { how: 'released' }, stamp),
        },
        stamp,
        limits,
      ),

    snooze: (claim, readyAt, stamp, limits) =>
      linked.settle(
        {
          task: claim,
          to: 'ready',
          own: statements.snoozeTask(table, claim, { readyAt, shards }, stamp),
          promote: promoting(claim, { how: 'snoozed' }, stamp),
        },
        stamp,
        limits,
      ),

    async bar(claim, stamp, limits) {
      const result = await sender.write(barCommit(table, claim, stamp), stamp.nonce, limits);
      return result.kind === 'applied'
        ? { kind: 'applied', row: undefined }
        : outcomeOf(result, decodeTask, decodeTask);
    },

    progress: (claim, progress, stamp, limits) =>
      tasks.write(statements.saveProgress(table, claim, storedJson(progress), stamp), stamp, limits),
  };

  function promoting(claim: Claim, ended: Ended, stamp: Stamp & Partial<SequencedStamp>) {
    return (follower: Follower) => promoteFollower(table, claim, { ...ended, follower }, shards, stamp);
  }

  /**
   * Claims a task together with a slot of its key. A read detects a key at capacity, at a fifth of the cost of a refusal.
   * If a slot has just become free, it is probably still free: a read would cost a round trip in which the slot is idle.
   */
  async function claimWithPlace(
    own: Statement<'update'>,
    observed: ReadyTask,
    stamp: Stamp,
    limits: ClaimLimits | undefined,
  ): Promise<WriteResult | { readonly kind: 'full'; readonly full: Fullness }> {
    const limit = observed.links?.concurrency;
    if (limit === undefined) throw new Error('a task without a key takes no slot');
    const isLookedAt = limits?.expectsCapacity !== true || limit.rate !== undefined;
    const state = isLookedAt
      ? decodeKey((await sender.read(readKey(table, observed.queue, limit.key))).Item)
      : IDLE_KEY;
    const full = fullnessOf(limit, state, stamp.now);
    if (full !== undefined) return { kind: 'full', full };
    const enter = actionOf(enterKey(table, observed, limit, state, stamp));
    const result = await sender.transact(together(own, [enter], stamp.nonce), stamp.nonce, limits);
    return result.kind === 'canceled' ? { ...result, kind: 'refused', item: undefined } : result;
  }
}

const EXPIRED = 'not started before it expired';

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
