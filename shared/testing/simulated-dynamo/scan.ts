/** Scans a whole table. The protocol never scans; commands that list done tasks do, and user code may. */
import type { ScanCommandInput, ScanCommandOutput } from '@aws-sdk/lib-dynamodb';
import { readUnitsOfBytes } from '../../dynamo/engine/capacity.ts';
import { readReport, reportDetail } from './capacity-reports.ts';
import { bind } from './expression/bindings.ts';
import { holds } from './expression/condition.ts';
import { parsed } from './expression/parsed-expressions.ts';
import { project } from './expression/projection.ts';
import { constraintFault, notSimulated, validationFault } from './fault.ts';
import { copyItemIn, copyItemOut } from './item-copy.ts';
import { keyProblem, requireScalarKeys } from './keys.ts';
import type { Row } from './keyed-rows.ts';
import { PAGE_BYTES } from './query.ts';
import { refuseLegacy } from './request.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';
import type { Table } from './table.ts';
import { keyPart } from './table.ts';

type Output = Omit<ScanCommandOutput, '$metadata'>;

/** @throws DynamoFault, also for scans of an index and of segments, which are not simulated */
export function scan(store: Store, input: ScanCommandInput): Output {
  refuseLegacy(input);
  for (const name of ['IndexName', 'Segment', 'TotalSegments'] as const)
    if (input[name] !== undefined) throw notSimulated(name);
  if (input.Limit !== undefined && input.Limit < 1)
    throw constraintFault("Value at 'limit'", 'Member must have value greater than or equal to 1');
  const detail = reportDetail(input.ReturnConsumedCapacity);
  const table = tableOf(store, input.TableName);
  const filter = parsed.filter(input.FilterExpression);
  const projection = parsed.projection(input.ProjectionExpression);
  const bindings = bind(input, [filter, projection]);
  requireScalarKeys(table.definition, [filter, projection], bindings);

  const page = pageOf(table, input);
  const matches = page.rows.filter(({ item }) => filter === undefined || holds(filter.root, item, bindings));

  const output: Output = { Count: matches.length, ScannedCount: page.rows.length };
  if (input.Select !== 'COUNT')
    output.Items = matches.map(({ item }) =>
      copyItemOut(projection === undefined ? item : project(item, projection.root, bindings.names)),
    );
  if (page.last !== undefined) output.LastEvaluatedKey = copyItemOut(keyPart(page.last.item, table.definition));
  const units = readUnitsOfBytes(page.bytes, { consistent: input.ConsistentRead === true });
  const report = readReport(detail, table.definition.name, undefined, units);
  if (report !== undefined) output.ConsumedCapacity = report;
  return output;
}

interface Page {
  readonly rows: readonly Row[];
  readonly bytes: number;
  /** Start of the next page; absent only if the rows ran out first. */
  readonly last: Row | undefined;
}

/** In order of the keys, so that a page continues where the previous one ended. DynamoDB promises no order. */
function pageOf(table: Table, { ExclusiveStartKey, Limit = Infinity }: ScanCommandInput): Page {
  const name = (row: Row): string => table.rows.identityText(row.item);
  const after = ExclusiveStartKey === undefined ? undefined : startOf(table, ExclusiveStartKey);
  const all = [...table.rows.all()].map((row) => ({ row, name: name(row) }));
  const ahead = all.filter((each) => after === undefined || each.name > after);
  ahead.sort((left, right) => (left.name < right.name ? -1 : 1));
  const rows: Row[] = [];
  let bytes = 0;
  for (const { row } of ahead) {
    rows.push(row);
    bytes += row.bytes;
    if (rows.length === Limit || bytes > PAGE_BYTES) return { rows, bytes, last: row };
  }
  return { rows, bytes, last: undefined };
}

function startOf(table: Table, given: NonNullable<ScanCommandInput['ExclusiveStartKey']>): string {
  const key = copyItemIn(given);
  if (keyProblem(table.definition, key) !== undefined) throw validationFault('The provided starting key is invalid');
  return table.rows.identityText(key);
}
