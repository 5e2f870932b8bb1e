/** The simulated DynamoDB with our table and the user's, and the staleness that the profile asks for. */
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { queueKey } from '../../shared/dynamo/engine/keys.ts';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';
import { memoryTable } from '../../shared/testing/memory-table.ts';
import type { AppliesRequests } from '../../test/support/machines/network.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import { SimulatedDynamo } from '../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type { Profile } from './profile.ts';
import type { Row } from './rows.ts';
import { QUEUE_NAME, TABLE_NAME, USER_TABLE, rowName } from './rows.ts';

const ENOUGH = 1_000_000;

const AN_HOUR_MS = 3_600_000;

/** The row of a queue that has listed its finished tasks since before the history. */
export const LISTING_QUEUE = {
  ...queueKey(QUEUE_NAME),
  v: SCHEMA_VERSION,
  queue: QUEUE_NAME,
  paused: false,
  reason: '',
  updatedAt: 1,
  listedSince: 1,
  nonce: 'before the history',
};

export class SimulatedStore implements AppliesRequests {
  readonly #dynamo: SimulatedDynamo;

  /** @param profile of the phase that the history is in */
  constructor(now: () => number, prng: Prng, profile: () => Profile, seen: (what: string) => void) {
    // Behind by anything up to the bound, now this and now that: no order of propagation is promised.
    const lagMs = (): number => {
      const { staleMs } = profile();
      if (staleMs === 0) return 0;
      seen('read stale');
      return prng.next() * staleMs;
    };
    const staleReads = profile().staleMs > 0 ? { indexLagMs: lagMs, readLagMs: lagMs } : undefined;
    let isBefore = true;
    this.#dynamo = new SimulatedDynamo({ now: () => (isBefore ? now() - AN_HOUR_MS : now()), staleReads });
    this.#dynamo.createTable(memoryTable(TABLE_NAME));
    this.#dynamo.createTable({ name: USER_TABLE, partition: { name: 'id', type: 'S' } });
    this.#setStock(profile().stock);
    if (profile().listing) this.#dynamo.apply('put', { TableName: TABLE_NAME, Item: LISTING_QUEUE });
    isBefore = false;
  }

  apply<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoCalls[K]['output'] {
    return this.#dynamo.apply(kind, input);
  }

  read({ table, key }: Row): DynamoItem | undefined {
    return this.#dynamo.peek(table, key);
  }

  /** Adds to the stock: a refused commit may soon be granted. */
  restock(count: number): void {
    const { stock = 0 } =
      this.#dynamo.apply('get', { TableName: USER_TABLE, Key: { id: 'stock' }, ConsistentRead: true }).Item ?? {};
    this.#setStock(Number(stock) + count);
  }

  /** Provides enough stock for all waiting processes. */
  refill(): void {
    this.#setStock(ENOUGH);
  }

  /** Sweeps what TTL may; returns the keys of our table that went. */
  sweep(): readonly string[] {
    const swept: string[] = [];
    this.#dynamo.sweepExpired((item) => {
      swept.push(rowName(item));
      return true;
    });
    return swept;
  }

  /** Changes the latest start in a key's row, as a recount of a deleted row does, or a worker whose clock was an hour ahead. */
  changeAStart(rows: ReadonlyMap<string, DynamoItem>, prng: Prng, now: number) {
    const keys = [...rows].filter(([row, { running }]) => row.startsWith('key#') && Number(running) > 0);
    if (keys.length === 0) return undefined;
    const [row, { pk, sk }] = prng.pick(keys);
    const isLost = prng.chance(0.5);
    const Key = { pk, sk };
    this.#dynamo.apply('update', {
      TableName: TABLE_NAME,
      Key,
      ...(isLost
        ? { UpdateExpression: 'REMOVE enteredAt' }
        : {
            UpdateExpression: 'SET enteredAt = :at',
            ExpressionAttributeValues: { ':at': now + AN_HOUR_MS },
          }),
    });
    return { row, item: this.#dynamo.peek(TABLE_NAME, Key) ?? Key, to: isLost ? 'lost' : 'ahead' };
  }

  #setStock(stock: number): void {
    this.#dynamo.apply('put', { TableName: USER_TABLE, Item: { id: 'stock', stock } });
  }
}
