import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import type { Platform } from '../../examples/platform/platform.ts';
import { startPlatform } from '../../examples/platform/platform.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { DiaryLine } from '../support/tasks-modules/diary.ts';

/** A worker that is only slow must not lose its session. */
const SESSION_TTL_MS = 6_000;
const MAX_CLOCK_SKEW_MS = 200;
const TICK_MS = 250;

describe.skipIf(inject('embeddedEndpoint') === null)('a worker that is stopped beyond its TTL and continued', () => {
  let platform: Platform;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-'));
    platform = await startPlatform({
      engine: { kind: 'embedded' },
      tasksEntry: fileURLToPath(new URL('../support/tasks-modules/diary.ts', import.meta.url)),
      queue: 'zombies',
      maxWorkers: 3,
      concurrency: 1,
      sessionTtlMs: SESSION_TTL_MS,
      workerTimeoutMs: 60_000,
      deadlineMarginMs: 5_000,
      workerMemoryMb: 256,
      tickMs: TICK_MS,
      duplicateTickRate: 0,
      maxClockSkewMs: MAX_CLOCK_SKEW_MS,
      onEvent: () => undefined,
    });
  });

  afterEach(async () => {
    await platform.stop();
    await rm(folder, { recursive: true });
  });

  test('finds its signal aborted before it does anything, and can save, commit, snooze and renew nothing', async () => {
    const file = path.join(folder, 'diary.jsonl');
    const { id, queue } = await platform.tasks.enqueue('diary', { file }, { id: 'patient' });
    platform.startSchedule();
    await until(async () => (await diary(file)).length >= 3);
    // Identified by its process: the first ticks may start a second worker, which finds no task and exits.
    const [{ pid: writer } = { pid: 0 }] = await diary(file);
    const victim = platform.lambda.environments().find(({ pid, state }) => pid === writer && state === 'busy');
    const before = await platform.tasks.get(id, queue);
    if (victim === undefined || before?.state !== 'running') throw new Error('no worker is at work');

    platform.lambda.freeze(victim.id);
    const frozenAt = Date.now();
    await until(async () => {
      const now = await platform.tasks.get(id, queue);
      return now?.state === 'running' && now.session !== before.session;
    });
    const takenOverAfterMs = Date.now() - frozenAt;
    const thawedAt = Date.now();
    platform.lambda.thaw(victim.id);
    await until(async () => (await platform.tasks.get(id, queue))?.state === 'done');

    // Its invocation has ended, and Lambda froze what was left of it:
    // unless it was quick, the code goes on inside the next invocation of the same process.
    const zombie = async () => (await diary(file)).filter(({ attempt, at }) => attempt === 1 && at >= thawedAt);
    // Lambda chooses the warm process for the next invocation: work is enqueued until it was that one.
    let others = 0;
    await until(async () => {
      for (let n = 0; n < 3; n++)
        await platform.tasks.enqueue('diary', { file: path.join(folder, `other-${others++}`) });
      await sleep(1_000);
      return (await zombie()).length >= 2;
    });

    const lines = await zombie();
    expect(lines.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(lines.at(-1)?.verbs).toEqual(['LeaseLostError', 'LeaseLostError', 'LeaseLostError']);
    const after = await platform.tasks.get(id, queue);
    expect(after).toMatchObject({
      state: 'done',
      result: { attempt: 2 },
      leaseCounter: before.leaseCounter + 1,
      attempts: 2,
    });
    expect(await platform.sessions.get(before.session)).toMatchObject({ status: 'invalid', reason: 'expired' });
    expect(takenOverAfterMs).toBeGreaterThan(SESSION_TTL_MS / 2);
  });

  async function diary(file: string): Promise<DiaryLine[]> {
    const text = await readFile(file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as DiaryLine);
  }
});

/** Real processes have no clock that a test could move. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = systemRuntime.clock.monotonic() + 300_000;
  while (!(await condition())) {
    if (systemRuntime.clock.monotonic() > deadline) throw new Error('waited five minutes in vain');
    await sleep(20);
  }
}
