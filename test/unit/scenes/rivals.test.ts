/**
 * Another process acts before each request of a scene. Both then have answers, and the table has rows, as if one of them had acted
 * before the other: there is no third outcome.
 */
import { expect, test } from 'vitest';
import type { DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { SCENES } from '../../scenes/book.ts';
import { alike, interfere, remains, set } from '../../scenes/play.ts';
import type { Scene } from '../../scenes/scene.ts';
import { passTime } from '../../support/coordination.ts';

/** The caller learns that it is unknown, or that the row has changed. */
const UNKNOWN = /unknown whether|^refused$/;
const READS: ReadonlySet<DynamoKind> = new Set(['get', 'batchGet', 'query']);
type Rival = Scene['rivals'][string];
/** When the rival acts: before a request of the act, after one whose answer is lost, or after all of the act. */
type Place = number | { readonly lost: number } | 'after';

async function ended(scene: Scene, rival: Rival, place: Place) {
  const { world, party, given, act } = await set(scene);
  const kinds: DynamoKind[] = [];
  let theirs = '';
  let acting: Promise<void> = Promise.resolve();
  const acts = (): Promise<void> => {
    acting = rival(party, given).then(
      () => void (theirs = 'is done'),
      (error: unknown) => void (theirs = alike(String(error))),
    );
    return acting;
  };
  const sent = interfere(party.here, async (nth, send, kind) => {
    kinds.push(kind);
    if (nth === place) await acts();
    if (typeof place === 'string' || typeof place === 'number' || nth !== place.lost) return send();
    await send().catch(() => undefined);
    await acts();
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  });
  const { text } = await act();
  sent.stop();
  // A rival that had to wait longer than an attempt lasts is still at it.
  await passTime(world, place === 'after' ? acts() : acting);
  return { outcome: { mine: alike(text), theirs, left: remains(world.rows?.() ?? []) }, kinds };
}

/** By reason, acts of several requests between which a rival may act. Their intermediate outcomes are listed here. */
const IN_PARTS: Readonly<Record<string, readonly string[]>> = {
  'what it answers was so when it asked, and it gives back a place that came late': ['find a semaphore full'],
  'members are added a hundred at a time, before the seal': ['add members'],
  'a member that is done in time is not lost, though its session has ended': ['wait for members, one of them lost'],
  'a recount reads pages until the row stands still': [
    'recount a key',
    'recount a key whose row is gone',
    'recount a key with a place too many',
  ],
  'whether a line is stuck is asked before it is passed': ['pass a line whose task is gone', 'pass a line of one'],
  'a note for others is made again by the next': ['note more of what a worker serves'],
  'whoever switches the list looks again after a refusal': ['list finished tasks'],
  'the earlier task is cancelled, then the next one is made': ['run a schedule that replaces a running task'],
  'the occurrence that another made in between is skipped': ['make the task of a due occurrence that would skip'],
};
/** By reason, acts whose lost answer, followed by a rival, may leave a state that neither order leaves: the caller reads again. */
const SEEN_AGAIN: Readonly<Record<string, readonly string[]>> = {
  'it finds the state that the rival left, and tells that': [
    'lock several, one of them again',
    'evict a permit',
    'deregister a check',
    'replace what follows one that runs',
  ],
  'a definition is made again from what it finds': ['define a schedule otherwise'],
};
const isSeenAgain = ({ title }: Scene): boolean => Object.values(SEEN_AGAIN).flat().includes(title);
const isInParts = ({ title }: Scene): boolean => Object.values(IN_PARTS).flat().includes(title);

const RIVALS = SCENES.filter((scene) => !isInParts(scene)).flatMap((scene) =>
  Object.entries(scene.rivals).map(([what, rival]) => [scene.title, what, scene, rival] as const),
);

test.each(RIVALS)('%s: %s', async (_title, _what, scene, rival) => {
  const after = await ended(scene, rival, 'after');
  const before = await ended(scene, rival, 0);
  const others: unknown[] = [];
  const isAnswer = (mine: string): boolean =>
    [before.outcome.mine, after.outcome.mine].includes(mine) || UNKNOWN.test(mine);

  const places = after.kinds.flatMap((kind, at): readonly Place[] =>
    READS.has(kind) || isSeenAgain(scene) ? [at] : [at, { lost: at }],
  );
  for (const at of places.slice(1)) {
    const { outcome } = await ended(scene, rival, at);
    const isKnown = [before, after].some(({ outcome: { left } }) => left === outcome.left) && isAnswer(outcome.mine);
    if (!isKnown) others.push({ at, outcome });
  }

  expect(others, JSON.stringify({ before: before.outcome, after: after.outcome }, undefined, 2)).toEqual([]);
});
