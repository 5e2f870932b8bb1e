/**
 * Forty workers, and a vendor that accepts at most fifteen concurrent calls.
 *
 *   node examples/limiter/main.ts
 *
 * The workers run in eight processes. Two of these are killed at work, so their code cannot react:
 * their slots come back when their sessions have expired, and until then the others continue with fewer.
 * The example draws the slots as they change. At the end it checks its claim, and exits with a code.
 */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SemaphoreState } from 'leasehold';
import { check, ended, endingWith } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openLeasehold } from '../store.ts';
import type { Shift } from './shift.ts';
import { mostAtOnce } from './shift.ts';
import type { Report } from './workers.ts';

const options = await exampleOptions({
  /** How long a killed process keeps what it had. */
  expiry: '5s',
});

const MAXIMUM = 15;
const PROCESSES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const KILLED = ['a', 'b'];
const WORKERS_PER_PROCESS = 5;
const JOBS_PER_WORKER = 5;
/** A process is killed once so many of its workers are at work. */
const KILLED_AT_WORK = 2;
const LOOK_EVERY_MS = 200;

using leasehold = await openLeasehold(options.endpoint);
const name = `vendor-${process.pid}-${Date.now()}`;
let startedAt = Date.now();

const shifts: Shift[] = [];
/** Time of the kill: earlier messages of the process may arrive later. */
const killed = new Map<string, number>();
let mostHeld = 0;
const over = new AbortController();

const processes = new Map(PROCESSES.map((letter) => [letter, startWorkers(letter)]));
using _processes = endingWith(processes.values());
await Promise.all([...processes.values()].map((child) => once(child, 'message')));
startedAt = Date.now();
say(`${PROCESSES.length * WORKERS_PER_PROCESS} workers in ${PROCESSES.length} processes begin`);
for (const child of processes.values()) child.send('begin');
const watching = watchSlots(over.signal);

await Promise.all([...processes.values()].map(ended));
await untilAllSlotsAreBack();
over.abort();
await watching;

check(killed.size === KILLED.length, `${killed.size} processes were killed at work`);
const done = shifts.filter(({ letter, endedAt }) => !killed.has(letter) && endedAt !== undefined).length;
check(mostHeld <= MAXIMUM, `at most ${mostHeld} of ${MAXIMUM} slots were ever seen taken`);
check(mostAtOnce(shifts) <= MAXIMUM, `at most ${mostAtOnce(shifts)} workers were ever at work at one time`);
check(
  done === (PROCESSES.length - KILLED.length) * WORKERS_PER_PROCESS * JOBS_PER_WORKER,
  `${done} jobs were done by the workers that were not killed`,
);
check(await canFillAllSlots(), `all ${MAXIMUM} slots can be taken again`);

function startWorkers(letter: string): ChildProcess {
  const args = [letter, name, String(MAXIMUM), String(WORKERS_PER_PROCESS), String(JOBS_PER_WORKER), options.expiry];
  const child = fork(fileURLToPath(new URL('workers.ts', import.meta.url)), [...args, options.endpoint ?? '']);
  child.on('message', (report: Report) => {
    if (report.kind === 'ready') return;
    if (report.kind === 'began')
      shifts.push({ letter, job: report.job, beganAt: report.at, endedAt: killed.get(letter) });
    const shift = shifts.find((begun) => begun.letter === letter && begun.job === report.job);
    if (report.kind === 'ended' && shift !== undefined) shift.endedAt = report.at;
    if (KILLED.includes(letter) && !killed.has(letter) && atWork(letter).length === KILLED_AT_WORK) kill(letter);
  });
  return child;
}

function atWork(letter: string): Shift[] {
  return shifts.filter((shift) => shift.letter === letter && shift.endedAt === undefined);
}

function kill(letter: string): void {
  processes.get(letter)?.kill('SIGKILL');
  const now = Date.now();
  killed.set(letter, now);
  say(`process ${letter} is killed, with ${atWork(letter).length} workers at work`);
  for (const shift of atWork(letter)) shift.endedAt = now;
}

async function watchSlots(signal: AbortSignal): Promise<void> {
  let drawn = '';
  while (!signal.aborted) {
    const state = await leasehold.semaphores.get(name);
    if (state !== undefined) {
      mostHeld = Math.max(mostHeld, state.holders.length);
      const picture = draw(state);
      if (picture !== drawn) say(picture);
      drawn = picture;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** One letter per slot: the process that has it, `†` once that is killed, `·` while it is free. */
function draw({ holders }: SemaphoreState): string {
  const letters = holders.map(({ sessionName = '?' }) => (killed.has(sessionName) ? '†' : sessionName));
  const free = Array.from({ length: MAXIMUM - letters.length }, () => '·');
  return [...letters.sort(), ...free].join(' ');
}

async function untilAllSlotsAreBack(): Promise<void> {
  while (((await leasehold.semaphores.get(name))?.inUse ?? 0) > 0) await sleep(LOOK_EVERY_MS);
}

async function canFillAllSlots(): Promise<boolean> {
  await using session = await leasehold.session({ name: 'check', ttl: '10s', lockDelay: 0 });
  const limiter = session.limiter(name, { limit: MAXIMUM });
  for (let slot = 0; slot < MAXIMUM; slot++) if ((await limiter.add({ wait: '2s' })) === undefined) return false;
  return true;
}

function say(line: string): void {
  process.stdout.write(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
}
