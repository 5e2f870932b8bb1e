import { assert } from '../../core/errors.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import { standing } from './bar.ts';
import type { DynamoItem } from './driver.ts';
import type { WriteResult } from './send.ts';

/**
 * Returns a write's result with decoded records.
 * @param written the row's known content, for writes whose response has no row (puts, transactions)
 */
export function outcomeOf<Row, Current>(
  result: WriteResult,
  decodeRow: (item: DynamoItem) => Row,
  decodeCurrent: (item: DynamoItem) => Current,
  written?: DynamoItem,
): Outcome<Row, Current> {
  if (result.kind === 'refused') {
    const current = standing(result.item);
    return { kind: 'refused', current: current && decodeCurrent(current), earlierAttempt: result.earlierAttempt };
  }
  const item = result.item ?? written;
  assert(item !== undefined, 'a write answered without the row it left behind');
  return { kind: 'applied', row: decodeRow(item), earlierAttempt: result.earlierAttempt };
}
