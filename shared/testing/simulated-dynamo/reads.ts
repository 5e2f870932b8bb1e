/** Get and batch get. */
import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';
import { readUnitsOfBytes } from '../../dynamo/engine/capacity.ts';
import type { DynamoCalls, DynamoItem } from '../../dynamo/engine/driver.ts';
import type { StoredItem } from './attribute-value.ts';
import { readReport, reportDetail } from './capacity-reports.ts';
import { bind } from './expression/bindings.ts';
import type { Placeholders } from './expression/bindings.ts';
import { parsed } from './expression/parsed-expressions.ts';
import { project } from './expression/projection.ts';
import { constraintFault, validationFault } from './fault.ts';
import { copyItemOut } from './item-copy.ts';
import { keyOf, keyProblem, requireScalarKeys } from './keys.ts';
import type { Row } from './keyed-rows.ts';
import { refuseLegacy } from './request.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';
import type { Table } from './table.ts';

const MOST_KEYS = 100;
const LARGEST_REPLY_BYTES = 16 * 1024 * 1024;

export function get(store: Store, input: DynamoCalls['get']['input']): DynamoCalls['get']['output'] {
  refuseLegacy(input);
  const detail = reportDetail(input.ReturnConsumedCapacity);
  const table = tableOf(store, input.TableName);
  const view = viewOf(table, input);
  const key = readableKey(table, input.Key);
  const consistent = input.ConsistentRead === true;
  const row = readRow(store, table, key, { consistent });
  const units = readUnitsOfBytes(row?.bytes ?? 0, { consistent });
  const output: DynamoCalls['get']['output'] = {};
  if (row !== undefined) output.Item = view(row.item) as typeof output.Item;
  const report = readReport(detail, table.definition.name, undefined, units);
  if (report !== undefined) output.ConsumedCapacity = report;
  return output;
}

/** Keys that no longer fit into a reply of 16 MB come back as unprocessed. */
export function batchGet(store: Store, input: DynamoCalls['batchGet']['input']): DynamoCalls['batchGet']['output'] {
  const detail = reportDetail(input.ReturnConsumedCapacity);
  const readings = planReadings(store, input.RequestItems);
  const Responses: Record<string, DynamoItem[]> = {};
  const UnprocessedKeys: Record<string, { Keys: DynamoItem[] }> = {};
  const reports: ConsumedCapacity[] = [];
  let room = LARGEST_REPLY_BYTES;
  for (const { table, keys, view, consistent, request } of readings) {
    const { name } = table.definition;
    let units = 0;
    const items: DynamoItem[] = [];
    const left: DynamoItem[] = [];
    for (const [at, key] of keys.entries()) {
      const row = readRow(store, table, key, { consistent });
      room -= row?.bytes ?? 0;
      if (room < 0) {
        left.push(request.Keys?.[at] ?? {});
        continue;
      }
      units += readUnitsOfBytes(row?.bytes ?? 0, { consistent });
      if (row !== undefined) items.push(view(row.item));
    }
    Responses[name] = items;
    if (left.length > 0) UnprocessedKeys[name] = { ...request, Keys: left };
    const report = readReport(detail, name, undefined, units);
    if (report !== undefined) reports.push(report);
  }
  const output = { Responses, UnprocessedKeys } as DynamoCalls['batchGet']['output'];
  if (reports.length > 0) output.ConsumedCapacity = reports;
  return output;
}

interface Reading {
  readonly table: Table;
  readonly keys: readonly StoredItem[];
  readonly view: View;
  readonly consistent: boolean;
  readonly request: KeysAndAttributes;
}

type KeysAndAttributes = NonNullable<DynamoCalls['batchGet']['input']['RequestItems']>[string];

function planReadings(store: Store, requests: Readonly<Record<string, KeysAndAttributes>> | undefined): Reading[] {
  const entries = Object.entries(requests ?? {});
  if (entries.length === 0) {
    throw constraintFault("Value at 'RequestItems'", 'Member must have length greater than or equal to 1');
  }
  const readings = entries.map(([name, request]) => planReading(tableOf(store, name), request));
  if (readings.reduce((sum, reading) => sum + reading.keys.length, 0) > MOST_KEYS) {
    throw validationFault('Too many items requested for the BatchGetItem call');
  }
  return readings;
}

function planReading(table: Table, request: KeysAndAttributes): Reading {
  refuseLegacy(request);
  const view = viewOf(table, request);
  const keys = (request.Keys ?? []).map((key) => readableKey(table, key));
  if (keys.length === 0) {
    throw constraintFault(
      `Value at 'requestItems.${table.definition.name}.member.keys'`,
      'Member must have length greater than or equal to 1',
    );
  }
  if (new Set(keys.map((key) => table.rows.identityText(key))).size < keys.length) {
    throw validationFault('Provided list of item keys contains duplicates');
  }
  return { table, keys, view, consistent: request.ConsistentRead === true, request };
}

type View = (item: StoredItem) => DynamoItem;

function viewOf(table: Table, request: Placeholders & { readonly ProjectionExpression?: string | undefined }): View {
  const projection = parsed.projection(request.ProjectionExpression);
  const bindings = bind(request, [projection]);
  requireScalarKeys(table.definition, [projection], bindings);
  if (projection === undefined) return copyItemOut;
  return (item) => copyItemOut(project(item, projection.root, bindings.names));
}

function readableKey(table: Table, given: DynamoItem | undefined): StoredItem {
  const key = keyOf(table.definition, given);
  const problem = keyProblem(table.definition, key);
  if (problem !== undefined) throw validationFault(problem);
  return key;
}

function readRow(
  store: Store,
  table: Table,
  key: StoredItem,
  options: { readonly consistent: boolean },
): Row | undefined {
  const { readLagMs } = store.staleReads;
  if (options.consistent || readLagMs === undefined || table.recent === undefined) return table.find(key);
  return table.recent.rowBefore(key, readLagMs({ table: table.definition.name, key: copyItemOut(key) }));
}
