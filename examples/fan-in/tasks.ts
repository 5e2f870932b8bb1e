/** An album of many pages, and a book of a few chapters: two ways to wait for other tasks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { leaseholdOf } from 'leasehold';
import { DoNotRetry, defineTask, spawn } from 'leasehold/tasks';
import * as z from 'zod';

export const CHAPTERS = ['I', 'II', 'III'];
export const DAMAGED_PAGE = 7;

/** One of many children of a batch. */
export const page = defineTask({
  name: 'album.page',
  input: z.object({ number: z.number() }),
  async run({ number }, { id, signal }) {
    await sleep(100, undefined, { signal });
    if (number === DAMAGED_PAGE) throw new DoNotRetry('the negative is damaged');
    say('page', id);
  },
});

/** Created when the last page has ended, however it did; how many ended well is in the batch. */
export const bind = defineTask({
  name: 'album.bind',
  input: z.object({ batch: z.string() }),
  async run({ batch }, task) {
    const { id, queue } = task;
    say('bind', id);
    const { total = 0, done = 0, dead = 0, pending = 0 } = (await leaseholdOf(task).tasks.getBatch(batch, queue)) ?? {};
    return { total, done, dead, pending };
  },
});

/** Hands out its chapters, gives itself back until they are done, and runs again then. */
export const book = defineTask({
  name: 'book',
  async run(_: unknown, task) {
    say('book', task.id);
    if (task.children !== undefined) return { chapters: task.children.done };
    // One press prints them all, one after the other: they are children, and a line.
    const inOrder = { key: `press of ${task.id}`, ordered: true };
    return await task.waitFor(
      CHAPTERS.map((title) => spawn(chapter, { title }, { id: `${task.runId}/${title}`, ...inOrder })),
    );
  },
});

export const chapter = defineTask({
  name: 'book.chapter',
  input: z.object({ title: z.string() }),
  async run({ title }, { signal }) {
    await sleep(50, undefined, { signal });
    say('chapter', title);
  },
});

export interface Said {
  readonly what: 'page' | 'bind' | 'book' | 'chapter';
  readonly which: string;
  /** Comparable between the processes of a machine. */
  readonly at: number;
}

function say(what: Said['what'], which: string): void {
  console.log(JSON.stringify({ what, which, at: performance.timeOrigin + performance.now() } satisfies Said));
}
