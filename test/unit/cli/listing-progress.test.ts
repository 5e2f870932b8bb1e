/** A listing that reads many tasks stops at its units, and says from the second second on how far it is. */
import { expect, test } from 'vitest';
import { ListingProgress, upTo } from '../../../cli/queue/listing-progress.ts';
import { Output } from '../../../cli/output.ts';
import { UNFINISHED } from '../../support/made-rows.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test.each([
  ['the page that uses them up is still listed', 4, [1, 2, 3, 4], [6, 5]],
  ['the end of the tasks is no cut', 7, [1, 2, 3, 4, 5, 6], []],
] as const)('stops at so many units: %s', async (_, limit, listed, cut) => {
  let units = 10;
  async function* pagesOfTwo() {
    for (const page of [
      [1, 2],
      [3, 4],
      [5, 6],
    ]) {
      units += 2;
      yield* page;
    }
  }
  const cuts: number[] = [];

  const found = await Array.fromAsync(
    upTo(
      limit,
      () => units,
      pagesOfTwo(),
      (used, at) => void cuts.push(used, at),
    ),
  );

  expect(found).toEqual(listed);
  expect(cuts).toEqual(cut);
});

test('is silent for a second, then says how many were read and which match', async () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z');
  const said: string[] = [];
  const err = { write: (text: string) => said.push(text) } as never;
  const progress = new ListingProgress(clock, new Output({ isJson: false, out: err, err }));
  const [task] = UNFINISHED;
  if (task === undefined) throw new Error('a row is missing');

  for (const isWanted of [false, true, true, true, true]) {
    progress.note(task, isWanted);
    await clock.advance(400);
  }

  expect(said).toEqual([`4 tasks read so far, 3 match: ${task.id}, ${task.id}, ${task.id}\n`]);
});
