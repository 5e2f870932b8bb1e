import { InvariantError } from '../../core/errors.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import type { DynamoItem } from './driver.ts';
import type { WriteResult } from './send.ts';

/**
 * A write's result in records.
 * @param written what the writer knows to be in the row, for writes whose answer carries none (puts, transactions)
 */
export function outcomeOf<Row, Current>(
  result: WriteResult,
  decodeRow: (item: DynamoItem) => Row,
  decodeCurrent: (item: DynamoItem) => Current,
  written?: DynamoItem,
): Outcome<Row, Current> {
  if (result.kind === 'refused')
    return {
      kind: 'refused',
      current: result.item === undefined ? undefined : decodeCurrent(result.item),
      earlierAttempt: result.earlierAttempt,
    };
  const item = result.item ?? written;
  if (item === undefined) throw new InvariantError('a write answered without the row it left behind');
  return { kind: 'applied', row: decodeRow(item), earlierAttempt: result.earlierAttempt };
}
