/** The contestants of the cycle comparison: ours first. */
import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { createSilentTable } from '../silent-table.ts';
import type { Bill, Peer } from './peers.ts';
import { DELIVERY_HERO_TABLE, LOCK_CLIENT_TABLES, deliveryHero, lockClient } from './peers.ts';

/** Whether the key comes back, or is one for each order or invocation. */
export type KeyUse = 'again' | 'once';

export interface Contestant {
  readonly name: string;
  /** Whether a holder that died ever loses its key. */
  readonly takesOver: boolean;
  /** Acquires an uncontended key, and gives it back. Ours lists no key that is used once; theirs list none at all. */
  cycle(key: string, use: KeyUse): Promise<void>;
  /** The charge for one cycle on an existing key. */
  costOfCycle(key: string): Promise<Bill>;
  close(): Promise<void>;
}

export const TABLE = 'leasehold';

export async function openContestants(endpoint: string): Promise<readonly Contestant[]> {
  await createTables(endpoint);
  const options = { endpoint, leaseMs: 30_000 };
  const peers = [lockClient('FailOpen', options), lockClient('FailClosed', options), deliveryHero(options)];
  return [await ours(endpoint), ...peers.map(contestantOf)];
}

async function ours(endpoint: string): Promise<Contestant> {
  const meter = createMeter();
  const leasehold = createLeasehold({ table: TABLE, endpoint, observer: meter });
  const session = await leasehold.session({ ttl: '30s' });
  const cycle = async (key: string, use: KeyUse): Promise<void> => {
    const acquisition = await session.tryLock(key, { listed: use === 'again' });
    if (acquisition.kind !== 'acquired') throw new Error(`${key} is taken: the measurement is not what it should be`);
    await acquisition.lock.release();
  };
  return {
    name: 'leasehold',
    takesOver: true,
    cycle,
    costOfCycle: (key) =>
      difference(cycle, key, () => {
        const { requests, writeUnits, readUnits } = meter.read();
        return { requests, writeUnits, readUnits };
      }),
    async close() {
      await session.end();
      leasehold.close();
    },
  };
}

function contestantOf(peer: Peer): Contestant {
  const cycle = async (key: string): Promise<void> => {
    const release = await peer.acquire(key);
    await release();
  };
  return {
    name: peer.name,
    takesOver: peer.takesOver,
    cycle,
    costOfCycle: (key) => difference(cycle, key, () => ({ ...peer.bill })),
    async close() {
      await peer.close();
    },
  };
}

async function difference(cycle: Contestant['cycle'], key: string, read: () => Bill): Promise<Bill> {
  await cycle(key, 'again');
  const before = read();
  await cycle(key, 'again');
  const after = read();
  return {
    requests: after.requests - before.requests,
    writeUnits: after.writeUnits - before.writeUnits,
    readUnits: after.readUnits - before.readUnits,
  };
}

async function createTables(endpoint: string): Promise<void> {
  const client = new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  });
  const id = { AttributeName: 'id', AttributeType: 'S' } as const;
  const group = { AttributeName: 'group', AttributeType: 'S' } as const;
  const byId = { AttributeName: 'id', KeyType: 'HASH' } as const;
  const tables: CreateTableCommandInput[] = [
    ...Object.values(LOCK_CLIENT_TABLES).map((name) => ({
      TableName: name,
      AttributeDefinitions: [id],
      KeySchema: [byId],
    })),
    {
      TableName: DELIVERY_HERO_TABLE,
      AttributeDefinitions: [id, group],
      KeySchema: [byId, { AttributeName: 'group', KeyType: 'RANGE' }],
    },
  ];
  await createSilentTable(client, TABLE);
  for (const table of tables) await client.send(new CreateTableCommand({ ...table, BillingMode: 'PAY_PER_REQUEST' }));
  client.destroy();
}
