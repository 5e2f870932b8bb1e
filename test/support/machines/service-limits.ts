/**
 * DynamoDB's refusals although no condition is false, each with a switch.
 *
 *   - `conflicts`: a transaction holds its rows for a while. Whatever writes one of them meanwhile is refused.
 *   - `writeUnits`: a partition key bears 1,000 write units a second, with a burst of one second. Refused writes pay, too.
 *   - `readUnits`: a partition key, of the table or of an index, bears 3,000 read units a second, likewise. What a read costs is known only
 *     afterwards, so the last one may take more than there is.
 */
import type { DynamoCalls, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { Action } from '../../../shared/dynamo/engine/statement.ts';
import { rowOf } from '../../../shared/dynamo/engine/statement.ts';
import type { Timeline } from './timeline.ts';

interface ServiceOptions {
  readonly conflicts: boolean;
  readonly writeUnits: boolean;
  readonly readUnits: boolean;
}

const UNITS_A_SECOND = { write: 1_000, read: 3_000 } as const;
type Way = keyof typeof UNITS_A_SECOND;
const SINGLE_WRITES: ReadonlySet<DynamoKind> = new Set(['put', 'update', 'delete']);

export class ServiceLimits {
  readonly #timeline: Timeline;
  readonly #options: ServiceOptions;
  /** How many transactions hold a row. */
  readonly #held = new Map<string, number>();
  readonly #partitions = new Map<string, { left: number; at: number }>();

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
    const units = kind === 'transactWrite' ? 2 : 1;
    const reasons = rows.map((row) => {
      if (!this.#charge(row, units)) return 'ThrottlingError';
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

  /** A transaction lets its rows go. */
  end<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): void {
    if (kind !== 'transactWrite') return;
    for (const row of rowsOf(kind, input)) {
      const held = (this.#held.get(row) ?? 1) - 1;
      if (held === 0) this.#held.delete(row);
      else this.#held.set(row, held);
    }
  }

  #charge(row: string, units: number): boolean {
    if (!this.#options.writeUnits) return true;
    const [pk] = JSON.parse(row) as [string];
    if (this.#left('write', pk) < units) return false;
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
