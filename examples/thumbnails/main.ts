/**
 * A thousand thumbnails in 63 tasks, and workers of which one is killed in the middle.
 *
 *   node examples/thumbnails/main.ts
 *
 * The thumbnails that were recorded are not made again, another worker makes the others, and a damaged picture keeps no other from being
 * made. At the end the example checks its claims, and exits with a code.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createMeter } from 'leasehold';
import { spawn } from 'leasehold/tasks';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import { thumbnails } from './tasks.ts';

const options = await exampleOptions({});
const PICTURES = 1_000;
const DAMAGED = [499, 999];
/** More than that many must be made before a worker is killed. */
const SOME = PICTURES / 5;
/** A flush interval of half a second, for pictures of ten milliseconds, in two tasks at once. */
const MADE_AGAIN_AT_MOST = 2 * 50;

const chunksOf = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));

const meter = createMeter();
await using queue = await openQueue('thumbnails', options.endpoint, { observer: meter });
const { tasks } = queue.leasehold;
const pictures = Array.from({ length: PICTURES }, (_, picture) => picture);
const parts = chunksOf(pictures, 16).map((part, n) => spawn(thumbnails, part, { id: `part-${n}` }));
await tasks.enqueueAll(parts);
console.log(`${PICTURES} thumbnails are enqueued in ${parts.length} tasks, for ${meter.read().writeUnits} write units`);

const workers = queue.start(new URL('tasks.ts', import.meta.url), { workers: 3, concurrency: 2, ttl: '3s' });
while (made().length < SOME) await sleep(50);
workers[0]?.kill();
console.log(`a worker is killed, when ${made().length} are made`);
await queue.ended(parts.map((_, n) => `part-${n}`));

const all = made();
const ends = await Promise.all(parts.map((_, n) => tasks.get(`part-${n}`)));
const dead = ends.flatMap((end, n) => (end?.state === 'dead' ? [n] : []));
check(
  new Set(all).size === PICTURES - DAMAGED.length,
  `all other thumbnails than the ${DAMAGED.length} damaged ones are made`,
);
check(
  all.length - new Set(all).size <= MADE_AGAIN_AT_MOST,
  `only the few were made again that were not recorded: ${all.length - new Set(all).size}`,
);
check(
  dead.length === DAMAGED.length && DAMAGED.every((picture) => dead.includes(Math.floor(picture / 16))),
  'only their two tasks are dead, and name them',
);

function made(): readonly number[] {
  const lines = workers.flatMap((worker) => worker.lines);
  return lines.flatMap((line) => (line.startsWith('made ') ? [Number(line.slice('made '.length))] : []));
}
