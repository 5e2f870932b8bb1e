/**
 * Tasks that wait for other tasks: a batch with a callback, and a parent with children.
 *
 *   node examples/fan-in/main.ts
 *
 * Three workers render twelve pages of an album. One worker is killed, and one page cannot be rendered at all.
 * The album is still bound once, when the last page has ended. A book waits for its chapters, which are printed in order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { spawn } from 'leasehold/tasks';
import { check } from '../claims.ts';
import { exampleOptions } from '../options.ts';
import { openQueue } from '../queue.ts';
import type { Said } from './tasks.ts';

const options = await exampleOptions({});
const PAGES = 12;

await using queue = await openQueue('fan-in', options.endpoint);
const { CHAPTERS, bind, book, page } = await import('./tasks.ts');
const { tasks } = queue.leasehold;

const pages = Array.from({ length: PAGES }, (_, number) => spawn(page, { number }));
await tasks.enqueueBatch(pages, { id: 'album', then: spawn(bind, { batch: 'album' }) });
await tasks.enqueue(book, null, { id: 'book' });

const workers = queue.start(new URL('tasks.ts', import.meta.url), { workers: 3, concurrency: 2, ttl: '3s' });
while (!workers.some(({ lines }) => lines.length > 0)) await sleep(10);
workers.find(({ lines }) => lines.length > 0)?.kill();
console.log('a worker is killed at work');
const pageIds = pages.map((_, number) => `album/${number}`);
await queue.ended([...pageIds, 'album/then', 'book']);

const said = workers
  .flatMap(({ lines }) => lines)
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line) as Said)
  .sort((one, other) => one.at - other.at);
for (const { what, which } of said) console.log(`${what} ${which}`);

const counts = await resultOf('album/then');
const bound = said.filter(({ what }) => what === 'bind');
const lastPage = said.findLast(({ what }) => what === 'page');
check(bound.length === 1, 'the album was bound once');
check((bound[0]?.at ?? 0) > (lastPage?.at ?? Infinity), 'and not before its last page had ended');
check(
  JSON.stringify(counts) === JSON.stringify({ total: PAGES, done: PAGES - 1, dead: 1, pending: 0 }),
  'the batch says how its pages ended: all but one done, and that one dead',
);
const parent = await tasks.get('book');
check(
  JSON.stringify(await resultOf('book')) === JSON.stringify({ chapters: CHAPTERS.length }),
  'the book found all of its chapters done',
);
check(said.filter(({ what }) => what === 'book').length >= 2 && parent?.children !== undefined, 'when it ran again');
const printed = said.filter(({ what }) => what === 'chapter').map(({ which }) => which);
check([...new Set(printed)].join() === CHAPTERS.join(), 'its chapters were printed in order');

async function resultOf(id: string): Promise<unknown> {
  const task = await tasks.get(id);
  return task?.state === 'done' ? task.result : undefined;
}
