/** Reads and writes rows of one kind for a store: sends statements and returns records. */
import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';
import { readInBatches } from './batches.ts';
import type { DynamoItem } from './driver.ts';
import type { Sender, WriteResult } from './send.ts';
import type { Statement } from './statement.ts';
import { assert } from '../../core/errors.ts';

export class Rows<Row> {
  readonly #sender: Sender;
  readonly #decode: (item: DynamoItem) => Row;

  constructor(sender: Sender, decode: (item: DynamoItem) => Row) {
    this.#sender = sender;
    this.#decode = decode;
  }

  /** Undefined if the row does not exist. */
  async get(statement: Statement<'get'>): Promise<Row | undefined> {
    const { Item } = await this.#sender.read(statement);
    const item = standing(Item);
    return item && this.#decode(item);
  }

  /**
   * Returns the existing rows of a statement, unordered.
   * @param onDamaged receives each row that does not decode, and the others are returned; without it, the error is thrown
   */
  async getMany(table: string, statement: Statement<'batchGet'>, onDamaged?: (error: unknown) => void): Promise<Row[]> {
    const items = await readInBatches(this.#sender, table, statement);
    return items.filter(standing).flatMap((item) => {
      try {
        return [this.#decode(item)];
      } catch (error) {
        if (onDamaged === undefined) throw error;
        onDamaged(error);
        return [];
      }
    });
  }

  write(
    statement: Statement<'put' | 'update'>,
    stamp: Pick<Stamp, 'nonce'>,
    limits?: WriteLimits,
  ): Promise<Outcome<Row>> {
    return this.writeAs<Row>(statement, stamp, limits);
  }

  /** Sends a write whose statement determines the resulting row more precisely than its type does. The result is not checked again. */
  async writeAs<Written extends Row>(
    statement: Statement<'put' | 'update'>,
    { nonce }: Pick<Stamp, 'nonce'>,
    limits?: WriteLimits,
  ): Promise<Outcome<Written, Row>> {
    const result = await this.#sender.write(statement, nonce, limits);
    // The response to a put does not contain the row.
    const written = 'Item' in statement.input ? statement.input.Item : undefined;
    return outcomeOf(result, (item) => this.#decode(item) as Written, this.#decode, written);
  }
}

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

/** Returns a row for its readers: a row that only refuses late copies of a write counts as missing. */
export function standing(item: DynamoItem | undefined): DynamoItem | undefined {
  return item?.barred === undefined ? item : undefined;
}
