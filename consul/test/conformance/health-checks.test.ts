import { beforeEach, expect, test } from 'vitest';
import { registerCheck } from '../../health/row/check-statements.ts';
import { ConfigurationError } from '../../../shared/core/errors.ts';
import type { Process, World } from '../../../test/support/coordination.ts';
import { passTime } from '../../../test/support/coordination.ts';
import { describeInEveryWorld } from '../../../test/support/every-world.ts';
import { remoteOf } from '../remote-of.ts';

describeInEveryWorld('health checks', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let node: string;
  let count = 0;

  const health = (process = other) => remoteOf(process).health;
  const bind = (name: string, ...checks: readonly string[]) =>
    remoteOf(one).sessions.create({
      name,
      node,
      ttlMs: null,
      lockDelayMs: 15_000,
      behaviour: 'release',
      checks,
    });
  const keep = (session: string, key: string) =>
    remoteOf(one).transactions.run([{ verb: 'acquire', key, session, content: { bytes: Buffer.from(''), flags: 0n } }]);
  /** As a client would ask for it. */
  const live = async (id: string) => (await remoteOf(other).sessions.live(id)) !== undefined;

  beforeEach(() => {
    world = open();
    one = world.start();
    other = world.start();
    node = `node-${++count}`;
  });

  test('leave a session alone while they pass or warn', async () => {
    const check = await health().register(node, 'disk', { ttl: '1h' });
    const { id } = await bind('s', 'disk');
    await check.warn('getting full');

    expect(await live(id)).toBe(true);
    expect((await health().check(node, 'disk'))?.record).toMatchObject({ status: 'warning', note: 'getting full' });
  });

  test('cost one request and one write unit per report', async () => {
    const check = await health().register(node, 'disk', { ttl: '10s' });

    const cost = await other.cost(() => check.pass());

    expect(cost).toMatchObject({ requests: 1, writeUnits: 1 });
  });

  test.each([
    ['goes critical', (process: Process) => report(process, 'fail')],
    ['is deregistered', (process: Process) => report(process, 'deregister')],
    ['loses its node', (process: Process) => health(process).deregisterNode(node)],
  ])('end the sessions that are bound to one which %s, by the one who reports it', async (_what, happen) => {
    await health().registerNode(node);
    await health().register(node, 'disk');
    const [bound, free] = [await bind(`${node}-bound`, 'node', 'disk'), await bind(`${node}-free`)];
    await keep(bound.id, `${node}-key`);

    expect(await happen(other)).toBe(1);

    expect(await other.leasehold.sessions.get(bound.id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
    expect(await other.leasehold.sessions.get(free.id)).toMatchObject({ status: 'live' });
    const contender = await other.leasehold.session();
    expect(await contender.tryLock(`${node}-key`)).toMatchObject({ kind: 'delayed' });
  });

  async function report(process: Process, verb: 'fail' | 'deregister'): Promise<number> {
    const check = await health(process).check(node, 'disk');
    if (check === undefined) throw new Error('the check is not there');
    return check[verb]('broken');
  }

  test.each<[string, (session: string, key: string) => Promise<unknown>]>([
    ['reads the session', (id) => live(id)],
    ['renews it', (id) => remoteOf(other).sessions.renew(id)],
    [
      'lists it',
      async () => remoteOf(other).sessions.liveAmong(await Array.fromAsync(other.leasehold.sessions.list())),
    ],
    ['reads its key', (_, key) => remoteOf(other).locks.read(key)],
    ['reads a prefix of its key', (_, key) => remoteOf(other).prefixes.view(key)],
    ['reads its key in a transaction', (_, key) => remoteOf(other).transactions.run([{ verb: 'get', key }])],
  ])(
    'that are no longer reported end a session when a gateway %s, and a contender alone does not see it',
    async (_what, read) => {
      await health().register(node, 'watchdog', { ttl: '10s' });
      const { id } = await bind('s', 'watchdog');
      await keep(id, `${node}-key`);
      const contender = await other.leasehold.session({ ttl: '1h', heartbeat: '20m' });
      world.clock.step(11_000 - 1);
      await read(id, `${node}-key`);
      expect(await other.leasehold.sessions.get(id)).toMatchObject({ status: 'live' });
      world.clock.step(1);
      expect(await contender.tryLock(`${node}-key`)).toMatchObject({ kind: 'held' });

      await read(id, `${node}-key`);

      expect(await other.leasehold.sessions.get(id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
      expect(await contender.tryLock(`${node}-key`)).toMatchObject({ kind: 'delayed' });
    },
  );

  test.each<[string, (key: string, over: AbortSignal) => Promise<unknown>]>([
    [
      'a key',
      async (key, signal) => {
        const { index } = await remoteOf(other).locks.read(key);
        return remoteOf(other).locks.watch(key, { index, signal });
      },
    ],
    [
      'a prefix',
      async (key, signal) => {
        const { fingerprint } = await remoteOf(other).prefixes.view(key);
        return remoteOf(other).prefixes.watch(key, (view) => view.fingerprint !== fingerprint, signal);
      },
    ],
  ])('are judged once a second for each query that waits for %s', async (_what, wait) => {
    const watchdog = await health().register(node, 'watchdog', { ttl: '10s' });
    const { id } = await bind('s', 'watchdog');
    await keep(id, `${node}-key`);
    const waiting = wait(`${node}-key`, new AbortController().signal);
    await passTime(world, world.clock.sleep(5_000));
    // Only its row: the sessions that are bound to it continue.
    await watchdog.markDeregistered();

    await passTime(world, world.clock.sleep(1_200));

    expect(await other.leasehold.sessions.get(id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
    await passTime(world, waiting);
  });

  test('are not brought back by an attempt to register them that arrives late', async () => {
    const first = { node, id: 'disk', status: 'passing', note: '', ttlMs: null } as const;
    const late = registerCheck(world.table, undefined, first, { now: world.clock.now(), nonce: 'late' });
    const send = () => world.driver.attempt('update', late.input, new AbortController().signal);
    await send();
    const check = await health().check(node, 'disk');
    await check?.fail('full');

    await expect(send()).rejects.toMatchObject({ kind: 'conditionFailed' });

    expect(await health().check(node, 'disk')).toMatchObject({ record: { status: 'critical' } });
  });

  test('come back when they are registered again', async () => {
    const check = await health().register(node, 'disk');
    await check.deregister();
    await expect(check.pass()).rejects.toThrow('is no longer registered');

    await health().register(node, 'disk');

    expect(await live((await bind('s', 'disk')).id)).toBe(true);
  });

  test('are listed by node', async () => {
    await health().registerNode(node);
    await health().register(node, 'disk');
    await health().register(`${node}#x`, 'disk');

    const found = await Array.fromAsync(health().list(node));

    expect(found.map(({ id, status }) => [id, status])).toEqual([
      ['disk', 'passing'],
      ['node', 'passing'],
    ]);
  });

  test('refuse names and times that cannot be', async () => {
    await expect(health().register('', 'disk')).rejects.toThrow(ConfigurationError);
    await expect(health().register(node, 'x'.repeat(257))).rejects.toThrow('longer than 256 bytes');
    await expect(health().register(node, 'disk', { ttl: 0 })).rejects.toThrow('ttl = 0');
  });
});
