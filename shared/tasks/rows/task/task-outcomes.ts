import type { CommitOutcome } from '../../task/task-store.ts';
import type { TransactionResult } from '../../../dynamo/engine/send.ts';
import { decodeTask } from './task-codec.ts';

export function committedOutcome(result: TransactionResult): CommitOutcome {
  if (result.kind === 'canceled') return { kind: 'canceled', reasons: result.reasons };
  if (result.kind === 'applied') return { kind: 'applied' };
  return { ...result, current: result.item === undefined ? undefined : decodeTask(result.item) };
}
