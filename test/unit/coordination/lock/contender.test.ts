/** `LockContender`, alone: what its looks at a held key cost, and when it believes that the holder's session is gone. */
import { expect, test } from 'vitest';
import { LockContender } from '../../../../shared/coordination/lock/lock-contender.ts';
import type { UnresolvedKeys } from '../../../../shared/coordination/lock/unresolved-keys.ts';
import { sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'k';

async function contend() {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const mine = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
  const theirs = await there.leasehold.session();
  await theirs.lock(KEY);
  const unresolved = { has: () => false } as unknown as UnresolvedKeys;
  const contender = new LockContender(KEY, { content: undefined, isListed: true }, mine.holder, {
    ...here.ports,
    unresolved,
  });
  const look = async () =>
    expect(await contender.read()).toMatchObject({ kind: 'held', key: KEY, by: { session: theirs.id } });
  return { world, here, theirs, look };
}

test('reads the session of a holder once, and then both rows together, at half the price', async () => {
  const { here, look } = await contend();

  expect((await here.cost(look)).verbs).toEqual({ 'lock.getWithSession': 1, 'session.get': 1 });
  expect(await here.cost(look)).toMatchObject({ verbs: { 'lock.getWithSession': 1 }, readUnits: 1 });
});

test('asks again before it believes that the session of the holder is gone', async () => {
  const { world, here, theirs, look } = await contend();
  await look();
  const attempt = here.driver.attempt.bind(here.driver);
  here.driver.attempt = async (kind, input, signal) => {
    const output = await attempt(kind, input, signal);
    const rows = 'Responses' in output ? output.Responses?.[world.table] : undefined;
    if (rows === undefined) return output;
    const seen = rows.filter(({ pk }) => pk !== sessionKey(theirs.id).pk);
    return { ...output, Responses: { [world.table]: seen } };
  };

  await look();
});
