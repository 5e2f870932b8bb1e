/**
 * Mutually exclusive workers, as in the original demonstration.
 *
 *   node examples/mutual-exclusion/worker.ts                   in one terminal: it works for 30 seconds
 *   node examples/mutual-exclusion/worker.ts                   in another at the same time: it cannot work, and exits
 *   Ctrl+C in the first                                        the next one can work at once
 *   kill -9 of the first                                       the next one can work after the TTL and the lock-delay
 *   node examples/mutual-exclusion/worker.ts --wait 5m         waits for its turn
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration } from 'leasehold';
import { LockUnavailableError } from 'leasehold';
import type { StringValue } from 'ms';
import ms from 'ms';
import { exampleOptions } from '../options.ts';
import { openLeasehold } from '../store.ts';

const options = await exampleOptions({
  task: 'nightly-report',
  work: '30s',
  wait: '0s',
  ttl: '15s',
  'lock-delay': '15s',
});
const duration = (name: 'wait' | 'ttl' | 'lock-delay'): Duration => options[name] as Duration;

const interrupted = new AbortController();
process.once('SIGINT', () => {
  interrupted.abort();
});

using leasehold = await openLeasehold(options.endpoint);
await using session = await leasehold.session({
  name: 'worker',
  ttl: duration('ttl'),
  lockDelay: duration('lock-delay'),
  behavior: 'delete',
});
say(`session ${session.id}`);

try {
  // The value shows people who is working.
  const wait = { wait: duration('wait'), signal: interrupted.signal };
  await using lock = await session.lock(`service/${options.task}/worker`, { value: session.id, ...wait });
  say(`I can work (fencing token ${lock.fencingToken})`);
  await workFor(ms(options.work as StringValue), AbortSignal.any([lock.signal, interrupted.signal]));
  if (interrupted.signal.aborted) say('interrupted: giving back the lock');
  else if (lock.signal.aborted) say(`stopping: ${(lock.signal.reason as Error).message}`);
  else say('done');
} catch (error) {
  if (error instanceof LockUnavailableError) say(`I can NOT work: ${error.message}`);
  else if (!interrupted.signal.aborted) throw error;
}

/** Simulates work that stops when asked. */
async function workFor(spanMs: number, signal: AbortSignal): Promise<void> {
  await sleep(spanMs, undefined, { signal }).catch(() => undefined);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
