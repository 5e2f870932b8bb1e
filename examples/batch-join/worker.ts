/**
 * One process of the batch's example: adds its items under its own session,
 * works on them, and says that each is done. Started by `main.ts`.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration } from 'leasehold';
import { report } from '../claims.ts';
import { openLeasehold } from '../store.ts';

export type Report =
  | { readonly kind: 'added' }
  /** `at`: before the group learned of it. */
  | { readonly kind: 'done'; readonly id: string; readonly at: number };

const [letter = '?', name = '', generation = '', count = '', expiry = '', endpoint = ''] = process.argv.slice(2);

using leasehold = await openLeasehold(endpoint === '' ? undefined : endpoint);
await using session = await leasehold.session({ name: letter, ttl: expiry as Duration, lockDelay: 0 });
// The generation distinguishes this batch from a later one of the same name.
const group = await leasehold.waitGroup(name, { generation: Number(generation) });
const ids = Array.from({ length: Number(count) }, (_, n) => `${letter}-${String(n).padStart(2, '0')}`);

const begin = once(process, 'message');
await group.add(ids, { session });
await report({ kind: 'added' } satisfies Report);
await begin;
for (const id of ids) {
  await sleep(50 + Math.random() * 200);
  const at = Date.now();
  await group.done(id);
  await report({ kind: 'done', id, at } satisfies Report);
}
// The channel to the parent would keep this process alive.
process.disconnect();
