/**
 * Four hundred thumbnails as tasks in bulk, and workers of which one is killed in the middle.
 *
 *   node examples/bulk/main.ts
 *
 * Committed thumbnails are not made again, another worker makes the others, and a damaged picture is dead alone.
 * At the end the example checks its claims, and exits with a code.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import type { BulkItem } from 'leasehold';
import { createMeter } from 'leasehold';
import { check } from '../claims.ts';
import { inSlices } from '../in-slices.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import { TABLE } from '../table.ts';
import { thumbnail, thumbnailKey } from './tasks.ts';

const options = await exampleOptions({});
const PICTURES = 400;
const DAMAGED = PICTURES / 100;
const PATIENCE_MS = 300_000;

const meter = createMeter();
await using queue = await openQueue('bulk', options.endpoint, { observer: meter });
const { tasks } = queue.leasehold;
// Each run has its own thumbnails in a shared store.
const album = queue.name;
const inputs = Array.from({ length: PICTURES }, (_, picture) => ({ album, picture, table: TABLE }));

const bulk = await tasks.enqueueBulk(thumbnail, inputs, { id: 'summer' });
console.log(`${PICTURES} thumbnails are enqueued in ${bulk.packs} packs, for ${meter.read().writeUnits} write units`);
const again = await tasks.enqueueBulk(thumbnail, inputs, { id: 'summer' });
check(again.created === 0, 'asking for the same bulk again adds nothing');

const workers = queue.start(new URL('tasks.ts', import.meta.url), { workers: 3, concurrency: 2, ttl: '3s' });
let items = await until((all) => count(all, 'done') >= PICTURES / 8);
workers[0]?.kill();
console.log(`a worker is killed, when ${count(items, 'done')} are done`);
items = await until((all) => count(all, 'done') + count(all, 'dead') === PICTURES);

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const made = await Promise.all(
  inputs.map(async ({ picture }) => {
    const Key = thumbnailKey(album, picture);
    const { Item } = await documents.send(new GetCommand({ TableName: TABLE, Key, ConsistentRead: true }));
    return Number(Item?.made ?? 0);
  }),
);
documents.destroy();
check(count(items, 'dead') === DAMAGED, `the ${DAMAGED} damaged pictures are dead, and nothing else is`);
check(
  made.every((times, n) => times === (items[n]?.state === 'done' ? 1 : 0)),
  `each of the other ${PICTURES - DAMAGED} thumbnails was made once`,
);

/** Reads all items until they are as they should be. */
async function until(isSo: (items: readonly BulkItem[]) => boolean): Promise<readonly BulkItem[]> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await inSlices(bulk.items, (id) => tasks.getItem(id));
    const all = found.filter((item) => item !== undefined);
    if (isSo(all) || performance.now() > deadline) return all;
    await sleep(300);
  }
}

function count(all: readonly BulkItem[], state: BulkItem['state']): number {
  return all.filter((item) => item.state === state).length;
}
