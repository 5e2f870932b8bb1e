/**
 * A candidate: campaigns, leads as long as it may, and campaigns again.
 *
 *   node examples/leader/candidate.ts --name ann               in one terminal
 *   node examples/leader/candidate.ts --name bob               in another: waits
 *   node examples/leader/observer.ts                           in a third: sees who leads
 *   Ctrl+C where ann leads                                     bob leads within seconds, in a larger term
 *   kill -9 where ann leads                                    bob leads after the TTL and the lock-delay
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration, Leadership, Leasehold } from 'leasehold';
import { exampleOptions } from '../options.ts';
import { openLeasehold } from '../store.ts';

const options = await exampleOptions({
  name: `candidate-${process.pid}`,
  election: 'coordinator',
  ttl: '10s',
  'lock-delay': '5s',
});

const interrupted = new AbortController();
process.once('SIGINT', () => {
  interrupted.abort();
});

using table = await openLeasehold(options.endpoint);
while (mayGoOn()) {
  try {
    await campaignOnce(table);
  } catch (error) {
    if (mayGoOn()) say(`lost: ${String(error)}`);
  }
}

/** A session that was lost is not renewed: each campaign has its own. */
async function campaignOnce(leasehold: Leasehold): Promise<void> {
  await using session = await leasehold.session({
    name: options.name,
    ttl: options.ttl as Duration,
    lockDelay: options['lock-delay'] as Duration,
  });
  say('campaigning');
  const campaign = { value: `I am ${options.name}`, signal: interrupted.signal };
  await using leadership = await session.campaign(options.election, campaign);
  say(`leading in term ${leadership.term}`);
  const stop = AbortSignal.any([leadership.signal, interrupted.signal]);
  await proclaimNowAndThen(leadership, stop);
  say(mayGoOn() ? `deposed: ${String(leadership.signal.reason)}` : 'resigning');
}

async function proclaimNowAndThen(leadership: Leadership, stop: AbortSignal): Promise<void> {
  for (let seconds = 5; ; seconds += 5) {
    await sleep(5_000, undefined, { signal: stop }).catch(() => undefined);
    if (stop.aborted) return;
    await leadership.proclaim(`I am ${options.name}, leading for ${seconds} s`);
  }
}

function mayGoOn(): boolean {
  return !interrupted.signal.aborted;
}

function say(line: string): void {
  process.stdout.write(`${options.name}: ${line}\n`);
}
