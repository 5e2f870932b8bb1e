/**
 * A batch of sixty items, four processes that work on them, and a fifth that waits until the whole batch is finished.
 *
 *   node examples/batch-join/main.ts
 *
 * One of the processes is killed at work. Its items are leased to its session, so the wait does not block on them:
 * after the session has expired, they are recorded as lost, and the batch ends.
 * At the end the example checks its claim, and exits with a code.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { check, ended, endingWith } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openLeasehold } from '../store.ts';
import type { Report } from './worker.ts';

const options = await exampleOptions({
  /** How long a killed process keeps what it had. */
  expiry: '5s',
});

const PROCESSES = ['a', 'b', 'c', 'd'];
const KILLED = 'b';
const ITEMS_PER_PROCESS = 15;
const KILL_AFTER_ITEMS = 4;

using leasehold = await openLeasehold(options.endpoint);
let startedAt = Date.now();
const group = await leasehold.waitGroup(`batch-${process.pid}-${startedAt}`);

const finished = new Map<string, number>();
const added = Promise.withResolvers<undefined>();
let addedBy = 0;
const processes = PROCESSES.map((letter) => startWorker(letter));
using _processes = endingWith(processes);

await added.promise;
// All members are known from here on, so a wait cannot end earlier.
await group.seal();
startedAt = Date.now();
say(`the batch is sealed: ${PROCESSES.length * ITEMS_PER_PROCESS} items, leased to ${PROCESSES.length} processes`);
for (const child of processes) child.send('begin');

let outcome = await group.wait({ wait: '1s' });
while (outcome.kind === 'pending') {
  say(`${finished.size} items are done, ${outcome.pending[0] ?? 'none'} is the first that is not`);
  outcome = await group.wait({ wait: '1s' });
}
const endedAt = Date.now();
say(`the batch is complete: ${outcome.members} items, ${outcome.lost} of them lost`);
await Promise.all(processes.map(ended));

const lost: string[] = [];
for await (const { id, state } of group.members()) if (state === 'lost') lost.push(id);
const unfinished = PROCESSES.length * ITEMS_PER_PROCESS - finished.size;
check(outcome.members === PROCESSES.length * ITEMS_PER_PROCESS, 'each item was counted, once');
check(Math.max(...finished.values()) <= endedAt, 'the wait did not end before the last item was done');
check(unfinished > 0 && lost.length <= unfinished, 'only unfinished items are lost');
check(
  lost.length === outcome.lost && lost.every((id) => id.startsWith(KILLED)),
  'those of the killed process, and no others',
);

function startWorker(letter: string): ChildProcess {
  const args = [
    letter,
    group.name,
    String(group.generation),
    String(ITEMS_PER_PROCESS),
    options.expiry,
    options.endpoint ?? '',
  ];
  const child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), args);
  let done = 0;
  child.on('message', (report: Report) => {
    if (report.kind === 'added' && ++addedBy === PROCESSES.length) added.resolve(undefined);
    if (report.kind !== 'done') return;
    finished.set(report.id, report.at);
    if (letter === KILLED && ++done === KILL_AFTER_ITEMS) {
      child.kill('SIGKILL');
      say(`process ${letter} is killed, with ${done} of its ${ITEMS_PER_PROCESS} items done`);
    }
  });
  return child;
}

function say(line: string): void {
  process.stdout.write(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
}
