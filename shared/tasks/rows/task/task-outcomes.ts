import type { CommitOutcome, EffectReason } from '../../task/task-store.ts';
import type { WriteResult } from '../../../dynamo/engine/send.ts';
import { decodeTask } from './task-codec.ts';

/** @param reasons of a canceled transaction */
export function committedOutcome(
  result: WriteResult | { readonly kind: 'canceled' },
  reasons: readonly EffectReason[],
): CommitOutcome {
  if (result.kind === 'canceled') return { kind: 'canceled', reasons };
  if (result.kind === 'applied') return { kind: 'applied' };
  return { ...result, current: result.item === undefined ? undefined : decodeTask(result.item) };
}
