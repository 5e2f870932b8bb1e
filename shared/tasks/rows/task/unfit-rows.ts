/**
 * Dependent rows that refuse a change for another reason than its condition: DynamoDB cannot count with their values.
 * A repetition is refused again, so the row is read once with its codec, which names the fault.
 */
import { CorruptItemError } from '../../../core/errors.ts';
import type { CancellationReason, DynamoItem } from '../../../dynamo/engine/driver.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { isUnfit, rowOf } from '../../../dynamo/engine/transaction.ts';
import { decodeBatch, readBatch } from '../batch-statements.ts';
import { decodeKey, readKey } from '../key-statements.ts';
import { readLine } from './line-statements.ts';
import { decodeLine } from './lines.ts';
import { decodeTask } from './task-codec.ts';
import { readTask } from './task-statements.ts';

interface Codec {
  readonly read: (table: string, queue: string, name: string) => Statement<'get'>;
  readonly decode: (item: DynamoItem) => unknown;
}

const CODECS: Readonly<Record<string, Codec>> = {
  batch: { read: (table, queue, id) => readBatch(table, { queue, id }), decode: decodeBatch },
  key: { read: readKey, decode: decodeKey },
  line: { read: readLine, decode: decodeLine },
  task: { read: readTask, decode: decodeTask },
};

/**
 * @param actions of a transaction that was refused with `reasons`; undefined for the user's own, whose refusal is the user's business
 * @throws CorruptItemError for the first row that refused for another reason than its condition
 */
export async function ensureFit(
  { sender, table }: { readonly sender: Sender; readonly table: string },
  actions: readonly (Action | undefined)[],
  reasons: readonly CancellationReason[],
): Promise<void> {
  const at = reasons.findIndex((reason, nth) => isUnfit(reason) && actions[nth] !== undefined);
  const [action, reason] = [actions[at], reasons[at]];
  if (action === undefined || reason === undefined) return;
  const [pk] = JSON.parse(rowOf(action)) as [string];
  const [kind = '', queue = '', name = ''] = splitKey(pk);
  const codec = CODECS[kind];
  const { Item } = codec === undefined ? {} : await sender.read(codec.read(table, queue, name));
  if (Item !== undefined) codec?.decode(Item);
  throw new CorruptItemError(pk, 'its change', `was refused (${reason.code}: ${reason.message ?? 'no more is known'})`);
}
