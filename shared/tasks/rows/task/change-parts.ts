/**
 * The parts of a transaction that changes a task: each action together with its owner, which is what the action is for.
 * The service answers with one reason for each action, in their order.
 * Only `reasonsOf` knows about that order: all others look for an owner.
 */
import type { CancellationReason } from '../../../dynamo/engine/driver.ts';
import type { WriteResult } from '../../../dynamo/engine/send.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import type { BatchRecord } from '../../task/batch.ts';
import { isMiscounted } from '../../task/batch.ts';
import type { Effect, EffectReason, NewTask, UserWrite } from '../../task/task-store.ts';

/**
 * `count`: the end of a child in its batch. `waiter`: the parent that waits for it. `slot`: the slot of the task's key.
 * `line`: a line that it leaves, or that its children join.
 * `batch`: the row that counts the task's own children. `journal`: older elements of a durable task. `effect`: what the user's code does
 * in the same transaction.
 */
type Owner =
  | { readonly kind: 'count' | 'waiter' | 'slot' | 'line' | 'batch' | 'journal' }
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

/** Reported to the caller that ends the child; the child ends anyway. */
export function noteOf(batch: BatchRecord | undefined): { readonly miscounted?: BatchRecord } {
  return batch !== undefined && isMiscounted(batch) ? { miscounted: batch } : {};
}

export function miscountedIn(sent: Sent): BatchRecord | undefined {
  return sent.kind === 'applied' ? sent.miscounted : undefined;
}

export function partOf(kind: Exclude<Owner['kind'], 'effect'>, action: Action): Part {
  return { owner: { kind }, action };
}

/** @param creation the rows of a spawned task */
export function effectParts(
  effects: readonly Effect[],
  creation: (task: NewTask) => readonly Action[],
): { readonly writes: readonly Part[]; readonly children: readonly Part[] } {
  const partsOf = (effect: Effect, actions: readonly Action[]): readonly Part[] =>
    actions.map((action) => ({ owner: { kind: 'effect', effect }, action }));
  return {
    writes: writesIn(effects).flatMap((write) => partsOf(write, [write])),
    children: effects.flatMap((effect) => ('spawn' in effect ? partsOf(effect, creation(effect.spawn)) : [])),
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
