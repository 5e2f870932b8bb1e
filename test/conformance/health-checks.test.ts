import { beforeEach, expect, test } from 'vitest';
import { registerCheck } from '../../shared/session/row/check-statements.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { until } from '../support/until.ts';
import { whenAborted } from '../support/when-aborted.ts';

describeInEveryWorld('health checks', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let node: string;
  let count = 0;

  beforeEach(() => {
    world = open();
    one = world.start();
    other = world.start();
    node = `node-${++count}`;
  });

  test('leaves a session alone while its checks pass or warn', async () => {
    const check = await other.leasehold.health.register(node, 'disk', { ttl: '1h' });
    const session = await one.leasehold.session({ node, checks: ['disk'] });
    await check.warn('getting full');

    await passTime(
      world,
      until(() => session.record.renewals === 2),
    );

    expect(session.signal.aborted).toBe(false);
    expect((await other.leasehold.health.check(node, 'disk'))?.record).toMatchObject({
      status: 'warning',
      note: 'getting full',
    });
  });

  test('cost one request and one write unit per report', async () => {
    const check = await other.leasehold.health.register(node, 'disk', { ttl: '10s' });

    const cost = await other.cost(() => check.pass());

    expect(cost).toMatchObject({ requests: 1, writeUnits: 1 });
  });

  test.each([
    ['goes critical', (process: Process) => report(process, 'fail')],
    ['is deregistered', (process: Process) => report(process, 'deregister')],
    ['loses its node', (process: Process) => process.leasehold.health.deregisterNode(node)],
  ])('end the sessions that are bound to one which %s, by the one who reports it', async (_what, happen) => {
    await other.leasehold.health.registerNode(node);
    await other.leasehold.health.register(node, 'disk');
    const bound = await one.leasehold.session({ node, name: `${node}-bound`, checks: ['node', 'disk'] });
    const free = await one.leasehold.session({ node, name: `${node}-free` });
    await bound.lock(`${node}-key`);

    expect(await happen(other)).toBe(1);

    expect(await other.leasehold.sessions.get(bound.id)).toMatchObject({ status: 'invalid', reason: 'check' });
    expect(await other.leasehold.sessions.get(free.id)).toMatchObject({ status: 'live' });
    expect(await free.tryLock(`${node}-key`)).toMatchObject({ kind: 'delayed' });
    await passTime(world, whenAborted(bound.signal));
  });

  async function report(process: Process, verb: 'fail' | 'deregister'): Promise<number> {
    const check = await process.leasehold.health.check(node, 'disk');
    if (check === undefined) throw new Error('the check is not there');
    return check[verb]('broken');
  }

  test('lets a contender see that a check is no longer reported', async () => {
    await other.leasehold.health.register(node, 'watchdog', { ttl: '10s' });
    const session = await one.leasehold.session({ node, ttl: '1h', heartbeat: '20m', checks: ['watchdog'] });
    await session.lock(`${node}-key`);
    const contender = await other.leasehold.session({ ttl: '1h', heartbeat: '20m' });
    world.clock.step(11_000 - 1);
    expect(await contender.tryLock(`${node}-key`)).toMatchObject({ kind: 'held' });
    world.clock.step(1);

    expect(await contender.tryLock(`${node}-key`)).toMatchObject({ kind: 'delayed' });
    expect(await other.leasehold.sessions.get(session.id)).toMatchObject({ reason: 'check' });
  });

  test('tells the holder at its next heartbeat that a check is no longer reported', async () => {
    await other.leasehold.health.register(node, 'watchdog', { ttl: '5s' });
    const session = await one.leasehold.session({ node, ttl: '30s', checks: ['watchdog'] });

    await passTime(world, whenAborted(session.signal));

    expect(session.signal.reason).toMatchObject({
      reason: 'invalidated',
      message: expect.stringContaining(`check watchdog of node ${node} is expired`) as string,
    });
  });

  test('admits no session whose checks have already failed', async () => {
    const check = await other.leasehold.health.register(node, 'disk');
    await check.fail('broken');

    await expect(one.leasehold.session({ node, checks: ['disk'] })).rejects.toThrow(
      `check disk of node ${node} is critical`,
    );
    await expect(one.leasehold.session({ node, checks: ['what'] })).rejects.toThrow('is not registered');
  });

  test('are not brought back by an attempt to register them that arrives late', async () => {
    const first = { node, id: 'disk', status: 'passing', note: '', ttlMs: null } as const;
    const late = registerCheck(world.table, undefined, first, { now: world.clock.now(), nonce: 'late' });
    const send = () => world.driver.attempt('update', late.input, new AbortController().signal);
    await send();
    const check = await other.leasehold.health.check(node, 'disk');
    await check?.fail('full');

    await expect(send()).rejects.toMatchObject({ kind: 'conditionFailed' });

    expect(await other.leasehold.health.check(node, 'disk')).toMatchObject({ record: { status: 'critical' } });
  });

  test('come back when they are registered again', async () => {
    const check = await other.leasehold.health.register(node, 'disk');
    await check.deregister();
    await expect(check.pass()).rejects.toThrow('is no longer registered');

    await other.leasehold.health.register(node, 'disk');

    expect(await one.leasehold.session({ node, checks: ['disk'] })).toBeDefined();
  });

  test('are listed by node', async () => {
    await other.leasehold.health.registerNode(node);
    await other.leasehold.health.register(node, 'disk');
    await other.leasehold.health.register(`${node}#x`, 'disk');

    const found = await Array.fromAsync(other.leasehold.health.list(node));

    expect(found.map(({ id, status }) => [id, status])).toEqual([
      ['disk', 'passing'],
      ['node', 'passing'],
    ]);
  });

  test('refuse names and times that cannot be', async () => {
    const { health } = other.leasehold;

    await expect(health.register('', 'disk')).rejects.toThrow(ConfigurationError);
    await expect(health.register(node, 'x'.repeat(257))).rejects.toThrow('longer than 256 bytes');
    await expect(health.register(node, 'disk', { ttl: 0 })).rejects.toThrow('ttl = 0');
  });
});
