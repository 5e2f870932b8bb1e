/**
 * Work that takes longer than its function's deadline.
 *
 *   node examples/long-work/main.ts
 *
 * Before that, the task is run in memory with its worker killed at each of its requests.
 * The functions of this laptop live for eight seconds, and the task takes fifteen.
 * Each function hands the task back before its deadline, with the
 * checkpoint of the last chunk, and the next function continues from there. The task is not retried, and every chunk is done once.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLeasehold } from 'leasehold';
import { createTestKit } from 'leasehold/testing';
import { SHARDS, TABLE_NAME, startPlatform } from '../platform/platform.ts';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import type { Checkpoint } from './tasks.ts';
import { BEGINNING, migrate } from './tasks.ts';

const options = await exampleOptions({});

// First in memory, in a second: for any moment at which its worker is killed, each chunk is counted once.
const kit = createTestKit({ tasks: { migrate } });
const { crashes } = await kit.everyCrash(migrate, { chunks: 3, msPerChunk: 0 }, ({ task }) => {
  const { by } = (task.state === 'done' ? task.result : BEGINNING) as Checkpoint;
  assert.equal(sumOf(Object.values(by)), 3);
});
check(crashes > 20, `the task survives ${crashes} crashes of its worker, at every request before and after it`);

const CHUNKS = 60;
const MS_PER_CHUNK = 250;
const FUNCTION_LIVES_MS = 8_000;
const PATIENCE_MS = 300_000;

const queue = `long-work-${randomUUID()}`;
const platform = await startPlatform({
  engine: options.endpoint === undefined ? { kind: 'embedded' } : { kind: 'endpoint', endpoint: options.endpoint },
  tasksEntry: fileURLToPath(new URL('tasks.ts', import.meta.url)),
  queue,
  maxWorkers: 1,
  concurrency: 1,
  workerMemoryMb: 256,
  sessionTtlMs: 10_000,
  workerTimeoutMs: FUNCTION_LIVES_MS,
  deadlineMarginMs: 3_000,
  tickMs: 500,
  duplicateTickRate: 0,
  maxClockSkewMs: 200,
  onEvent: () => undefined,
});
using leasehold = createLeasehold({ table: TABLE_NAME, endpoint: platform.engine.endpoint, queue, shards: SHARDS });

const startedAt = performance.now();
const { id } = await leasehold.tasks.enqueue(migrate, { chunks: CHUNKS, msPerChunk: MS_PER_CHUNK });
platform.startSchedule();
let task = await leasehold.tasks.get(id);
let holder: string | undefined;
while (task?.state !== 'done' && task?.state !== 'dead' && performance.now() - startedAt < PATIENCE_MS) {
  if (task?.state === 'running' && task.session !== holder) {
    holder = task.session;
    const { copied = 0 } = (task.progress ?? {}) as Partial<Checkpoint>;
    say(`a function goes on from chunk ${copied}`);
  }
  await sleep(100);
  task = await leasehold.tasks.get(id);
}
const tookMs = performance.now() - startedAt;
say(`the task is ${task?.state}`);
await platform.stop();

const { copied, by } = (task?.state === 'done' ? task.result : { copied: 0, by: {} }) as Checkpoint;
const hands = Object.values(by);
check(
  tookMs > FUNCTION_LIVES_MS,
  `the task took longer than the ${FUNCTION_LIVES_MS / 1_000} seconds that a function lives`,
);
check(hands.length >= 3, `${hands.length} functions had it in their hands, one after the other`);
check(
  copied === CHUNKS && sumOf(hands) === CHUNKS,
  `all ${CHUNKS} chunks are done, and each was counted by one of them`,
);
check(task?.attempts === 1, 'and that was one attempt: handing back is not failing');
check(task?.past.every(({ how }) => how === 'released') === true, 'none of them failed, or died');

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function say(line: string): void {
  console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
}
