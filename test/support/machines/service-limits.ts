/**
 * DynamoDB's refusals although no condition is false, each with a switch.
 *
 *   - `conflicts`: a transaction holds its rows for a while. Whatever writes one of them meanwhile is refused.
 *   - `writeUnits`: a partition key, of the table or of an index, bears 1,000 write units a second, with a burst of one second. A write
 *     takes
 *     units by the size of the row, and of each entry that it puts, changes or removes. Refused writes pay, too.
 *   - `readUnits`: a partition key, of the table or of an index, bears 3,000 read units a second, likewise.
 *
 * What a request costs in full is known only afterwards, so the last one may take more than there is.
 */
import { TRANSACTION_FACTOR, sized, writeUnits } from '../../../shared/dynamo/engine/capacity.ts';
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { Action } from '../../../shared/dynamo/engine/transaction.ts';
import { rowOf } from '../../../shared/dynamo/engine/transaction.ts';
import { memoryTable } from '../../../shared/testing/memory-table.ts';
import type { StoredItem } from '../../../shared/testing/simulated-dynamo/attribute-value.ts';
import { shapeOf } from '../../../shared/testing/simulated-dynamo/table-definition.ts';
import type { Timeline } from './timeline.ts';

interface ServiceOptions {
  readonly conflicts: boolean;
  readonly writeUnits: boolean;
  readonly readUnits: boolean;
}

const DEFINITION = memoryTable('limits');
const SHAPE = shapeOf(DEFINITION);
const { indexes: INDEXES = [] } = DEFINITION;
const UNITS_A_SECOND = { write: 1_000, read: 3_000 } as const;
type Way = keyof typeof UNITS_A_SECOND;
const SINGLE_WRITES: ReadonlySet<DynamoKind> = new Set(['put', 'update', 'delete']);

export class ServiceLimits {
  readonly #timeline: Timeline;
  readonly #options: ServiceOptions;
  /** How many transactions hold a row. */
  readonly #held = new Map<string, number>();
  readonly #partitions = new Map<string, { left: number; at: number }>();
  /** Partitions of indexes in which a row has an entry. */
  readonly #entries = new Map<string, readonly string[]>();
  /** Units of the table for each unit of the write that is applied now. */
  #factor = 1;

  constructor(timeline: Timeline, options: ServiceOptions) {
    this.#timeline = timeline;
    this.#options = options;
  }

