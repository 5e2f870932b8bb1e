/**
 * Every write of a scene arrives once more, long after its answer: after the act, and after a rival's. It changes nothing.
 * Which conjunct refuses it is found by asking the table. Each conjunct refuses some copy alone, or a write before which others have
 * done something (`meanwhile.ts`), or it is known to be redundant.
 */
import { describe, expect, test } from 'vitest';
import { SCENES } from '../../test/scenes/book.ts';
import { lateCopiesOf } from './late-copies.ts';
import { GUARDS, WRITTEN } from './meanwhile.ts';
import { REDUNDANT } from './redundant.ts';

const decided = new Set<string>();
const sent = new Set<string>();
const told = new Map<string, Set<string>>();

describe('late copies change nothing', () => {
  test.each(SCENES.map((scene) => [scene.title, scene] as const))('%s', async (_title, scene) => {
    const late = await lateCopiesOf(scene);
    for (const name of late.decided) decided.add(name);
    for (const name of late.sent) sent.add(name);
    for (const [what, names] of late.told) told.set(what, new Set([...(told.get(what) ?? []), ...names]));

    expect(late.changes).toEqual([]);
  });

  test('each conjunct refuses one alone, or is known to be redundant', () => {
    const redundant = REDUNDANT.flatMap(({ conjuncts }) => conjuncts);
    expect([...sent].filter((name) => !decided.has(name)).sort()).toEqual([...redundant].sort());
    const ofAny = told.get(WRITTEN);
    const guards = [...told].map(([what, names]) => {
      const own = what === WRITTEN ? [...names] : [...names].filter((name) => ofAny?.has(name) !== true);
      return [what, own.length];
    });
    expect(Object.fromEntries(guards)).toEqual(GUARDS);
  });
});
