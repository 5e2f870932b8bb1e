/**
 * Every write of a scene arrives once more, long after its answer: after the act, and after a rival's. It changes nothing.
 * Which conjunct refuses it is found by asking the table. Each conjunct refuses some copy alone, or a late write of `guards/`,
 * or it is known to be redundant.
 */
import { describe, expect, test } from 'vitest';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import { SCENES } from '../../test/scenes/book.ts';
import { set } from '../../test/scenes/play.ts';
import type { Scene } from '../../test/scenes/scene.ts';
import { passTime, simulatedWorld } from '../../test/support/coordination.ts';
import { allConjuncts, decisiveConjunct } from './conjunct.ts';
import { JUDGED, OF_HISTORIES, verdictOf } from './conjunct-verdicts.ts';

/** What a late copy may do again, and why. */
const MAY_DO_AGAIN: Readonly<Record<string, string>> = {
  'task.requestCancel': 'a wish: whoever runs the task hears of the one or of the other',
  'ratelimit.take':
    'after another take it is not known any more, and takes tokens that nobody uses: never too many are given',
};
/** Its row was removed by hand, and comes back. */
const REMOVED = 'recount a key with a place too many';
const decided = new Set<string>();

async function changesOf(scene: Scene, rival?: Scene['rivals'][string]): Promise<readonly string[]> {
  const world = simulatedWorld();
  const copies = new Set<Statement>();
  world.observers.push({
    onAttempt({ statement, fault }) {
      if (fault?.kind !== 'unanswered' && fault?.kind !== 'rejected') copies.add(statement);
    },
  });
  const { party, given, act } = await set(scene, world);
  await act();
  if (rival !== undefined) await passTime(world, rival(party, given)).catch(() => undefined);
  const changes: string[] = [];
  for (const { verb, kind, input } of copies) {
    if (['get', 'batchGet', 'query'].includes(kind)) continue;
    const decisive = decisiveConjunct(world.store, { verb, input });
    if (decisive !== undefined) decided.add(decisive);
    const before = JSON.stringify(world.rows());
    const copy = { ...input, ClientRequestToken: undefined };
    await world.driver.attempt(kind, copy as never, new AbortController().signal).catch(() => undefined);
    const isChanged = JSON.stringify(world.rows()) !== before;
    if (isChanged && !(verb in MAY_DO_AGAIN) && scene.title !== REMOVED)
      changes.push(`${verb} ${JSON.stringify(input)}`);
  }
  return changes;
}

describe('late copies change nothing', () => {
  test.each(SCENES.map((scene) => [scene.title, scene] as const))('%s', async (_title, scene) => {
    const changes = [...(await changesOf(scene))];
    for (const rival of Object.values(scene.rivals)) changes.push(...(await changesOf(scene, rival)));

    expect(changes).toEqual([]);
  });

  test('each conjunct refuses one alone, or has a verdict', async () => {
    const sent = [...(await allConjuncts()), ...OF_HISTORIES];

    expect(sent.filter((name) => !decided.has(name) && verdictOf(name) === undefined)).toEqual([]);
    expect(JUDGED.filter((name) => !sent.includes(name))).toEqual([]);
    expect(JUDGED).toEqual([...new Set(JUDGED)]);
  });
});
