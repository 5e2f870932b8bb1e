/**
 * A worker at the edge, and the workers that do what it enqueues.
 *
 *   node examples/edge/main.ts
 *
 * `worker.ts` is called as an edge runtime calls it, by three callers who ask for more quotes than they get;
 * its credentials come from a server of this program, as in the cloud they come from a function.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import { localSettings } from '../store.ts';
import type { Env } from './worker.ts';
import worker, { RATE } from './worker.ts';

const options = await exampleOptions({});
const SECRET = 'shown by the edge';
const CALLERS = ['ada', 'grace', 'edsger'].map((name) => `${name}-${process.pid}-${Date.now()}`);
const ASKS = RATE.burst + 2;

await using queue = await openQueue('edge', options.endpoint);
const settings = await localSettings(options.endpoint);

let handedOut = 0;
let refused = 0;
await using vendor = createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${SECRET}`) {
    refused++;
    response.writeHead(403).end();
    return;
  }
  handedOut++;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = settings;
  response.end(JSON.stringify({ accessKeyId, secretAccessKey, sessionToken: 'of a quarter of an hour' }));
}).listen(0, '127.0.0.1');
await once(vendor, 'listening');

const env: Env = {
  TABLE: queue.leasehold.table,
  REGION: settings.AWS_REGION,
  QUEUE: queue.name,
  ENDPOINT: settings.AWS_ENDPOINT_URL_DYNAMODB,
  CREDENTIALS_URL: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/`,
  CREDENTIALS_SECRET: SECRET,
};
queue.start(new URL('tasks.ts', import.meta.url));

const [caller = '', ...others] = CALLERS;
const first = await ask(caller);
const callers = [
  ...Array.from({ length: ASKS - 1 }, () => caller),
  ...others.flatMap((other) => Array.from({ length: ASKS }, () => other)),
];
const answers = [first, ...(await Promise.all(callers.map(ask)))];
const counts = Object.groupBy(answers, ({ status }) => String(status));
for (const [status, those = []] of Object.entries(counts)) console.log(`${those.length} answers ${status}`);

const quoted = answers.filter(({ status }) => status === 200 || status === 202);
const totals = await Promise.all(quoted.map(({ id = '' }) => queue.leasehold.tasks.result(id, { wait: '1m' })));
check(quoted.length === CALLERS.length * RATE.burst, `each caller has ${RATE.burst} quotes, and no more`);
check(
  totals.every((outcome) => outcome.kind === 'done' && JSON.stringify(outcome.result) === '{"item":"tea","total":8}'),
  'each of them was made by a worker',
);
check(handedOut === 1, 'the first request alone asked for credentials');
check(refused === 0 && !(await withoutSecret()), 'and are not handed out without the secret');

interface Asked {
  readonly status: number;
  readonly id?: string;
}

async function ask(caller: string): Promise<Asked> {
  const body = JSON.stringify({ item: 'tea', count: 2 });
  const request = new Request('https://shop.example/quotes', {
    method: 'POST',
    headers: { 'x-caller': caller },
    body,
  });
  const response = await worker.fetch(request, env);
  if (response.status === 429) return { status: 429 };
  return { status: response.status, ...((await response.json()) as { readonly id: string }) };
}

async function withoutSecret(): Promise<boolean> {
  return (await fetch(env.CREDENTIALS_URL)).ok;
}
