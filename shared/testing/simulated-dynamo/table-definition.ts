/** The layout of a simulated table. */
import type { IndexShape, TableShape } from '../../dynamo/engine/capacity.ts';

export interface KeyAttribute {
  readonly name: string;
  readonly type: 'S' | 'N' | 'B';
}

export interface KeySchema {
  readonly partition: KeyAttribute;
  readonly sort?: KeyAttribute | undefined;
}

export interface IndexDefinition extends KeySchema {
  readonly name: string;
  readonly projection: IndexShape['projection'];
}

export interface TableDefinition extends KeySchema {
  readonly name: string;
  readonly indexes?: readonly IndexDefinition[] | undefined;
  /** In epoch seconds, like the service's. */
  readonly ttlAttribute?: string | undefined;
}

export function keyNames(schema: KeySchema): readonly string[] {
  return schema.sort === undefined ? [schema.partition.name] : [schema.partition.name, schema.sort.name];
}

/** Returns the table's shape for the capacity model. */
export function shapeOf(table: TableDefinition): TableShape {
  return { keys: keyNames(table), indexes: (table.indexes ?? []).map(indexShapeOf) };
}

export function indexShapeOf(index: IndexDefinition): IndexShape {
  return { name: index.name, keys: keyNames(index), projection: index.projection };
}
