/**
 * The parts of a transaction that changes a task: each action together with its owner, which is what the action is for.
 * The service answers with one reason for each action, in their order.
 * Only `reasonsOf` knows about that order: all others look for an owner.
 */
import type { CancellationReason } from '../../../dynamo/engine/driver.ts';
import type { WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import type { BatchRecord, ChildEnding } from '../../task/batch.ts';
import type { Effect, EffectReason, NewTask, UserWrite, CommitOutcome } from '../../task/task-store.ts';
import type { Follower, Json, RunningTask, TaskError, TaskKey, TaskLinks } from '../../task/task.ts';
import { decodeTask } from './task-codec.ts';

export type Linked = TaskKey & {
  readonly links?: TaskLinks | undefined;
  /** Session of the ending attempt. */
  readonly session?: string | undefined;
  readonly leaseCounter?: number;
};

/** A running task with a follower, and its journal if it has one. */
export interface Followed extends Pick<RunningTask, 'journal'> {
  readonly follower: Follower;
}

/** A change of a task that requires changes of dependent rows. */
export interface Change {
  readonly task: Linked;
  /** Default: `running`. */
  readonly from?: 'ready' | 'running';
  readonly to: 'ready' | 'running' | ChildEnding;
  /** The task's own write. Its guard and nonce apply to the whole transaction. */
  readonly own: Statement<'update'>;
  /** The write to use instead if the task ends before its turn in its line: its place stays. */
  readonly early?: Statement<'update'> | undefined;
  /** The write to use instead if the task has a follower. */
  readonly promote?: (followed: Followed) => Statement<'update'>;
  /** Whether `own` is that write. */
  readonly isFollowed?: boolean;
  /** Creates the row that counts the children of this task. */
  readonly batch?: Action;
  /** The effects of the user's code in the same transaction. */
  readonly effects?: readonly Effect[];
  /** How it ends, for a durable task that waits for it. */
  readonly outcome?: { readonly result?: Json | undefined; readonly error?: TaskError | undefined };
}

/**
 * `count`: the end of a child in its batch. `waiter`: the parent that waits for it. `slot`: the slot of the task's key.
 * `line`: a line that it leaves, or that its children join.
 * `batch`: the row that counts the task's own children. `effect`: what the user's code does in the same
 * transaction.
 */
type Owner =
  | { readonly kind: 'count' | 'waiter' | 'slot' | 'line' | 'batch' }
  | { readonly kind: 'effect'; readonly effect: Effect };

export interface Part {
  readonly owner: Owner;
  readonly action: Action;
}

export interface PartReason<Of extends Owner = Owner> extends CancellationReason {
  readonly owner: Of;
}

export type Sent =
  | (WriteResult & { readonly miscounted?: BatchRecord | undefined })
  | {
      readonly kind: 'canceled';
      readonly reasons: readonly PartReason[];
      readonly earlierAttempt: 'none' | 'unknown';
    };

export function miscountedIn(sent: Sent): BatchRecord | undefined {
  return sent.kind === 'applied' ? sent.miscounted : undefined;
}

export function partOf(kind: Exclude<Owner['kind'], 'effect'>, action: Action): Part {
  return { owner: { kind }, action };
}

/** @param creation the row of a spawned task */
export function effectParts(
  effects: readonly Effect[],
  creation: (task: NewTask) => Action,
): { readonly writes: readonly Part[]; readonly children: readonly Part[] } {
  const partOfEffect = (effect: Effect, action: Action): Part => ({ owner: { kind: 'effect', effect }, action });
  return {
    writes: writesIn(effects).map((write) => partOfEffect(write, write)),
    children: effects.flatMap((effect) => ('spawn' in effect ? [partOfEffect(effect, creation(effect.spawn))] : [])),
  };
}

/** The user's own writes. */
export function writesIn(effects: readonly Effect[]): readonly UserWrite[] {
  return effects.filter((effect): effect is UserWrite => !('spawn' in effect));
}

/** The tasks that effects create. */
export function spawnedIn(effects: readonly Effect[]): readonly NewTask[] {
  return effects.flatMap((effect) => ('spawn' in effect ? [effect.spawn] : []));
}

/** @param reasons of the transaction, whose first action is the task's own write */
export function reasonsOf(
  parts: readonly Part[],
  [, ...reasons]: readonly CancellationReason[],
): readonly PartReason[] {
  return parts.map(({ owner }, at) => ({ code: 'None', ...reasons[at], owner }));
}

/** Returns the refused actions of a kind, if they stopped the transaction. */
export function refusalsOf<Kind extends Owner['kind']>(
  sent: Sent,
  kind: Kind,
): readonly PartReason<Extract<Owner, { readonly kind: Kind }>>[] {
  if (sent.kind !== 'canceled') return [];
  return sent.reasons.filter(
    (reason): reason is PartReason<Extract<Owner, { readonly kind: Kind }>> =>
      reason.owner.kind === kind && reason.code === 'ConditionalCheckFailed',
  );
}

/** Returns one reason for each effect. A spawned task can have two rows: the reason is from the row that was refused. */
export function effectReasons(sent: Sent): readonly EffectReason[] {
  const found = new Map<Effect | undefined, EffectReason>();
  for (const { owner, code, item, message } of sent.kind === 'canceled' ? sent.reasons : []) {
    if (owner.kind !== 'effect' && owner.kind !== 'batch') continue;
    const effect = owner.kind === 'effect' ? owner.effect : undefined;
    if ((found.get(effect)?.code ?? 'None') === 'None') found.set(effect, { effect, code, item, message });
  }
  return [...found.values()];
}

/** @param reasons of a canceled transaction */
export function committedOutcome(
  result: WriteResult | { readonly kind: 'canceled' },
  reasons: readonly EffectReason[],
): CommitOutcome {
  if (result.kind === 'canceled') return { kind: 'canceled', reasons };
  if (result.kind === 'applied') return { kind: 'applied' };
  return { ...result, current: result.item === undefined ? undefined : decodeTask(result.item) };
}
