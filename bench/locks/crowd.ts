/** Many contenders for one key that is always held, each with its own client, as in many Lambda functions. */
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';
import { TABLE } from './contestants.ts';

export async function requestsOfCrowd(
  endpoint: string,
  { contenders, seconds }: { readonly contenders: number; readonly seconds: number },
): Promise<number> {
  using holder = createLeasehold({ table: TABLE, endpoint });
  await using session = await holder.session({ ttl: '30s' });
  await using _lock = await session.lock('crowded');
  const crowd = await Promise.all(
    Array.from({ length: contenders }, async () => {
      const meter = createMeter();
      const leasehold = createLeasehold({ table: TABLE, endpoint, observer: meter });
      // No heartbeat falls into the measurement, so it counts only the contention.
      return { meter, leasehold, session: await leasehold.session({ ttl: null, heartbeat: '1h' }) };
    }),
  );
  const sum = (): number => crowd.reduce((total, { meter }) => total + meter.read().requests, 0);
  const before = sum();
  const stop = new AbortController();
  const waiting = crowd.map((one) => one.session.lock('crowded', { signal: stop.signal }).catch(() => undefined));
  await clock.sleep(seconds * 1_000);
  const requests = sum() - before;
  stop.abort();
  await Promise.all(waiting);
  for (const one of crowd) {
    await one.session.end();
    one.leasehold.close();
  }
  return requests / seconds;
}
