/**
 * Work that takes longer than its function's deadline.
 *
 *   node examples/long-work/main.ts
 *
 * The functions of this laptop live for eight seconds, and the task takes fifteen.
 * Each function hands the task back before its deadline, with the
 * checkpoint of the last chunk, and the next function continues from there. The task is not retried, and every chunk is done once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createLeasehold } from 'leasehold';
import { SHARDS, TABLE_NAME, startPlatform } from '../../local/platform.ts';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import type { Checkpoint } from './tasks.ts';
import { migrate } from './tasks.ts';

const options = await exampleOptions({});
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
  copied === CHUNKS && hands.reduce((sum, chunks) => sum + chunks, 0) === CHUNKS,
  `all ${CHUNKS} chunks are done, and each was counted by one of them`,
);
check(task?.attempts === 1, 'and that was one attempt: handing back is not failing');
check(task?.past.every(({ how }) => how === 'released') === true, 'none of them failed, or died');

function say(line: string): void {
  console.log(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
}
