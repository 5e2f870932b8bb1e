/** Checks that several write at once. */
import { expect, test } from 'vitest';
import type { DynamoKind } from '../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const UNKNOWN = { name: 'StoreUnavailableError', applied: 'unknown' };

/** The answer to the next write of a process is lost, and `meanwhile` happens before it is sent again. */
function loseAnswer({ driver }: ReturnType<World['start']>, meanwhile: () => Promise<unknown>): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (kind: DynamoKind, input, signal) => {
    const output = await attempt(kind, input, signal);
    if (kind === 'get') return output;
    driver.attempt = attempt;
    await meanwhile();
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'lost' });
  };
}

test("keeps another caller's registration after a deregistration with a lost response", async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const check = await here.leasehold.health.register('n', 'disk');
  loseAnswer(here, () => there.leasehold.health.register('n', 'disk', { note: 'the next deployment' }));

  await expect(passTime(world, check.deregister())).rejects.toMatchObject(UNKNOWN);

  expect((await there.leasehold.health.check('n', 'disk'))?.record.note).toBe('the next deployment');
});

test("keeps another caller's deregistration after a registration with a lost response", async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  loseAnswer(here, async () => (await there.leasehold.health.check('n', 'disk'))?.deregister());

  await expect(passTime(world, here.leasehold.health.register('n', 'disk'))).rejects.toMatchObject(UNKNOWN);

  expect(await there.leasehold.health.check('n', 'disk')).toBeUndefined();
});

test('deregisters a check or a node once, even with repeated or concurrent calls', async () => {
  const { health, ...leasehold } = open();
  const [one, other] = [await health.register('n', 'disk'), await health.check('n', 'disk')];
  const bound = await leasehold.session('disk');

  expect([await one.deregister(), await one.deregister(), await other!.deregister()]).toEqual([1, 0, 0]);
  expect(bound.record.status).toBe('live'); // as its holder last heard

  for (const id of ['disk', 'net', 'power']) {
    await health.register('n', id);
    await leasehold.session(id);
  }
  const ended = await Promise.all([health.deregisterNode('n'), health.deregisterNode('n')]);
  expect(ended.reduce((sum, count) => sum + count)).toBe(3);
  expect(await Array.fromAsync(health.list('n'))).toEqual([]);
  await expect(one.pass()).rejects.toMatchObject({ name: 'ConfigurationError' });

  function open() {
    const { leasehold: opened } = simulatedWorld().start();
    return {
      health: opened.health,
      session: (check: string) => opened.session({ ttl: '5m', node: 'n', checks: [check] }),
    };
  }
});
