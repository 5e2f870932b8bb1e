/**
 * Each request of each scene meets what a network does to it, and a refusal that nobody expects, as without a permission.
 * What was lost is sent again, so the answer and the rows are as without it; the refusal is heard, and taken for nothing else.
 */
import { expect, test } from 'vitest';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { SCENES } from '../../scenes/book.ts';
import type { Interference } from '../../scenes/play.ts';
import { alike, interfere, remains, set } from '../../scenes/play.ts';
import type { Scene } from '../../scenes/scene.ts';

/** The request does not arrive; then it is throttled; then it is applied, and its answer is lost. */
const lose = (() => {
  const unanswered = () => new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  const throttled = () => new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' });
  return async (nth: number, send: () => Promise<unknown>): Promise<unknown> => {
    if (nth === 0) throw unanswered();
    if (nth === 1) throw throttled();
    await send().catch(() => undefined);
    throw unanswered();
  };
})();

const DENIED = new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'a mistake' });

/** A note for others, or a repair: a caller that does not know whether it was applied repeats it. */
const ADVICE = ['announce', 'note', 'pass a line'];
/** By reason, scenes whose caller does not receive an unexpected error, at least at one request. */
const UNHEARD: Readonly<Record<string, string>> = {
  'renew a session': 'the next heartbeat tries again',
  'renew a session of which something was taken away': 'the next heartbeat tries again',
  'read a key of an expired session': 'whoever may read and not write is told what it read',
  'end a session': 'a session that is not ended expires',
  'end a session that deletes': 'a session that is not ended expires',
  'record a deed': 'the deed is done, though its record stays begun',
  'record a deed that fails': 'the deed is over, though its record stays begun',
};

async function ended(scene: Scene, interference: Interference = (_at, send) => send()) {
  const { world, party, act } = await set(scene);
  const sent = interfere(party.here, interference);
  const { text, error } = await act();
  sent.stop();
  return { answer: alike(text), error, left: remains(world.rows?.() ?? []), requests: sent.count };
}

test.each(SCENES.map((scene) => [scene.title, scene] as const))('%s', async (_title, scene) => {
  const undisturbed = await ended(scene);
  const differences: unknown[] = [];
  for (let at = 0; at < undisturbed.requests; at++) {
    const lost = await ended(scene, (nth, send) => (nth < at || nth > at + 2 ? send() : lose(nth - at, send)));
    const isAdvice = ADVICE.some((word) => scene.title.startsWith(word));
    for (const what of isAdvice ? (['left'] as const) : (['answer', 'left'] as const))
      if (lost[what] !== undisturbed[what]) differences.push({ at, what, is: lost[what], not: undisturbed[what] });
    const mistaken = await ended(scene, (nth, send) => (nth === at ? Promise.reject(DENIED) : send()));
    const isHeard = mistaken.answer.includes('a mistake') || scene.title in UNHEARD;
    if (!isHeard) differences.push({ at, mistaken: mistaken.answer });
  }

  expect(differences).toEqual([]);
});
