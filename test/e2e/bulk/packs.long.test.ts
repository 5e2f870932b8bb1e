/** Packs in the hands of real workers, one of which is killed, or stopped beyond its TTL and continued. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import type { Platform } from '../../../local/platform.ts';
import { TABLE_NAME, startPlatform } from '../../../local/platform.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import type { PackLine } from '../../support/tasks-modules/packs.ts';

const QUEUE = 'packs';
/** A worker that is only slow must not lose its session. */
const SESSION_TTL_MS = 6_000;
const ITEMS = 16;

describe.skipIf(inject('embeddedEndpoint') === null)('a pack whose worker', () => {
  let platform: Platform;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'leasehold-'));
    platform = await startPlatform({
      engine: { kind: 'embedded' },
      tasksEntry: fileURLToPath(new URL('../../support/tasks-modules/packs.ts', import.meta.url)),
      queue: QUEUE,
      maxWorkers: 3,
      concurrency: 1,
      workerMemoryMb: 256,
      sessionTtlMs: SESSION_TTL_MS,
      workerTimeoutMs: 60_000,
      deadlineMarginMs: 5_000,
      tickMs: 500,
      duplicateTickRate: 0,
      maxClockSkewMs: 200,
      onEvent: () => undefined,
    });
  });

  afterEach(async () => {
    await platform.stop();
    await rm(folder, { recursive: true });
  });

  test('is killed is finished by another, who repeats none of the items that were committed', async () => {
    const { victim, before } = await startPack(3);
    platform.lambda.kill(victim);
    const committed = await numbers('committed');
    await finished();

    expect(await effects()).toEqual(Array.from({ length: ITEMS }, () => 1));
    const begun = await begunBy(2);
    expect(begun.filter((n) => committed.includes(n))).toEqual([]);
    expect(begun.length).toBeGreaterThan(0);
    expect(await platform.store.get({ queue: QUEUE, id: 'b/0' })).toMatchObject({
      state: 'done',
      attempts: 2,
      leaseCounter: before.leaseCounter + 1,
      past: [{ how: 'died', session: before.session }],
    });
  });

  test('rejects every commit of a suspended worker, which then starts no other item', async () => {
    const { victim, before } = await startPack(3);
    platform.lambda.freeze(victim);
    await until(async () => {
      const now = await platform.store.get({ queue: QUEUE, id: 'b/0' });
      return now !== undefined && now.leaseCounter > before.leaseCounter;
    });
    const thawedAt = Date.now();
    platform.lambda.thaw(victim);
    await finished();

    // When its invocation ended first, Lambda froze what was left of it: the code goes on inside the next invocation of the same process.
    const zombie = async () => (await lines()).filter(({ attempt, at }) => attempt === 1 && at >= thawedAt);
    // Which of the processes that are warm is given the next invocation is Lambda's choice: work comes until it was that one.
    let others = 0;
    await until(async () => {
      for (let n = 0; n < 8; n++) {
        const input = { file: path.join(folder, 'other'), n: 100 + others, table: TABLE_NAME };
        await platform.tasks.enqueue('step', input, { id: `other-${others++}` });
      }
      await sleep(500);
      return (await zombie()).length > 0;
    });

    expect((await zombie()).map(({ told, aborted }) => ({ told, aborted }))).toEqual([
      { told: 'LeaseLostError', aborted: true },
    ]);
    expect(await effects()).toEqual(Array.from({ length: ITEMS }, () => 1));
  });

  /** Starts one pack and waits until its worker has begun so many of its items. */
  async function startPack(begun: number) {
    const inputs = Array.from({ length: ITEMS }, (_, n) => ({ file: path.join(folder, 'pack'), n, table: TABLE_NAME }));
    await platform.tasks.enqueueBulk('step', inputs, { id: 'b' });
    platform.startSchedule();
    await until(async () => (await numbers('begin')).length >= begun);
    // By its process: the first ticks may start a second worker, which finds nothing and goes home.
    const [{ pid: writer } = { pid: 0 }] = await lines();
    const victim = platform.lambda.environments().find(({ pid, state }) => pid === writer && state === 'busy');
    const before = await platform.store.get({ queue: QUEUE, id: 'b/0' });
    if (victim === undefined || before?.state !== 'running') throw new Error('no worker is at work');
    // Right after an item was begun, none is being committed.
    const count = (await numbers('begin')).length;
    await until(async () => (await numbers('begin')).length > count);
    return { victim: victim.id, before };
  }

  function finished(): Promise<void> {
    return until(async () => (await platform.store.get({ queue: QUEUE, id: 'b/0' }))?.state === 'done');
  }

  async function effects(): Promise<unknown[]> {
    const rows = Array.from({ length: ITEMS }, (_, n) =>
      platform.client.send(
        new GetCommand({ TableName: TABLE_NAME, Key: { pk: `effect#${n}`, sk: 'effect' }, ConsistentRead: true }),
      ),
    );
    return (await Promise.all(rows)).map(({ Item }) => Item?.count as unknown);
  }

  async function numbers(told: PackLine['told']): Promise<number[]> {
    return (await lines()).filter((line) => line.told === told).map(({ n }) => n);
  }

  async function begunBy(attempt: number): Promise<number[]> {
    return (await lines()).filter((line) => line.told === 'begin' && line.attempt === attempt).map(({ n }) => n);
  }

  async function lines(): Promise<PackLine[]> {
    const text = await readFile(path.join(folder, 'pack'), 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as PackLine);
  }
});

/** Real processes have no clock that a test could move. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = systemRuntime.clock.monotonic() + 300_000;
  while (!(await condition())) {
    if (systemRuntime.clock.monotonic() > deadline) throw new Error('waited five minutes in vain');
    await sleep(25);
  }
}
