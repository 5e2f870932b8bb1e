/**
 * Rows by partition, each partition in the order of its sort key.
 * A table is one of these, and so is each of its indexes: only the attributes that make the key differ.
 *
 * They share cells, so that a write which moves nothing changes one cell, whatever number of indexes show it.
 */
import type { Identity, StoredElement, StoredItem, StoredValue } from './attribute-value.ts';
import { compareValues, identityOf } from './attribute-value.ts';
import type { KeySchema } from './table-definition.ts';
import { keyNames } from './table-definition.ts';

/** An item as it is stored, with its size. */
export interface Row {
  readonly item: StoredItem;
  readonly bytes: number;
}

/** Holds an item: its row changes, its key does not. */
export interface Cell {
  row: Row;
}

export class KeyedRows {
  readonly #partitionName: string;
  /** In order of precedence: the sort key, then attributes that distinguish items with equal keys. */
  readonly #orderNames: readonly string[];
  readonly #keyNames: readonly string[];
  readonly #partitions = new Map<Identity, Cell[]>();

  /** @param tableKey of the table that an index belongs to: its keys are not unique by themselves */
  constructor(schema: KeySchema, tableKey?: KeySchema) {
    this.#partitionName = schema.partition.name;
    this.#keyNames = keyNames(schema);
    this.#orderNames = [
      ...(schema.sort === undefined ? [] : [schema.sort.name]),
      ...(tableKey === undefined ? [] : keyNames(tableKey)),
    ];
  }

  /** A sparse index does not hold items that lack a key of it. */
  holds(item: StoredItem): boolean {
    for (const name of this.#keyNames) if (item[name] === undefined) return false;
    return true;
  }

  /** Whether a change of the item keeps its position, or keeps it out. */
  isUnmoved(before: StoredItem, after: StoredItem): boolean {
    for (const name of this.#keyNames) if (before[name] !== after[name]) return false;
    return true;
  }

  partition(key: StoredValue): readonly Cell[] {
    return this.#partitions.get(identityOf(key as StoredElement)) ?? NO_CELLS;
  }

  /** Returns the identity of a partition, from its key or from an item in it. */
  partitionIdentity(key: StoredValue): Identity {
    return identityOf(key as StoredElement);
  }

  partitionOf(item: StoredItem): Identity {
    return this.#identity(item);
  }

  isInPartition(item: StoredItem, key: StoredValue): boolean {
    return this.holds(item) && this.#identity(item) === identityOf(key as StoredElement);
  }

  /** @param key an item, or only what its key is made of */
  find(key: StoredItem): Cell | undefined {
    const cells = this.#partitions.get(this.#identity(key));
    if (cells === undefined) return undefined;
    const cell = cells[this.position(cells, key)];
    return cell !== undefined && this.compare(cell.row.item, key) === 0 ? cell : undefined;
  }

  insert(cell: Cell): void {
    const identity = this.#identity(cell.row.item);
    const cells = this.#partitions.get(identity);
    if (cells === undefined) this.#partitions.set(identity, [cell]);
    else insertCell(this, cells, cell);
  }

  remove({ row }: Cell): void {
    const identity = this.#identity(row.item);
    const cells = this.#partitions.get(identity) ?? [];
    cells.splice(this.position(cells, row.item), 1);
    if (cells.length === 0) this.#partitions.delete(identity);
  }

  /** Returns the item's position in a partition, existing or not. */
  position(cells: readonly Cell[], item: StoredItem): number {
    return firstPosition(cells, (row) => this.compare(row.item, item) >= 0);
  }

  /** Order within a partition. */
  compare(left: StoredItem, right: StoredItem): number {
    for (const name of this.#orderNames) {
      const order = compareValues(left[name] as StoredValue, right[name] as StoredValue) ?? 0;
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Distinguishes the items of a table, as text. */
  identityText(item: StoredItem): string {
    const sort = this.#orderNames.map((name) => String(identityOf(item[name] as StoredElement)));
    return `${this.#identity(item)}\u0000${sort.join('\u0000')}`;
  }

  *all(): Generator<Row> {
    for (const cells of this.#partitions.values()) for (const cell of cells) yield cell.row;
  }

  #identity(item: StoredItem): Identity {
    return identityOf(item[this.#partitionName] as StoredElement);
  }
}

const NO_CELLS: readonly Cell[] = [];

/** The first position that is beyond something, where all after it are beyond it too. */
export function firstPosition(cells: readonly Cell[], isBeyond: (row: Row) => boolean): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const cell = cells[middle];
    if (cell === undefined || isBeyond(cell.row)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function insertCell(order: KeyedRows, cells: Cell[], cell: Cell): void {
  cells.splice(order.position(cells, cell.row.item), 0, cell);
}
