/** Query, on a table or an index. */
import { entrySizeBytes, readUnitsOfBytes } from '../../dynamo/engine/capacity.ts';
import type { DynamoCalls, DynamoItem } from '../../dynamo/engine/driver.ts';
import type { StoredItem } from './attribute-value.ts';
import { readReport, reportDetail } from './capacity-reports.ts';
import { holds } from './expression/condition.ts';
import { project } from './expression/projection.ts';
import { copyItemOut } from './item-copy.ts';
import type { KeyedRows, Row, Cell } from './keyed-rows.ts';
import { firstPosition } from './keyed-rows.ts';
import type { QueryPlan } from './query-plan.ts';
import { planQuery } from './query-plan.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';
import { keyPart } from './table.ts';

type Input = DynamoCalls['query']['input'];
type Output = DynamoCalls['query']['output'];

/** A page ends here, with the item that crosses the line in it. */
export const PAGE_BYTES = 1024 * 1024;

export function query(store: Store, input: Input): Output {
  const detail = reportDetail(input.ReturnConsumedCapacity);
  const plan = planQuery(tableOf(store, input.TableName), input);
  const rows = plan.index === undefined ? plan.table.rows : plan.index.rows;
  const page = readPage(plan, candidates(store, plan, rows));

  const tableName = plan.table.definition.name;
  const indexName = plan.index?.definition.name;
  const units = readUnitsOfBytes(page.bytes, { consistent: plan.consistent });

  const output: Output = { Count: page.matches.length, ScannedCount: page.scanned };
  if (!plan.onlyCount) output.Items = page.matches.map((item) => view(plan, item)) as NonNullable<Output['Items']>;
  if (page.last !== undefined) output.LastEvaluatedKey = lastKey(plan, page.last);
  const report = readReport(detail, tableName, indexName, units);
  if (report !== undefined) output.ConsumedCapacity = report;
  return output;
}

/** The stretch of the partition that the key condition takes, after the start key, as far as one page can go. */
function candidates(store: Store, plan: QueryPlan, rows: KeyedRows): Cell[] {
  const partition = partitionOf(store, plan, rows);
  if (partition.length === 0) return [];
  const { first, end } = stretch(plan, partition);
  const { startKey, forward, limit = partition.length } = plan;
  if (forward) {
    const after = startKey === undefined ? 0 : firstPosition(partition, (row) => rows.compare(row.item, startKey) > 0);
    const from = Math.max(first, after);
    return partition.slice(from, Math.min(end, from + limit));
  }
  const before = startKey === undefined ? end : rows.position(partition, startKey);
  const to = Math.min(end, before);
  return partition.slice(Math.max(first, to - limit), Math.max(first, to)).reverse();
}

function stretch({ range, sortName }: QueryPlan, partition: readonly Cell[]): { first: number; end: number } {
  if (range === undefined) return { first: 0, end: partition.length };
  const place = ({ item }: Row): number => range.locate(item[sortName] ?? null);
  return {
    first: firstPosition(partition, (row) => place(row) >= 0),
    end: firstPosition(partition, (row) => place(row) > 0),
  };
}

function partitionOf(store: Store, plan: QueryPlan, rows: KeyedRows): readonly Cell[] {
  const { table, index, partition, consistent } = plan;
  const { indexLagMs, readLagMs } = store.staleReads;
  const name = table.definition.name;
  const key = (item: StoredItem): DynamoItem => copyItemOut(keyPart(item, table.definition));
  if (table.recent === undefined || consistent) return rows.partition(partition);
  if (index !== undefined && indexLagMs !== undefined) {
    const lagOf = (item: StoredItem): number =>
      indexLagMs({ table: name, index: index.definition.name, key: key(item) });
    return table.recent.partitionBefore(rows, partition, lagOf);
  }
  if (index === undefined && readLagMs !== undefined) {
    return table.recent.partitionBefore(rows, partition, (item) => readLagMs({ table: name, key: key(item) }));
  }
  return rows.partition(partition);
}

interface Page {
  readonly matches: readonly StoredItem[];
  readonly scanned: number;
  readonly bytes: number;
  /** Start of the next page; absent only if the rows ran out first. */
  readonly last: StoredItem | undefined;
}

function readPage(plan: QueryPlan, cells: readonly Cell[]): Page {
  const matches: StoredItem[] = [];
  let bytes = 0;
  let scanned = 0;
  let last: StoredItem | undefined;
  for (const { row } of cells) {
    const entry = plan.visible(row.item);
    bytes += plan.index === undefined ? row.bytes : entrySizeBytes(plan.table.shape, plan.index.shape, row);
    scanned++;
    const { filter } = plan;
    if (filter === undefined || holds(filter, entry, plan.bindings)) matches.push(entry);
    if (scanned === plan.limit || bytes > PAGE_BYTES) {
      last = row.item;
      break;
    }
  }
  return { matches, scanned, bytes, last };
}

function view({ projection, bindings }: QueryPlan, item: StoredItem): DynamoItem {
  return copyItemOut(projection === undefined ? item : project(item, projection, bindings.names));
}

function lastKey({ table, index }: QueryPlan, item: StoredItem): NonNullable<Output['LastEvaluatedKey']> {
  const { definition } = table;
  return copyItemOut(index === undefined ? keyPart(item, definition) : keyPart(item, index.definition, definition));
}
