/**
 * Every write of a scene arrives once more, long after its answer: after the act, and after a rival's. It changes nothing.
 * Which condition refuses it is found by asking the table.
 */
import { expect, test } from 'vitest';
import type { DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { SCENES } from '../../scenes/book.ts';
import { interfere, set } from '../../scenes/play.ts';
import type { Scene } from '../../scenes/scene.ts';
import { passTime } from '../../support/coordination.ts';

type Copy = readonly [kind: DynamoKind, input: object];
const READS: ReadonlySet<DynamoKind> = new Set(['get', 'batchGet', 'query']);

async function changesOf(scene: Scene, rival?: Scene['rivals'][string]): Promise<readonly string[]> {
  const { world, party, given, act } = await set(scene);
  const copies: Copy[] = [];
  for (const process of [party.here, party.there])
    interfere(process, (_nth, send, kind, input) => {
      if (!READS.has(kind)) copies.push([kind, { ...input, ClientRequestToken: undefined }]);
      return send();
    });
  await act();
  await passTime(
    world,
    Promise.resolve(rival?.(party, given)).catch(() => undefined),
  );
  const changes: string[] = [];
  for (const [kind, input] of copies) {
    const before = JSON.stringify(world.rows?.());
    await world.driver.attempt(kind, input as never, new AbortController().signal).catch(() => undefined);
    if (JSON.stringify(world.rows?.()) !== before) changes.push(`${kind} ${JSON.stringify(input)}`);
  }
  return changes;
}

test.each(SCENES.map((scene) => [scene.title, scene] as const))('%s', async (_title, scene) => {
  const changes = [...(await changesOf(scene))];
  for (const rival of Object.values(scene.rivals)) changes.push(...(await changesOf(scene, rival)));

  expect(changes).toEqual([]);
});
