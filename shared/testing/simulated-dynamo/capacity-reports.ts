/** The reports of consumed capacity that requests ask for. */
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import type { WriteUnits } from '../../dynamo/engine/capacity.ts';
import { oneOf } from './request.ts';

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

/** Transactions report the kind of capacity at every level. */
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
