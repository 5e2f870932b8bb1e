/** One process of the limiter's example: a session, and five workers that share it. Started by `main.ts`. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration } from 'leasehold';
import { report } from '../claims.ts';
import { openLeasehold } from '../store.ts';

export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'began' | 'ended'; readonly job: string; readonly at: number };

const [letter = '?', name = '', maximum = '', workers = '', jobs = '', expiry = '', endpoint = ''] =
  process.argv.slice(2);

using leasehold = await openLeasehold(endpoint === '' ? undefined : endpoint);
// The session is what expires: no lock-delay, for a killed process stops at once.
await using session = await leasehold.session({ name: letter, ttl: expiry as Duration, lockDelay: 0 });
const limiter = session.limiter(name, { limit: Number(maximum), pause: '100ms' });

const begin = once(process, 'message');
await report({ kind: 'ready' } satisfies Report);
await begin;
await Promise.all(Array.from({ length: Number(workers) }, (_, worker) => work(worker)));
// The channel to the parent would keep this process alive.
process.disconnect();

async function work(worker: number): Promise<void> {
  for (let round = 0; round < Number(jobs); round++) {
    const job = `${worker}.${round}`;
    const id = await limiter.add();
    if (id === undefined) throw new Error('add gave up without being asked to');
    await report({ kind: 'began', job, at: Date.now() } satisfies Report);
    await sleep(200 + Math.random() * 400);
    await report({ kind: 'ended', job, at: Date.now() } satisfies Report);
    await limiter.done(id);
  }
}
