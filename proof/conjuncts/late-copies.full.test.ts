/**
 * Every write of a scene arrives once more, long after its answer: after the act, and after a rival's. It changes nothing.
 * Which conjunct refuses it is found by asking the table. Each conjunct refuses some copy alone, or a late write of `guards/`,
 * or it is known to be redundant.
 */
import { describe, expect, test } from 'vitest';
import { SCENES } from '../../test/scenes/book.ts';
import { JUDGED, OF_HISTORIES, verdictOf } from './conjunct-verdicts.ts';
import { lateCopiesOf } from './late-copies.ts';

const decided = new Set<string>();
const sent = new Set<string>(OF_HISTORIES);

describe('late copies change nothing', () => {
  test.each(SCENES.map((scene) => [scene.title, scene] as const))('%s', async (_title, scene) => {
    const late = await lateCopiesOf(scene);
    for (const name of late.decided) decided.add(name);
    for (const name of late.sent) sent.add(name);

    expect(late.changes).toEqual([]);
  });

  test('each conjunct refuses one alone, or has a verdict', () => {
    const unknown = [...sent].filter((name) => !decided.has(name) && verdictOf(name) === undefined);
    expect(unknown).toEqual([]);
    expect(JUDGED.filter((name) => !sent.has(name))).toEqual([]);
    expect(JUDGED).toEqual([...new Set(JUDGED)]);
  });
});
