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

test.each([
  ['report a failure', 'n', 'disk', ['both', 'disk']],
  ['report a failure', 'n', 'net', ['both']],
  ['report a failure', 'other', 'disk', ['elsewhere']],
  ['deregister', 'n', 'net', ['both']],
  ['deregister the node', 'n', 'net', ['both', 'disk']],
  ['report a warning', 'n', 'disk', []],
] as const)('to %s of %s/%s ends exactly the sessions that are bound to it', async (verb, node, id, expected) => {
  const { leasehold } = simulatedWorld().start();
  const { health } = leasehold;
  for (const [where, name] of [
    ['n', 'disk'],
    ['n', 'net'],
    ['other', 'disk'],
  ] as const)
    await health.register(where, name);
  const open = (name: string, on: string, checks: readonly string[]) =>
    leasehold.session({ ttl: '5m', name, node: on, checks });
  await open('disk', 'n', ['disk']);
  await open('both', 'n', ['disk', 'net']);
  await open('elsewhere', 'other', ['disk']);
  await open('free', 'n', []);

  const check = await health.check(node, id);
  const count = await {
    'report a failure': () => check!.fail('broken'),
    'report a warning': async () => {
      await check!.warn('slow');
      return 0;
    },
    deregister: () => check!.deregister(),
    'deregister the node': () => health.deregisterNode(node),
  }[verb]();

  const ended = (await Array.fromAsync(leasehold.sessions.list())).map(({ name }) => name);
  expect(['both', 'disk', 'elsewhere', 'free'].filter((name) => !ended.includes(name))).toEqual(expected);
  expect(count).toBe(expected.length);
});

test('a list and a reader show a deregistered check no more, and a reporter goes on from the report of another', async () => {
  const { health } = simulatedWorld().start().leasehold;
  const [one, other] = [await health.register('n', 'disk'), await health.register('n', 'disk')];
  await health.register('n', 'gone').then((check) => check.markDeregistered());

  await other.warn('slow');
  await one.pass('fast again');
  await other.warn('slow again');

  expect(await Array.fromAsync(health.list())).toMatchObject([{ id: 'disk', status: 'warning', note: 'slow again' }]);
  expect(await health.check('n', 'gone')).toBeUndefined();
});

test.each([
  ['a'.repeat(256), 'x'.repeat(1_024)],
  ['ä'.repeat(128), 'ä'.repeat(512)],
])('an id and a note may be as long as their limits in bytes, and not longer', async (id, note) => {
  const { health } = simulatedWorld().start().leasehold;

  expect((await health.register('n', id, { note })).record).toMatchObject({ id, note });
  await expect(health.register('n', `${id}a`)).rejects.toThrow(/^check id .* is longer than 256 bytes$/);
  await expect(health.register('n', id, { note: `${note}x` })).rejects.toThrow('at most 1024 bytes');
});

test('a session is verified by its checks as well, all of them', async () => {
  const { leasehold } = simulatedWorld().start();
  const checks = [await leasehold.health.register('n', 'disk'), await leasehold.health.register('n', 'net')];
  const session = await leasehold.session({ ttl: '5m', node: 'n', checks: ['disk', 'net'] });
  const { sequencer } = await session.lock('k');
  const kinds = [(await leasehold.verify(sequencer)).kind];

  for (const check of checks) {
    // Only the row of the check: its sessions are judged by their readers.
    const original = check.record;
    await check.markDeregistered();
    kinds.push((await leasehold.verify(sequencer)).kind);
    await leasehold.health.register(original.node, original.id);
    kinds.push((await leasehold.verify(sequencer)).kind);
  }

  expect(kinds).toEqual(['valid', 'sessionDead', 'valid', 'sessionDead', 'valid']);
});
