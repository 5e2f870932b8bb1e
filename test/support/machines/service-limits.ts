/**
 * What DynamoDB refuses although no condition is false, each with a switch.
 *
 *   - `conflicts`: a transaction holds its rows for a while. Whatever writes one of them meanwhile is refused.
 *   - `partitions`: a partition key bears 1,000 write units a second, with a burst of one second. Refused writes pay, too.
 */
import type { DynamoCalls, DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { Action } from '../../../shared/dynamo/engine/transaction.ts';
import { rowOf } from '../../../shared/dynamo/engine/transaction.ts';
import type { Timeline } from './timeline.ts';

interface ServiceOptions {
  readonly conflicts: boolean;
  readonly partitions: boolean;
}

const UNITS_A_SECOND = 1_000;
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

  /** A write arrives. @returns why it is refused; otherwise a transaction holds its rows until `end` */
  begin<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoFault | undefined {
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
      ? new DynamoFault('throttled', { code: 'ThrottlingException', message: 'simulated' })
      : new DynamoFault('conflict', { code: 'TransactionConflictException', message: 'simulated' });
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
    if (!this.#options.partitions) return true;
    const { now } = this.#timeline;
    const [pk] = JSON.parse(row) as [string];
    const { left, at } = this.#partitions.get(pk) ?? { left: UNITS_A_SECOND, at: now };
    const refilled = Math.min(UNITS_A_SECOND, left + ((now - at) * UNITS_A_SECOND) / 1_000);
    const isBorne = refilled >= units;
    this.#partitions.set(pk, { left: isBorne ? refilled - units : refilled, at: now });
    return isBorne;
  }
}

function rowsOf<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): readonly string[] {
  if (kind === 'transactWrite')
    return ((input as DynamoCalls['transactWrite']['input']).TransactItems ?? []).map((action: Action) =>
      rowOf(action),
    );
  return SINGLE_WRITES.has(kind) ? [rowOf({ Write: input })] : [];
}