  /** A request arrives. @returns why it is refused; otherwise a transaction holds its rows until `end` */
  begin<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoFault | undefined {
    const isExhausted =
      this.#options.readUnits && partitionsReadBy(kind, input).some((partition) => this.#left('read', partition) <= 0);
    if (isExhausted) return throttled();
    const rows = rowsOf(kind, input);
    const puts = itemsPutBy(kind, input);
    const reasons = rows.map((row, nth) => {
      const entries = [...(this.#entries.get(row) ?? []), ...entriesOf(puts[nth])];
      if (!this.#charge(row, factorOf(kind), entries)) return 'ThrottlingError';
      return this.#options.conflicts && this.#held.has(row) ? 'TransactionConflict' : 'None';
    });
    const met = reasons.find((code) => code !== 'None');
    if (met === undefined) {
      if (kind === 'transactWrite') for (const row of rows) this.#held.set(row, (this.#held.get(row) ?? 0) + 1);
      return undefined;
    }
    if (kind === 'transactWrite')
      return new DynamoFault('transactionCanceled', {
        code: 'TransactionCanceledException',
        message: 'simulated',
        reasons: reasons.map((code) => ({ code })),
      });
    return met === 'ThrottlingError'
      ? throttled()
      : new DynamoFault('conflict', { code: 'TransactionConflictException', message: 'simulated' });
  }

  /** A read has been answered: its partitions pay. */
  answered<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input'], output: unknown): void {
    if (!this.#options.readUnits) return;
    const partitions = partitionsReadBy(kind, input);
    const { ConsumedCapacity } = output as { readonly ConsumedCapacity?: Consumed | readonly Consumed[] };
    const units = [ConsumedCapacity ?? []].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
    for (const partition of partitions) this.#pay('read', partition, units / partitions.length);
  }

  /** The store has written a row: its partition pays for what is larger than a unit, and those of indexes for its entries. */
  wrote(before: StoredItem | undefined, after: StoredItem | undefined): void {
    const item = after ?? before;
    if (!this.#options.writeUnits || typeof item?.pk !== 'string') return;
    const units = writeUnits(SHAPE, before && sized(before), after && sized(after));
    this.#pay('write', item.pk, this.#factor * (units.table - 1));
    for (const [index, all] of Object.entries(units.indexes)) {
      const touched = new Set([before, after].flatMap((one) => entriesOf(one, index)));
      for (const partition of touched) this.#pay('write', partition, all / touched.size);
    }
    const row = rowOf({ Write: { Key: { pk: item.pk, sk: item.sk } } });
    const entries = entriesOf(after);
    if (entries.length > 0) this.#entries.set(row, entries);
    else this.#entries.delete(row);
  }

  /** A request is applied now, and a transaction lets its rows go. */
  end<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): void {
    this.#factor = factorOf(kind);
    if (kind !== 'transactWrite') return;
    for (const row of rowsOf(kind, input)) {
      const held = (this.#held.get(row) ?? 1) - 1;
      if (held === 0) this.#held.delete(row);
      else this.#held.set(row, held);
    }
  }

  #charge(row: string, units: number, entries: readonly string[]): boolean {
    if (!this.#options.writeUnits) return true;
    const [pk] = JSON.parse(row) as [string];
    if (this.#left('write', pk) < units || entries.some((partition) => this.#left('write', partition) < 1))
      return false;
    this.#pay('write', pk, units);
    return true;
  }

  #left(way: Way, partition: string): number {
    const { now } = this.#timeline;
    const rate = UNITS_A_SECOND[way];
    const { left, at } = this.#partitions.get(`${way} ${partition}`) ?? { left: rate, at: now };
    return Math.min(rate, left + ((now - at) * rate) / 1_000);
  }

  #pay(way: Way, partition: string, units: number): void {
    this.#partitions.set(`${way} ${partition}`, { left: this.#left(way, partition) - units, at: this.#timeline.now });
  }
}

function factorOf(kind: DynamoKind): number {
  return kind === 'transactWrite' ? TRANSACTION_FACTOR : 1;
}

/** Returns the partitions of indexes in which the item has an entry. */
function entriesOf(item: DynamoItem | undefined, index?: string): readonly string[] {
  if (item === undefined) return [];
  return INDEXES.flatMap(({ name, partition, sort }) => {
    const key = item[partition.name];
    const isIn = (index ?? name) === name && item[sort?.name ?? ''] !== undefined;
    return isIn && typeof key === 'string' ? [`${name} ${key}`] : [];
  });
}

/** Returns the item of each action; undefined: it puts none. */
function itemsPutBy<K extends DynamoKind>(
  kind: K,
  input: DynamoCalls[K]['input'],
): readonly (DynamoItem | undefined)[] {
  if (kind !== 'transactWrite') return [(input as DynamoCalls['put']['input']).Item];
  return ((input as DynamoCalls['transactWrite']['input']).TransactItems ?? []).map(({ Put }) => Put?.Item);
}

interface Consumed {
  readonly CapacityUnits?: number;
}

function throttled(): DynamoFault {
  return new DynamoFault('throttled', { code: 'ThrottlingException', message: 'simulated' });
}

function partitionsReadBy<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): readonly string[] {
  if (kind === 'get') return [String((input as DynamoCalls['get']['input']).Key?.pk)];
  if (kind === 'batchGet')
    return Object.values((input as DynamoCalls['batchGet']['input']).RequestItems ?? {}).flatMap(({ Keys = [] }) =>
      Keys.map(({ pk }) => String(pk)),
    );
  if (kind !== 'query') return [];
  const {
    IndexName = '',
    KeyConditionExpression = '',
    ExpressionAttributeValues = {},
  } = input as DynamoCalls['query']['input'];
  const [, placeholder = ''] = /= (:\w+)/.exec(KeyConditionExpression) ?? [];
  return [`${IndexName} ${String(ExpressionAttributeValues[placeholder])}`];
}

function rowsOf<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): readonly string[] {
  if (kind === 'transactWrite')
    return ((input as DynamoCalls['transactWrite']['input']).TransactItems ?? []).map((action: Action) =>
      rowOf(action),
    );
  return SINGLE_WRITES.has(kind) ? [rowOf({ Write: input })] : [];
}
