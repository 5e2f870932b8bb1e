import { expect, test } from 'vitest';
import { sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import { simulatedWorld } from '../../../test/support/coordination.ts';
import { remoteOf } from '../remote-of.ts';

test("does not record a remote session's forced release in its row, which our heartbeats do not read", async () => {
  const world = simulatedWorld();
  const remote = remoteOf(world.start());
  const { locks } = world.start().leasehold;
  const { id } = await remote.sessions.create({
    name: 'r',
    node: 'n',
    behaviour: 'release',
    ttlMs: 30_000,
    lockDelayMs: 0,
    checks: [],
  });
  const content = { bytes: Buffer.from('v'), flags: 0n };
  const taken = await remote.transactions.run([{ verb: 'acquire', key: 'k', session: id, content }]);
  expect(taken.kind).toBe('done');
  const leaseCounter = (await locks.get('k'))?.leaseCounter ?? 0;

  const force = { by: 'operator', reason: 'stuck', lockDelay: 0, leaseCounter };
  expect(await locks.forceRelease('k', force)).toMatchObject({ kind: 'released' });

  expect((await world.row(sessionKey(id)))?.revoked).toBeUndefined();
});
