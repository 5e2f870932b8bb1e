/** Every write of a scene, once more, long after its answer: after the act, and after each rival's. */
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import { set } from '../../test/scenes/play.ts';
import type { Scene } from '../../test/scenes/scene.ts';
import { passTime, simulatedWorld } from '../../test/support/coordination.ts';
import { conjunctsOf, decisiveConjunct } from './conjunct.ts';

/** The repeatable effects of a late copy, with the reason. */
const MAY_DO_AGAIN: Readonly<Record<string, string>> = {
  'task.requestCancel': 'a wish: whoever runs the task hears of the one or of the other',
  'payload.put': 'once its task is done, a row that nothing names: TTL deletes it',
  'payload.delete': 'deletes what a late put has left',
  'journal.put': 'the same text, kept longer: TTL deletes it',
  'journal.expire': 'the end of life that a late put has changed',
  'ratelimit.take':
    'after another take it is not known any more, and takes tokens that nobody uses: never too many are given',
};
/** Its row was removed by hand, and comes back. */
const REMOVED = 'recount a key with a place too many';

async function sendLate(scene: Scene, late: LateCopies, rival?: Scene['rivals'][string]): Promise<void> {
  const world = simulatedWorld();
  const copies = new Set<Statement>();
  world.observers.push({
    onAttempt({ statement, fault }) {
      for (const name of conjunctsOf(statement)) late.sent.add(name);
      if (fault?.kind !== 'unanswered' && fault?.kind !== 'rejected') copies.add(statement);
    },
  });
  const { party, given, act } = await set(scene, world);
  await act();
  if (rival !== undefined) await passTime(world, rival(party, given)).catch(() => undefined);
  for (const { verb, kind, input } of copies) {
    if (['get', 'batchGet', 'query'].includes(kind)) continue;
    const decisive = decisiveConjunct(world.store, { verb, input });
    if (decisive !== undefined) late.decided.add(decisive);
    const before = JSON.stringify(world.rows());
    const copy = { ...input, ClientRequestToken: undefined };
    await world.driver.attempt(kind, copy as never, new AbortController().signal).catch(() => undefined);
    const isChanged = JSON.stringify(world.rows()) !== before;
    if (isChanged && !(verb in MAY_DO_AGAIN) && scene.title !== REMOVED)
      late.changes.push(`${verb} ${JSON.stringify(input)}`);
  }
}

interface LateCopies {
  /** The changes of a copy. */
  readonly changes: string[];
  /** The conjuncts that refused a copy alone. */
  readonly decided: Set<string>;
  /** All conjuncts in the scene's requests. */
  readonly sent: Set<string>;
}

export async function lateCopiesOf(scene: Scene): Promise<LateCopies> {
  const late: LateCopies = { changes: [], decided: new Set(), sent: new Set() };
  await sendLate(scene, late);
  for (const rival of Object.values(scene.rivals)) await sendLate(scene, late, rival);
  return late;
}
