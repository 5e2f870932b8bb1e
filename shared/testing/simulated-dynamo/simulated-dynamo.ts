/**
 * DynamoDB in memory, at the level of its commands: the store of the simulation, and of users' tests.
 *
 * It reproduces the meaning of requests exactly: expressions, conditions, errors, limits, indexes, transactions, capacity.
 * It leaves out scans except for a whole table's, batch writes, PartiQL, local indexes, streams, throttling and the network.
 * Faults of the network and of the service belong to another layer, which wraps the driver.
 * `now` is the only source of time; the store never waits or acts by itself.
 *
 * @see test/conformance/simulated-dynamo.full.test.ts for the comparison with other engines
 */
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../dynamo/engine/driver.ts';
import type { StoredItem } from './attribute-value.ts';
import { IdempotencyTokens } from './idempotency-tokens.ts';
import { copyItemOut } from './item-copy.ts';
import { query } from './query.ts';
import { batchGet, get } from './reads.ts';
import type { ScanCommandInput } from '@aws-sdk/lib-dynamodb';
import { scan } from './scan.ts';
import { put, remove, update } from './single-writes.ts';
import type { StaleReads } from './stale-reads.ts';
import type { Store } from './store.ts';
import { tableOf } from './store.ts';
import type { TableObserver } from './table.ts';
import { Table } from './table.ts';
import type { TableDefinition } from './table-definition.ts';
import { transactWrite } from './transaction.ts';
import { isExpired } from './ttl.ts';

interface SimulatedDynamoOptions {
  /** Wall clock, milliseconds since 1970: ages idempotency tokens and TTL attributes. */
  now(): number;
  readonly staleReads?: StaleReads | undefined;
}

type Operations = {
  readonly [K in DynamoKind]: (store: Store, input: DynamoCalls[K]['input']) => DynamoCalls[K]['output'];
};

const OPERATIONS: Operations = { get, batchGet, query, put, update, delete: remove, transactWrite };

export class SimulatedDynamo {
  readonly #now: () => number;
  readonly #isHistoryKept: boolean;
  readonly #tables = new Map<string, Table>();
  readonly #store: Store;

  constructor(options: SimulatedDynamoOptions) {
    this.#now = () => options.now();
    this.#isHistoryKept = options.staleReads !== undefined;
    this.#store = {
      tables: this.#tables,
      tokens: new IdempotencyTokens(this.#now),
      staleReads: options.staleReads ?? {},
    };
  }

  /** @param onWrite receives each item that was put, changed or deleted, before and after: for streams */
  createTable(definition: TableDefinition, onWrite?: TableObserver): void {
    const options = { now: this.#now, isHistoryKept: this.#isHistoryKept, onWrite };
    this.#tables.set(definition.name, new Table(definition, options));
  }

  deleteTable(name: string): void {
    this.#tables.delete(name);
  }

  /** @throws DynamoFault */
  apply<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoCalls[K]['output'] {
    const operation: Operations[K] = OPERATIONS[kind];
    return operation(this.#store, input);
  }

  /**
   * Returns a stored item without a copy, for observers that must not change it. Not a request.
   * The store does not change the object either: it replaces it at every write, and keeps it otherwise.
   */
  peek(table: string, key: DynamoItem): Readonly<DynamoItem> | undefined {
    return tableOf(this.#store, table).find(key as StoredItem)?.item;
  }

  /** A page of a table's items, as a request. @throws DynamoFault */
  scanPage(input: ScanCommandInput): ReturnType<typeof scan> {
    return scan(this.#store, input);
  }

  /** Returns all items of a table, in no particular order: for tests, not a request. */
  scan(table: string): DynamoItem[] {
    return [...tableOf(this.#store, table).rows.all()].map((row) => copyItemOut(row.item));
  }

  /**
   * Deletes items whose TTL attribute has passed, as the service does in its own time, without charge.
   * @param chooses selects the expired items to delete. Default: all
   * @returns how many were deleted
   */
  sweepExpired(chooses: (item: DynamoItem) => boolean = () => true): number {
    const nowSeconds = this.#now() / 1000;
    let swept = 0;
    for (const table of this.#tables.values()) {
      const expired = [...table.rows.all()].filter((row) => isExpired(table.definition, row.item, nowSeconds));
      for (const row of expired) {
        if (!chooses(copyItemOut(row.item))) continue;
        table.write(row, undefined);
        swept++;
      }
    }
    return swept;
  }
}
