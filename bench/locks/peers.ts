/** The lock clients of npm, behind the one shape that the comparison needs. */
import { Agent } from 'node:http';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { loadPeer } from './installed.ts';

/** Gives back a lock that was acquired. */
type Release = () => Promise<void>;

/** Acquires one key, with the client's own way of waiting. */
export type Acquire = (key: string) => Promise<Release>;

export interface Peer {
  readonly name: string;
  readonly acquire: Acquire;
  readonly bill: Bill;
  /** Whether a holder that died ever loses its key. */
  readonly takesOver: boolean;
  close(): Promise<void> | void;
}

/** The charge that the service reports. */
export interface Bill {
  requests: number;
  writeUnits: number;
  readUnits: number;
}

interface PeerOptions {
  readonly endpoint: string;
  readonly leaseMs: number;
}

/** One for each kind: what one leaves behind would be in the other's way. */
export const LOCK_CLIENT_TABLES = { FailOpen: 'lock-client-open', FailClosed: 'lock-client-closed' } as const;
export const DELIVERY_HERO_TABLE = 'delivery-hero';
const CREDENTIALS = { accessKeyId: 'bench', secretAccessKey: 'bench' };

type Callback<T> = (error: Error | null, result?: T) => void;
type OldMethod = (input: object, callback: Callback<Charged>) => void;

interface Charged {
  readonly ConsumedCapacity?: { readonly CapacityUnits?: number | undefined } | undefined;
}

interface LockClientModule {
  readonly FailOpen: new (config: object) => CallbackClient;
  readonly FailClosed: new (config: object) => CallbackClient;
}

interface CallbackClient {
  acquireLock(id: string, callback: Callback<{ release(callback: Callback<undefined>): void }>): void;
}

/** `dynamodb-lock-client` on version 2 of the SDK, which it was written for; with connections kept alive, as ours are. */
export function lockClient(kind: 'FailOpen' | 'FailClosed', options: PeerOptions): Peer {
  const [module, sdk] = [loadPeer<LockClientModule>('dynamodb-lock-client'), loadPeer<OldSdk>('aws-sdk')];
  const agent = new Agent({ keepAlive: true });
  const settings = { endpoint: options.endpoint, region: 'us-east-1', ...CREDENTIALS, httpOptions: { agent } };
  const bill = { requests: 0, writeUnits: 0, readUnits: 0 };
  const dynamodb = billed(new sdk.DynamoDB.DocumentClient(settings), bill);
  const common = { dynamodb, lockTable: LOCK_CLIENT_TABLES[kind], partitionKey: 'id', retryCount: 1_000 };
  const client =
    kind === 'FailOpen'
      ? new module.FailOpen({ ...common, leaseDurationMs: options.leaseMs, trustLocalTime: false })
      : new module.FailClosed({ ...common, acquirePeriodMs: 100 });
  return {
    name: `dynamodb-lock-client ${kind}`,
    bill,
    takesOver: kind === 'FailOpen',
    acquire: async (key) => {
      const lock = await promised<{ release(callback: Callback<undefined>): void }>((done) =>
        client.acquireLock(key, done),
      );
      return () => promised<undefined>((done) => lock.release(done));
    },
    close: () => agent.destroy(),
  };
}

interface OldSdk {
  readonly DynamoDB: {
    readonly DocumentClient: new (settings: object) => Record<'get' | 'put' | 'delete', OldMethod>;
  };
}

function billed(client: Record<'get' | 'put' | 'delete', OldMethod>, bill: Bill): object {
  const method = (name: 'get' | 'put' | 'delete'): OldMethod => {
    return (input, callback) =>
      client[name]({ ...input, ReturnConsumedCapacity: 'TOTAL' }, (error, output) => {
        charge(bill, name === 'get', output);
        callback(error, output);
      });
  };
  return { get: method('get'), put: method('put'), delete: method('delete') };
}

interface DeliveryHeroModule {
  dynamoDBLockClientFactory(
    documents: DynamoDBDocument,
    config: object,
  ): {
    lock(group: string, id: string, options: object): Promise<object>;
    releaseLock(lock: object): Promise<void>;
  };
}

/** `@deliveryhero/dynamodb-lock` on version 3 of the SDK. */
export function deliveryHero({ endpoint, leaseMs }: PeerOptions): Peer {
  const module = loadPeer<DeliveryHeroModule>('@deliveryhero/dynamodb-lock');
  const documents = DynamoDBDocument.from(
    new DynamoDBClient({ endpoint, region: 'us-east-1', credentials: CREDENTIALS }),
  );
  const bill = { requests: 0, writeUnits: 0, readUnits: 0 };
  documents.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
        const result = await next(args);
        charge(bill, commandName.startsWith('Get'), result.output as unknown as Charged);
        return result;
      },
    { step: 'initialize' },
  );
  const config = { tableName: DELIVERY_HERO_TABLE, partitionKey: 'id', sortKey: 'group' };
  const client = module.dynamoDBLockClientFactory(documents, config);
  const lockOptions = {
    leaseDurationInMs: leaseMs,
    prolongLeaseEnabled: false,
    trustLocalTime: false,
  };
  return {
    name: '@deliveryhero/dynamodb-lock',
    bill,
    takesOver: true,
    acquire: async (key) => {
      const lock = await client.lock('bench', key, lockOptions);
      return () => client.releaseLock(lock);
    },
    close: () => documents.destroy(),
  };
}

function charge(bill: Bill, isRead: boolean, output: Charged | undefined): void {
  bill.requests++;
  bill[isRead ? 'readUnits' : 'writeUnits'] += output?.ConsumedCapacity?.CapacityUnits ?? 0;
}

function promised<T>(start: (done: Callback<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, result) => {
      if (error) reject(error);
      else resolve(result as T);
    });
  });
}
