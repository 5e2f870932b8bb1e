/**
 * Rows by partition, each partition in the order of its sort key.
 * A table is one of these, and so is each of its indexes: only the attributes that make the key differ.
 *
 * They share slots, so that a write which moves nothing changes one slot, whatever number of indexes show it.
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
export interface Slot {
  row: Row;
}

export class KeyedRows {
  readonly #partitionName: string;
  /** In order of precedence: the sort key, then attributes that distinguish items with equal keys. */
  readonly #orderNames: readonly string[];
  readonly #keyNames: readonly string[];
  readonly #partitions = new Map<Identity, Slot[]>();

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

  partition(key: StoredValue): readonly Slot[] {
    return this.#partitions.get(identityOf(key as StoredElement)) ?? NO_SLOTS;
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
  find(key: StoredItem): Slot | undefined {
    const slots = this.#partitions.get(this.#identity(key));
    if (slots === undefined) return undefined;
    const slot = slots[this.position(slots, key)];
    return slot !== undefined && this.compare(slot.row.item, key) === 0 ? slot : undefined;
  }

  insert(slot: Slot): void {
    const identity = this.#identity(slot.row.item);
    const slots = this.#partitions.get(identity);
    if (slots === undefined) this.#partitions.set(identity, [slot]);
    else insertSlot(this, slots, slot);
  }

  remove({ row }: Slot): void {
    const identity = this.#identity(row.item);
    const slots = this.#partitions.get(identity) ?? [];
    slots.splice(this.position(slots, row.item), 1);
    if (slots.length === 0) this.#partitions.delete(identity);
  }

  /** Returns the item's position in a partition, existing or not. */
  position(slots: readonly Slot[], item: StoredItem): number {
    return firstPosition(slots, (row) => this.compare(row.item, item) >= 0);
  }

  /** Order within a partition. */
  compare(left: StoredItem, right: StoredItem): number {
    for (const name of this.#orderNames) {
      const order = compareValues(left[name] as StoredValue, right[name] as StoredValue) ?? 0;
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Tells the items of a table apart, as text. */
  identityText(item: StoredItem): string {
    const sort = this.#orderNames.map((name) => String(identityOf(item[name] as StoredElement)));
    return `${this.#identity(item)}\u0000${sort.join('\u0000')}`;
  }

  *all(): Generator<Row> {
    for (const slots of this.#partitions.values()) for (const slot of slots) yield slot.row;
  }

  #identity(item: StoredItem): Identity {
    return identityOf(item[this.#partitionName] as StoredElement);
  }
}

const NO_SLOTS: readonly Slot[] = [];

/** The first position that is beyond something, where all after it are beyond it too. */
export function firstPosition(slots: readonly Slot[], isBeyond: (row: Row) => boolean): number {
  let low = 0;
  let high = slots.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const slot = slots[middle];
    if (slot === undefined || isBeyond(slot.row)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function insertSlot(order: KeyedRows, slots: Slot[], slot: Slot): void {
  slots.splice(order.position(slots, slot.row.item), 0, slot);
}
