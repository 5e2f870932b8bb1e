/**
 * `crowd.ts ENDPOINT TABLE PROCESS CALLERS`: waits for the value `go`, and then calls as many times at once: ordered tasks of one key,
 * and permits of one semaphore. Prints when each permit was held, by this machine's clock.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createLeasehold } from '../../../shared/client/leasehold.ts';

interface Holding {
  readonly token: number;
  readonly from: number;
  readonly until: number;
}

const LIMIT = 5;
const HELD_MS = 20;

const [endpoint = '', table = '', process_ = '', callers = ''] = process.argv.slice(2);
const clientConfig = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
using leasehold = createLeasehold({ table, endpoint, clientConfig });
await using session = await leasehold.session({ ttl: '2m' });
const all = Array.from({ length: Number(callers) }, (_, n) => n);
console.log('ready');
while ((await leasehold.locks.get('go')) === undefined) await wait(20);
await Promise.all(
  all.map((n) => leasehold.tasks.enqueue('work', { process: process_, n }, { key: 'one', ordered: true })),
);
const held = await Promise.all(
  all.map(async (): Promise<Holding> => {
    const permit = await session.permit('one', { limit: LIMIT, wait: '5m' });
    const from = performance.timeOrigin + performance.now();
    await wait(HELD_MS);
    const until = performance.timeOrigin + performance.now();
    await permit.release();
    return { token: permit.fencingToken, from, until };
  }),
);
console.log(`held ${JSON.stringify(held)}`);
