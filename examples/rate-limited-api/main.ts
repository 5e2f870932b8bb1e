/**
 * Four processes that call a vendor who allows twenty calls a second in all, and five at once.
 *
 *   node examples/rate-limited-api/main.ts
 *
 * They know nothing of each other: each takes a token before it calls. At the end the claims are checked for every span of time
 * in which tokens were taken, and the exit code says whether they hold.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { check, endingWith } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { localSettings, openLeasehold } from '../store.ts';
import type { Taken } from './caller.ts';
import { RATE } from './rate.ts';

const options = await exampleOptions({});

const PROCESSES = 4;
const CALLS_PER_PROCESS = 25;
const PER_MS = 1_000;

const settings = await localSettings(options.endpoint);
using _table = await openLeasehold(options.endpoint);

let answered = 0;
await using vendor = createServer((_request, response) => {
  answered++;
  response.end('here you are');
}).listen(0, '127.0.0.1');
await once(vendor, 'listening');
const address = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/`;

const tokens: Taken[] = [];
const limit = `vendor-${process.pid}-${Date.now()}`;
say(`${PROCESSES} processes call ${CALLS_PER_PROCESS} times each, as fast as they may`);
const callers = Array.from({ length: PROCESSES }, startCaller);
using _processes = endingWith(callers);
await Promise.all(callers.map((caller) => once(caller, 'close')));

const calls = PROCESSES * CALLS_PER_PROCESS;
const tookMs = Math.max(...tokens.map(({ before }) => before)) - Math.min(...tokens.map(({ after }) => after));
say(`it took ${(tookMs / 1_000).toFixed(1)} s`);
check(callers.every(({ exitCode }) => exitCode === 0) && answered === calls, `${answered} calls were made`);
check(tookMs >= ((calls - RATE.burst) / RATE.rate) * PER_MS, 'which takes as long as it must at that rate');
check(mostAboveRate() <= 0, `in no span of time were more than ${RATE.burst} tokens taken above ${RATE.rate} a second`);

function startCaller(): ChildProcess {
  const file = fileURLToPath(new URL('caller.ts', import.meta.url));
  const child = fork(file, [limit, String(CALLS_PER_PROCESS), address], { env: { ...settings } });
  child.on('message', (taken: Taken) => {
    tokens.push(taken);
  });
  return child;
}

/**
 * Over all intervals: tokens certainly taken within the interval, minus the vendor's allowance for it.
 * A token counts if both its times are within; a millisecond allows for the rounding of clocks.
 */
function mostAboveRate(): number {
  const spans = tokens.flatMap(({ after: from }) =>
    tokens.filter(({ before: to }) => to >= from).map(({ before: to }) => ({ from, to })),
  );
  return Math.max(
    ...spans.map(({ from, to }) => {
      const within = tokens.filter(({ after, before }) => from <= after && before <= to).length;
      return within - (RATE.burst + ((to - from + 1) / PER_MS) * RATE.rate);
    }),
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
