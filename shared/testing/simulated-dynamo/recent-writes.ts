/**
 * Earlier states of every item, so that a read can be answered as if some of the latest writes had not happened yet.
 * Kept only when a simulation asks for stale reads.
 */
import type { Identity, StoredItem, StoredValue } from './attribute-value.ts';
import type { KeyedRows, Row, Cell } from './keyed-rows.ts';

interface Past {
  /** When this stopped being so. */
  readonly until: number;
  readonly row: Row | undefined;
}

interface Remembered {
  /** Any state of the item: all have its key. */
  readonly item: StoredItem;
  now: Row | undefined;
  /** The latest last. */
  pasts: Past[];
}

/** How far behind a read sees an item. One read asks once for each item that it could meet. */
type LagOf = (item: StoredItem) => number;

/** No lag reaches back beyond this many writes of an item. */
const MOST_REMEMBERED = 1_000;

export class RecentWrites {
  readonly #now: () => number;
  readonly #table: KeyedRows;
  readonly #items = new Map<string, Remembered>();
  /** By view (the table and its indexes) and partition: every item that was ever in it. */
  readonly #partitions: ReadonlyMap<KeyedRows, Map<Identity, Set<Remembered>>>;

  constructor(now: () => number, table: KeyedRows, indexes: readonly KeyedRows[]) {
    this.#now = now;
    this.#table = table;
    this.#partitions = new Map([table, ...indexes].map((view) => [view, new Map<Identity, Set<Remembered>>()]));
  }

  record(before: Row | undefined, after: Row | undefined): void {
    const remembered = this.#remembered(before, after);
    if (remembered === undefined) return;
    remembered.now = after;
    remembered.pasts.push({ until: this.#now(), row: before });
    if (remembered.pasts.length >= 2 * MOST_REMEMBERED) remembered.pasts = remembered.pasts.slice(-MOST_REMEMBERED);
    if (after !== undefined) this.#place(remembered, after);
  }

  /** The item as it was `lagMs` ago. */
  rowBefore(key: StoredItem, lagMs: number): Row | undefined {
    const remembered = this.#items.get(this.#table.identityText(key));
    return remembered === undefined ? undefined : rowAt(remembered, this.#now() - lagMs);
  }

  /** A partition of the table or of an index, each item in it as it was its own lag ago. */
  partitionBefore(rows: KeyedRows, key: StoredValue, lagOf: LagOf): readonly Cell[] {
    const now = this.#now();
    const shown: Cell[] = [];
    for (const remembered of this.#partitions.get(rows)?.get(rows.partitionIdentity(key)) ?? []) {
      const row = rowAt(remembered, now - lagOf(remembered.item));
      if (row !== undefined && rows.isInPartition(row.item, key)) shown.push({ row });
    }
    return shown.sort((one, other) => rows.compare(one.row.item, other.row.item));
  }

  #remembered(before: Row | undefined, after: Row | undefined): Remembered | undefined {
    const item = (after ?? before)?.item;
    if (item === undefined) return undefined;
    const identity = this.#table.identityText(item);
    const known = this.#items.get(identity);
    if (known !== undefined) return known;
    const remembered: Remembered = { item, now: before, pasts: [] };
    this.#items.set(identity, remembered);
    return remembered;
  }

  #place(remembered: Remembered, { item }: Row): void {
    for (const [view, partitions] of this.#partitions) {
      if (!view.holds(item)) continue;
      const identity = view.partitionOf(item);
      const members = partitions.get(identity);
      if (members === undefined) partitions.set(identity, new Set([remembered]));
      else members.add(remembered);
    }
  }
}

function rowAt({ now, pasts }: Remembered, at: number): Row | undefined {
  let row = now;
  for (let index = pasts.length - 1; index >= 0; index--) {
    const past = pasts[index];
    if (past === undefined || past.until <= at) break;
    row = past.row;
  }
  return row;
}
