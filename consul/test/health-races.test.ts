/** Checks that several write at once, and the sessions that end with them. */
import { expect, test } from 'vitest';
import type { DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import type { World } from '../../test/support/coordination.ts';
import type { Remote } from '../remote/remote.ts';
import { remoteOf } from './remote-of.ts';
import { passTime, simulatedWorld } from '../../test/support/coordination.ts';

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
  const check = await remoteOf(here).health.register('n', 'disk');
  loseAnswer(here, () => remoteOf(there).health.register('n', 'disk', { note: 'the next deployment' }));

  await expect(passTime(world, check.deregister())).rejects.toMatchObject(UNKNOWN);

  expect((await remoteOf(there).health.check('n', 'disk'))?.record.note).toBe('the next deployment');
});

test("keeps another caller's deregistration after a registration with a lost response", async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  loseAnswer(here, async () => (await remoteOf(there).health.check('n', 'disk'))?.deregister());

  await expect(passTime(world, remoteOf(here).health.register('n', 'disk'))).rejects.toMatchObject(UNKNOWN);

  expect(await remoteOf(there).health.check('n', 'disk')).toBeUndefined();
});

test('deregisters a check or a node once, even with repeated or concurrent calls', async () => {
  const { health, ...leasehold } = open();
  const [one, other] = [await health.register('n', 'disk'), await health.check('n', 'disk')];
  await leasehold.session('disk');

  expect([await one.deregister(), await one.deregister(), await other!.deregister()]).toEqual([1, 0, 0]);

  for (const id of ['disk', 'net', 'power']) {
    await health.register('n', id);
    await leasehold.session(id);
  }
  const ended = await Promise.all([health.deregisterNode('n'), health.deregisterNode('n')]);
  expect(ended.reduce((sum, count) => sum + count)).toBe(3);
  expect(await Array.fromAsync(health.list('n'))).toEqual([]);
  await expect(one.pass()).rejects.toMatchObject({ name: 'ConfigurationError' });

  function open() {
    const opened = remoteOf(simulatedWorld().start());
    return { health: opened.health, session: (check: string) => bind(opened, check, 'n', [check]) };
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
  const process = simulatedWorld().start();
  const remote = remoteOf(process);
  const { health } = remote;
  for (const [where, name] of [
    ['n', 'disk'],
    ['n', 'net'],
    ['other', 'disk'],
  ] as const)
    await health.register(where, name);
  const open = (name: string, on: string, checks: readonly string[]) => bind(remote, name, on, checks);
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

  const ended = (await Array.fromAsync(process.leasehold.sessions.list())).map(({ name }) => name);
  expect(['both', 'disk', 'elsewhere', 'free'].filter((name) => !ended.includes(name))).toEqual(expected);
  expect(count).toBe(expected.length);
});

test("hides a deregistered check, and a reporter continues from another's report", async () => {
  const { health } = remoteOf(simulatedWorld().start());
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
  const { health } = remoteOf(simulatedWorld().start());

  expect((await health.register('n', id, { note })).record).toMatchObject({ id, note });
  await expect(health.register('n', `${id}a`)).rejects.toThrow(/^check id .* is longer than 256 bytes$/);
  await expect(health.register('n', id, { note: `${note}x` })).rejects.toThrow('at most 1024 bytes');
});

function bind(remote: Remote, name: string, node: string, checks: readonly string[]) {
  return remote.sessions.create({ name, node, ttlMs: 300_000, lockDelayMs: 15_000, behaviour: 'release', checks });
}
