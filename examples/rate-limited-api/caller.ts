/** One process that calls the vendor, as often as it may. Started by `main.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createLeasehold } from 'leasehold';
import { report } from '../claims.ts';
import { TABLE } from '../table.ts';
import { RATE } from './rate.ts';

/** A token was taken at some moment between these two, by the clock that all processes share. */
export interface Taken {
  readonly after: number;
  readonly before: number;
}

const [limit = '', calls = '', vendor = ''] = process.argv.slice(2);

using leasehold = createLeasehold({ table: TABLE });
const limiter = leasehold.rateLimiter(limit, RATE);

for (let call = 0; call < Number(calls); call++) {
  const taken = await takeToken();
  await fetch(vendor);
  await report(taken);
}
// The channel to the parent would keep this process alive.
process.disconnect();

/** `limiter.take('vendor')` does the same; this one also reads the clock. */
async function takeToken(): Promise<Taken> {
  for (;;) {
    const after = Date.now();
    const take = await limiter.tryTake('vendor');
    if (take.kind === 'taken') return { after, before: Date.now() };
    await sleep(take.waitMs);
  }
}
