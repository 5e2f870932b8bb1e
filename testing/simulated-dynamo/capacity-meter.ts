/** What has been consumed so far, and the reports of it that requests ask for. */
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import type { WriteUnits } from '../../shared/dynamo/engine/capacity.ts';
import { oneOf } from './request.ts';

export interface Units {
  readonly writeUnits: number;
  readonly readUnits: number;
}

export interface Consumed extends Units {
  /** By `table`, and by `table/index`. */
  readonly byTableAndIndex: Readonly<Record<string, Units>>;
}

interface Counter {
  writeUnits: number;
  readUnits: number;
}

export class CapacityMeter {
  readonly #counters = new Map<string, Counter>();

  /** Refused conditions included: they are billed, though nothing reports them. */
  addWrite(table: string, units: WriteUnits): void {
    this.#counter(table).writeUnits += units.table;
    for (const index in units.indexes) {
      this.#counter(`${table}/${index}`).writeUnits += units.indexes[index] ?? 0;
    }
  }

  addRead(table: string, index: string | undefined, units: number): void {
    this.#counter(index === undefined ? table : `${table}/${index}`).readUnits += units;
  }

  read(): Consumed {
    const byTableAndIndex: Record<string, Units> = {};
    let writeUnits = 0;
    let readUnits = 0;
    for (const [name, counter] of this.#counters) {
      byTableAndIndex[name] = { ...counter };
      writeUnits += counter.writeUnits;
      readUnits += counter.readUnits;
    }
    return { writeUnits, readUnits, byTableAndIndex };
  }

  #counter(name: string): Counter {
    let counter = this.#counters.get(name);
    if (counter === undefined) this.#counters.set(name, (counter = { writeUnits: 0, readUnits: 0 }));
    return counter;
  }
}

export type ReportDetail = 'INDEXES' | 'TOTAL' | 'NONE';

export function reportDetail(requested: string | undefined): ReportDetail {
  return oneOf('returnConsumedCapacity', requested, ['INDEXES', 'TOTAL', 'NONE']) ?? 'NONE';
}

export function writeReport(detail: ReportDetail, table: string, units: WriteUnits): ConsumedCapacity | undefined {
  return report(detail, table, units.table, units.indexes);
}

/** A read of an index reports the table as well, with nothing. */
export function readReport(
  detail: ReportDetail,
  table: string,
  index: string | undefined,
  units: number,
): ConsumedCapacity | undefined {
  return index === undefined ? report(detail, table, units, {}) : report(detail, table, 0, { [index]: units });
}

/** Transactions say in which of the two capacities they count, everywhere. */
export function transactionReport(
  detail: ReportDetail,
  capacity: 'WriteCapacityUnits' | 'ReadCapacityUnits',
  table: string,
  units: WriteUnits,
): ConsumedCapacity | undefined {
  const plain = report(detail, table, units.table, units.indexes);
  if (plain === undefined) return undefined;
  const qualified: ConsumedCapacity = { ...plain, [capacity]: plain.CapacityUnits };
  if (plain.Table !== undefined) qualified.Table = { ...plain.Table, [capacity]: plain.Table.CapacityUnits };
  if (plain.GlobalSecondaryIndexes !== undefined) {
    qualified.GlobalSecondaryIndexes = Object.fromEntries(
      Object.entries(plain.GlobalSecondaryIndexes).map(([name, units]) => [
        name,
        { ...units, [capacity]: units.CapacityUnits },
      ]),
    );
  }
  return qualified;
}

function report(
  detail: ReportDetail,
  table: string,
  tableUnits: number,
  indexUnits: Readonly<Record<string, number>>,
): ConsumedCapacity | undefined {
  if (detail === 'NONE') return undefined;
  const names = Object.keys(indexUnits);
  const CapacityUnits = names.reduce((sum, name) => sum + (indexUnits[name] ?? 0), tableUnits);
  const total: ConsumedCapacity = { TableName: table, CapacityUnits };
  if (detail === 'TOTAL') return total;
  total.Table = { CapacityUnits: tableUnits };
  if (names.length > 0) {
    total.GlobalSecondaryIndexes = Object.fromEntries(
      names.map((name) => [name, { CapacityUnits: indexUnits[name] ?? 0 }]),
    );
  }
  return total;
}
