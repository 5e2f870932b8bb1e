/** Which rows a request writes, and how the history calls them. */
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';

export interface Row {
  readonly table: string;
  readonly key: DynamoItem;
  /** The partition key for our own table, and the sort key where a partition has several rows; table and key for the user's. */
  readonly name: string;
  /** The values of the statement that writes it; of a put, the item. */
  readonly values?: DynamoItem | undefined;
}

/** The name of the simulated table. */
export const TABLE_NAME = 'leasehold';
/** The user's own table, written in commits. Its key is `id`. */
export const USER_TABLE = 'inventory';
/** The queue that producers and workers share. */
export const QUEUE_NAME = 'jobs';

export function rowsWrittenBy<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): readonly Row[] {
  const request = input as Write;
  if (kind !== 'transactWrite') return [rowOf(request)];
  const { TransactItems = [] } = input as unknown as { readonly TransactItems?: readonly Action[] };
  return TransactItems.flatMap(({ Put, Update, Delete }) => {
    const write = Put ?? Update ?? Delete;
    return write === undefined ? [] : [rowOf(write)];
  });
}

/** The row, or the partition of the table, that a request asks for by its key. */
export function rowReadBy(input: object): string | undefined {
  const { Key, ExpressionAttributeValues: values } = input as Write;
  const pk = Key?.pk ?? (isPoll(input) ? undefined : values?.[':pk']);
  return typeof pk === 'string' ? pk : undefined;
}

/** Whether a request is a query of an index: all but a few of those look for tasks. */
export function isPoll(input: object): boolean {
  return 'IndexName' in input && input.IndexName !== undefined;
}

interface Write {
  readonly TableName: string;
  readonly Key?: DynamoItem;
  readonly Item?: DynamoItem;
  readonly ExpressionAttributeValues?: DynamoItem;
}

interface Action {
  readonly Put?: Write;
  readonly Update?: Write;
  readonly Delete?: Write;
}

function rowOf({ TableName, Key, Item, ExpressionAttributeValues: values = Item }: Write): Row {
  const item = Key ?? Item ?? {};
  if (TableName !== TABLE_NAME)
    return { table: TableName, key: { id: item.id }, name: `${TableName}/${String(item.id)}`, values };
  return { table: TableName, key: { pk: item.pk, sk: item.sk }, name: rowName(item), values };
}

/** Rows that are alone in their partition have its kind for a sort key. */
export function rowName({ pk, sk }: DynamoItem): string {
  const partition = String(pk);
  return partition.startsWith(`${String(sk)}#`) ? partition : `${partition}/${String(sk)}`;
}
