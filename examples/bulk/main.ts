/**
 * Four hundred thumbnails as tasks in bulk, and workers of which one is killed in the middle.
 *
 *   node examples/bulk/main.ts
 *
 * What was committed is not made again, what was not is made by another worker, and a damaged picture is dead alone.
 * At the end the claims are checked, and the exit code says whether they hold.
 */
import { fileURLToPath } from 'node:url';
import { TABLE_NAME, WORK_FUNCTION, startPlatform } from '../../local/platform.ts';
import type { BulkItem } from '../../shared/bulk/client.ts';
import { createSdkDriver } from '../../shared/dynamo/sdk-driver.ts';
import { systemClock as clock } from '../../shared/runtime/clock.ts';
import { thumbnail } from './tasks.ts';

const PICTURES = 400;
const DAMAGED = PICTURES / 100;
const PATIENCE_MS = 60_000;

const platform = await startPlatform({
  engine: { kind: 'embedded' },
  tasksEntry: fileURLToPath(new URL('tasks.ts', import.meta.url)),
  queue: 'thumbnails',
  ...{ maxWorkers: 3, tasksPerWorker: 5, concurrency: 2, workerMemoryMb: 256 },
  ...{ sessionTtlMs: 2_000, workerTimeoutMs: 60_000, deadlineMarginMs: 5_000 },
  ...{ tickMs: 1_000, duplicateTickRate: 0, maxClockSkewMs: 200 },
  onEvent: () => undefined,
});
const startedAt = clock.now();
const reader = createSdkDriver(platform.client);

const inputs = Array.from({ length: PICTURES }, (_, picture) => ({ album: 'summer', picture, table: TABLE_NAME }));
const bulk = await platform.tasks.enqueueBulk(thumbnail, inputs, { id: 'summer' });
const { writeUnits } = platform.meter.read();
say(`${PICTURES} thumbnails are enqueued in ${bulk.pages} pages, for ${writeUnits} write units`);
const again = await platform.tasks.enqueueBulk(thumbnail, inputs, { id: 'summer' });
check(again.created === 0, 'asking for the same bulk again adds nothing');

platform.startSchedule();
let items = await until((all) => count(all, 'done') >= PICTURES / 8);
const victim = platform.lambda
  .environments()
  .find(({ functionName, state }) => functionName === WORK_FUNCTION && state === 'busy');
if (victim !== undefined) platform.lambda.kill(victim.id);
say(`a worker is killed, when ${count(items, 'done')} are done`);
items = await until((all) => count(all, 'done') + count(all, 'dead') === PICTURES);

const made = await Promise.all(inputs.map(({ album, picture }) => timesMade(album, picture)));
check(count(items, 'dead') === DAMAGED, `the ${DAMAGED} damaged pictures are dead, and nothing else is`);
check(
  made.every((times, n) => times === (items[n]?.state === 'done' ? 1 : 0)),
  `each of the other ${PICTURES - DAMAGED} thumbnails was made once`,
);
await platform.stop();

/** Looks at all items until they are as they should be. */
async function until(isSo: (items: readonly BulkItem[]) => boolean): Promise<readonly BulkItem[]> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const found = await Promise.all(bulk.items.map((id) => platform.tasks.getItem(id)));
    const all = found.filter((item) => item !== undefined);
    if (isSo(all) || clock.monotonic() > deadline) return all;
    await clock.sleep(500);
  }
}

async function timesMade(album: string, picture: number): Promise<number> {
  const Key = { pk: `${album}#${picture}`, sk: 'thumbnail' };
  const request = { TableName: TABLE_NAME, Key, ConsistentRead: true };
  const { Item } = await reader.attempt('get', request, new AbortController().signal);
  return Number(Item?.made ?? 0);
}

function count(all: readonly BulkItem[], state: BulkItem['state']): number {
  return all.filter((item) => item.state === state).length;
}

function check(holds: boolean, claim: string): void {
  say(`${holds ? 'yes' : 'NO '}  ${claim}`);
  if (!holds) process.exitCode = 1;
}

function say(line: string): void {
  process.stdout.write(`${((clock.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}\n`);
}
