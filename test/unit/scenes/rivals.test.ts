/**
 * Another process acts before each request of a scene. Both then have answers, and the table has rows, as if one of them had acted
 * before the other: there is no third outcome.
 */
import { expect, test } from 'vitest';
import { SCENES } from '../../scenes/book.ts';
import { alike, interfere, remains, set } from '../../scenes/play.ts';
import type { Scene } from '../../scenes/scene.ts';
import { passTime } from '../../support/coordination.ts';

type Rival = Scene['rivals'][string];
/** When the rival acts: before a request of the act, or after all of it. */
type Place = number | 'after';

async function ended(scene: Scene, rival: Rival, place: Place) {
  const { world, party, given, act } = await set(scene);
  let theirs = '';
  const acts = async (): Promise<void> => {
    theirs = await rival(party, given).then(
      () => 'is done',
      (error: unknown) => alike(String(error)),
    );
  };
  const sent = interfere(party.here, async (nth, send) => {
    if (nth === place) await acts();
    return send();
  });
  const { text } = await act();
  sent.stop();
  if (place === 'after') await passTime(world, acts());
  return { outcome: { mine: alike(text), theirs, left: remains(world.rows?.() ?? []) }, requests: sent.count };
}

const RIVALS = SCENES.flatMap((scene) =>
  Object.entries(scene.rivals).map(([what, rival]) => [scene.title, what, scene, rival] as const),
);

test.each(RIVALS)('%s: %s', async (_title, _what, scene, rival) => {
  const after = await ended(scene, rival, 'after');
  const before = await ended(scene, rival, 0);
  const others: unknown[] = [];
  for (let at = 1; at < after.requests; at++) {
    const { outcome } = await ended(scene, rival, at);
    const isKnown = [before, after].some((one) => JSON.stringify(one.outcome) === JSON.stringify(outcome));
    if (!isKnown) others.push({ at, outcome });
  }

  expect(others, JSON.stringify({ before: before.outcome, after: after.outcome }, undefined, 2)).toEqual([]);
});
