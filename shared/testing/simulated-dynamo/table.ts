/** One table: its rows, its indexes, kept in step with every write. */
import type { IndexShape, TableShape } from '../../dynamo/engine/capacity.ts';
import type { StoredItem } from './attribute-value.ts';
import { picked } from './attribute-value.ts';
import type { Row } from './keyed-rows.ts';
import { KeyedRows } from './keyed-rows.ts';
import { RecentWrites } from './recent-writes.ts';
import type { IndexDefinition, TableDefinition } from './table-definition.ts';
import { indexShapeOf, keyNames, shapeOf } from './table-definition.ts';

export interface Index {
  readonly definition: IndexDefinition;
  readonly shape: IndexShape;
  readonly rows: KeyedRows;
  /** Projected attributes; undefined: all. */
  readonly projected: ReadonlySet<string> | undefined;
}

/** `before` is absent if the item is new, `after` if it was deleted. */
export type TableObserver = (before: StoredItem | undefined, after: StoredItem | undefined) => void;

interface TableOptions {
  readonly now: () => number;
  readonly isHistoryKept: boolean;
  readonly onWrite?: TableObserver | undefined;
}

export class Table {
  readonly definition: TableDefinition;
  readonly shape: TableShape;
  readonly rows: KeyedRows;
  readonly indexes: ReadonlyMap<string, Index>;
  /** Kept only if stale reads are wanted. */
  readonly recent: RecentWrites | undefined;

  readonly #onWrite: TableObserver | undefined;

  constructor(definition: TableDefinition, options: TableOptions) {
    this.definition = definition;
    this.#onWrite = options.onWrite;
    this.shape = shapeOf(definition);
    this.rows = new KeyedRows(definition);
    this.indexes = new Map(
      (definition.indexes ?? []).map((index) => [
        index.name,
        {
          definition: index,
          shape: indexShapeOf(index),
          rows: new KeyedRows(index, definition),
          projected: projectedNames(definition, index),
        },
      ]),
    );
    const indexRows = [...this.indexes.values()].map(({ rows }) => rows);
    this.recent = options.isHistoryKept ? new RecentWrites(options.now, this.rows, indexRows) : undefined;
  }

  find(key: StoredItem): Row | undefined {
    return this.rows.find(key)?.row;
  }

  /** @param before what `find` has found: nothing for a new item; without `after` the item goes */
  write(before: Row | undefined, after: Row | undefined): void {
    if (before === after) return;
    if (before === undefined) this.#insert(after);
    else this.#change(before, after);
    this.recent?.record(before, after);
    this.#onWrite?.(before?.item, after?.item);
  }

  #insert(row: Row | undefined): void {
    if (row === undefined) return;
    const cell = { row };
    this.rows.insert(cell);
    for (const { rows } of this.indexes.values()) if (rows.holds(row.item)) rows.insert(cell);
  }

  /** Leaves indexes alone that the change does not concern. */
  #change(before: Row, after: Row | undefined): void {
    const cell = this.rows.find(before.item);
    if (cell === undefined) return;
    const moved: KeyedRows[] = [];
    for (const { rows } of this.indexes.values()) {
      if (after !== undefined && rows.isUnmoved(before.item, after.item)) continue;
      moved.push(rows);
      if (rows.holds(before.item)) rows.remove(cell);
    }
    if (after === undefined) {
      this.rows.remove(cell);
      return;
    }
    cell.row = after;
    for (const rows of moved) if (rows.holds(after.item)) rows.insert(cell);
  }
}

function projectedNames(table: TableDefinition, index: IndexDefinition): ReadonlySet<string> | undefined {
  if (index.projection === 'ALL') return undefined;
  const included = typeof index.projection === 'object' ? index.projection.include : [];
  return new Set([...keyNames(table), ...keyNames(index), ...included]);
}

/** The attributes of an item that make up the keys of one or more schemas. */
export function keyPart(item: StoredItem, ...schemas: readonly Parameters<typeof keyNames>[0][]): StoredItem {
  return picked(item, schemas.flatMap(keyNames));
}
