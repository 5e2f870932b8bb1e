/** Ends of attempts that the store could not decide for a while: they are decided by the worker that lives on, and said to be late. */
import { expect, test } from 'vitest';
import { taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { TaskLog } from '../../../../shared/tasks/task/context.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { MEMORY_TTL_MS, QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

const OUTAGE_MS = 35_000;
const HEARTBEAT_MS = MEMORY_TTL_MS / 3;
const THROTTLED = new DynamoFault('throttled', { code: 'ThrottlingException', message: 'hot partition' });
const UNANSWERED = new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });

/** Writes of one row fail while `isOut`, everything else goes through. */
class Outage {
  isOut = false;
  readonly #row: string;
  readonly #loses: boolean;

  /** @param loses each of these writes is applied, and its answer is lost; else it is refused for now */
  constructor(id: string, loses = false) {
    this.#row = taskKey(QUEUE, id).pk;
    this.#loses = loses;
  }

  readonly wrap = (driver: DynamoDriver): DynamoDriver => ({
    attempt: async (kind, input, signal) => {
      const isWrite = kind === 'update' || kind === 'transactWrite';
      if (!this.isOut || !isWrite || !JSON.stringify(input).includes(JSON.stringify(this.#row)))
        return driver.attempt(kind, input, signal);
      if (this.#loses) await driver.attempt(kind, input, signal).catch(() => undefined);
      throw this.#loses ? UNANSWERED : THROTTLED;
    },
  });
}

/** Records log messages about undecided ends, with their times. */
function recordingLog(clock: Clock): TaskLog & { readonly lines: (readonly [message: string, at: number])[] } {
  const lines: (readonly [string, number])[] = [];
  const note = (message: string): void => {
    if (message.startsWith('task outcome ')) lines.push([message, clock.now()]);
  };
  return { lines, debug: () => undefined, info: note, warn: note, error: note };
}

const feed = defineTask({ name: 'feed', run: () => undefined });

test('writes an end that the row refused as soon as the row recovers', async () => {
  const outage = new Outage('victim');
  const q = openMemoryQueue(outage.wrap);
  const { clock } = q;
  let recoveredAt = 0;
  const victim = defineTask({
    name: 'victim',
    run: () => {
      outage.isOut = true;
      void clock.sleep(OUTAGE_MS).then(() => {
        outage.isOut = false;
        recoveredAt = clock.now();
      });
    },
  });
  await q.client.enqueue(victim, null, { id: 'victim' });
  // Without other work the worker would exit, and so free the task.
  for (let n = 0; n < 60; n++) await q.client.enqueue(feed, null, { delay: `${n * 2}s` });
  const log = recordingLog(clock);

  const report = await q.work({ victim, feed }, { concurrency: 2, log });

  expect(await q.client.get('victim')).toMatchObject({ state: 'done', attempts: 1 });
  expect(report?.settled).toMatchObject({ unsettled: 0 });
  expect(log.lines[0]?.[0]).toBe('task outcome unknown');
  const [decided, decidedAt = Infinity] = log.lines.at(-1) ?? [];
  expect(decided).toBe('task outcome resolved');
  expect(decidedAt - recoveredAt).toBeLessThanOrEqual(HEARTBEAT_MS);
});

test('finds a commit with lost responses done, and does not rerun the task', async () => {
  const outage = new Outage('t', true);
  const q = openMemoryQueue(outage.wrap);
  let runs = 0;
  const commits = defineTask({
    name: 'commits',
    run: async (_: null, task) => {
      runs++;
      outage.isOut = true;
      void q.clock.sleep(MEMORY_TTL_MS).then(() => (outage.isOut = false));
      await task.commit('done');
    },
  });
  await q.client.enqueue(commits, null, { id: 't' });

  const report = await q.work({ commits });

  expect(report?.settled).toMatchObject({ done: 1, lost: 0 });
  expect(await q.client.get('t')).toMatchObject({ state: 'done', result: 'done' });
  expect(runs).toBe(1);
});

test('does not wait for the row when the worker must exit, and frees the task with its session', async () => {
  const outage = new Outage('t');
  const q = openMemoryQueue(outage.wrap);
  const handBack = new AbortController();
  const work = defineTask({
    name: 'work',
    run: () => {
      outage.isOut = true;
      void q.clock.sleep(10_000).then(() => {
        handBack.abort(new Error('enough'));
      });
    },
  });
  await q.client.enqueue(work, null, { id: 't' });

  const report = await q.work({ work }, { handBack: handBack.signal });
  outage.isOut = false;
  await q.work({ work: defineTask({ name: 'work', run: () => undefined }) });

  expect(report?.settled).toMatchObject({ unsettled: 1 });
  expect(await q.client.get('t')).toMatchObject({ state: 'done', attempts: 2 });
});
