/**
 * Every write of a scene, once more, long after its answer: after the act, and after each rival's. And every write once late:
 * after what others may have done to its rows by then (`meanwhile.ts`).
 */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import { set } from '../../test/scenes/play.ts';
import type { Scene } from '../../test/scenes/scene.ts';
import { passTime, simulatedWorld } from '../../test/support/coordination.ts';
import type { Write } from './conjunct.ts';
import { conjunctsOf, decisiveConjunct, keyOf, writesOf } from './conjunct.ts';
import { arrivals } from './meanwhile.ts';

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
  /** And whether it was applied, for one that was refused before proves nothing about its guard. */
  const copies = new Map<Statement, boolean>();
  const rowOf = (write: Write) => world.store.peek(write.TableName, keyOf(write));
  const found = new Map<object, readonly (DynamoItem | undefined)[]>();
  const apply = world.store.apply.bind(world.store);
  world.store.apply = (kind, input) => {
    if (isWrite(kind)) found.set(input, writesOf(input).map(rowOf));
    return apply(kind, input);
  };
  world.observers.push({
    onAttempt({ statement, fault }) {
      for (const name of conjunctsOf(statement)) late.sent.add(name);
      if (rival === undefined) arriveLate(statement, found.get(statement.input) ?? [], late);
      if (fault?.kind !== 'unanswered' && fault?.kind !== 'rejected') copies.set(statement, fault === undefined);
    },
  });
  const { party, given, act } = await set(scene, world);
  await act();
  if (rival !== undefined) await passTime(world, rival(party, given)).catch(() => undefined);
  for (const [{ verb, kind, input }, wasApplied] of copies) {
    if (!isWrite(kind)) continue;
    const decisive = decisiveConjunct(verb, writesOf(input), rowOf);
    if (decisive !== undefined && wasApplied) late.decided.add(decisive);
    const before = JSON.stringify(world.rows());
    const copy = { ...input, ClientRequestToken: undefined };
    await world.driver.attempt(kind, copy as never, new AbortController().signal).catch(() => undefined);
    const isChanged = JSON.stringify(world.rows()) !== before;
    if (isChanged && !(verb in MAY_DO_AGAIN) && scene.title !== REMOVED)
      late.changes.push(`${verb} ${JSON.stringify(input)}`);
  }
}

function arriveLate({ verb, input }: Statement, found: readonly (DynamoItem | undefined)[], late: LateCopies): void {
  const writes = writesOf(input);
  for (const at of found.keys())
    for (const { what, write, row } of arrivals(writes[at]!, found[at])) {
      const sent = writes.with(at, write);
      const decisive = decisiveConjunct(verb, sent, (one) => (one === write ? row : found[sent.indexOf(one)]));
      if (decisive === undefined) continue;
      late.decided.add(decisive);
      if (what !== undefined) late.told.set(what, (late.told.get(what) ?? new Set()).add(decisive));
    }
}

const isWrite = (kind: string): boolean => !['get', 'batchGet', 'query'].includes(kind);

interface LateCopies {
  /** The changes of a copy. */
  readonly changes: string[];
  /** The conjuncts that refused a copy alone. */
  readonly decided: Set<string>;
  /** The conjuncts that alone refused a write after what others did meanwhile. */
  readonly told: Map<string, Set<string>>;
  /** All conjuncts in the scene's requests. */
  readonly sent: Set<string>;
}

export async function lateCopiesOf(scene: Scene): Promise<LateCopies> {
  const late: LateCopies = { changes: [], decided: new Set(), told: new Map(), sent: new Set() };
  await sendLate(scene, late);
  for (const rival of Object.values(scene.rivals)) await sendLate(scene, late, rival);
  return late;
}
