/**
 * An observer: says who leads, and each change of it. Terms never go back.
 *
 *   node examples/leader/observer.ts
 */
import { exampleOptions } from '../options.ts';
import { openLeasehold } from '../store.ts';

const options = await exampleOptions({
  election: 'coordinator',
});

const interrupted = new AbortController();
process.once('SIGINT', () => {
  interrupted.abort();
});

using leasehold = await openLeasehold(options.endpoint);
for await (const { term, leader } of leasehold.elections.observe(options.election, { signal: interrupted.signal })) {
  const line = leader === undefined ? 'no leader' : `${leader.name} on ${leader.node} leads: ${leader.value}`;
  process.stdout.write(`term ${term}: ${line}\n`);
}
