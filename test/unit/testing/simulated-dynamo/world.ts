/** One simulated table with a TTL and one index, and a clock that is set by hand. */
import type { DynamoCalls, DynamoItem, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { SimulatedDynamo } from '../../../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import type { StaleReads } from '../../../../shared/testing/simulated-dynamo/stale-reads.ts';

export const TABLE = 'table';

export class World {
  now = 1_000_000;
  readonly store: SimulatedDynamo;

  constructor(staleReads?: StaleReads) {
    this.store = new SimulatedDynamo({ now: () => this.now, staleReads });
    this.store.createTable({
      name: TABLE,
      partition: { name: 'pk', type: 'S' },
      ttlAttribute: 'ttl',
      indexes: [
        {
          name: 'ready',
          partition: { name: 'queue', type: 'S' },
          sort: { name: 'readyAt', type: 'N' },
          projection: 'KEYS_ONLY',
        },
      ],
    });
  }

  put(item: DynamoItem): void {
    this.store.apply('put', { TableName: TABLE, Item: item });
  }

  get(pk: string, options: { readonly ConsistentRead?: boolean } = { ConsistentRead: true }): DynamoItem | undefined {
    return this.store.apply('get', { TableName: TABLE, Key: { pk }, ...options }).Item;
  }

  ready(options: Partial<DynamoCalls['query']['input']> = {}): DynamoCalls['query']['output'] {
    return this.store.apply('query', {
      TableName: TABLE,
      IndexName: 'ready',
      KeyConditionExpression: 'queue = :queue',
      ExpressionAttributeValues: { ':queue': 'q' },
      ...options,
    });
  }

  fault<K extends DynamoKind>(kind: K, input: DynamoCalls[K]['input']): DynamoFault {
    try {
      this.store.apply(kind, input);
    } catch (fault) {
      if (fault instanceof DynamoFault) return fault;
      throw fault;
    }
    throw new Error('the request succeeded');
  }

  transact(actions: NonNullable<DynamoCalls['transactWrite']['input']['TransactItems']>, token?: string) {
    const input = { TransactItems: actions, ...(token !== undefined && { ClientRequestToken: token }) };
    return this.store.apply('transactWrite', input);
  }
}

export const increment = (pk: string) => ({
  Update: {
    TableName: TABLE,
    Key: { pk },
    UpdateExpression: 'ADD n :one',
    ExpressionAttributeValues: { ':one': 1 },
  },
});
