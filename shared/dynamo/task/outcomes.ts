import type { CommitOutcome } from '../../task/store.ts';
import type { TransactionResult } from '../engine/send.ts';
import { decodeTask } from './codec.ts';

export function committedOutcome(result: TransactionResult): CommitOutcome {
  if (result.kind === 'canceled') return result;
  if (result.kind === 'applied') return { kind: 'applied' };
  return { ...result, current: result.item === undefined ? undefined : decodeTask(result.item) };
}
