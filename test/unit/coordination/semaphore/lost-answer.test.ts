/** Permits and places in a queue that no code knows, because an answer was lost, or a request arrives late. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';
import { LossyNetwork } from '../../../support/lossy-network.ts';

const NAME = 'vendor';
const LIMIT = { limit: 1 } as const;
const IS_UNKNOWN = { name: 'StoreUnavailableError', applied: 'unknown' };

describe('a lost answer', () => {
  let world: World;
  let here: Process;
  let there: Process;
  let network: LossyNetwork;
  let mine: Session;
  let theirs: Session;

  beforeEach(async () => {
    world = simulatedWorld();
    here = world.start();
    there = world.start();
    network = new LossyNetwork(here, /"semaphore#/);
    mine = await here.leasehold.session({ ttl: '30s' });
    theirs = await there.leasehold.session({ ttl: '30s' });
    await (await theirs.permit(NAME, LIMIT)).release();
  });

  const verbs: [string, (session: Session) => Promise<unknown>][] = [
    ['tryPermit', (session: Session) => session.tryPermit(NAME, LIMIT)],
    ['permit', (session: Session) => session.permit(NAME, { ...LIMIT, wait: '5s' })],
    ['a limiter', (session: Session) => session.limiter(NAME, { limit: 1 }).add({ wait: '5s' })],
  ];

  test.each(verbs)(
    'leaves an unanswered %s unknown, and frees the capacity within two heartbeats',
    async (_verb, take) => {
      network.fate = 'loseAnswer';
      await expect(passTime(world, take(mine))).rejects.toMatchObject(IS_UNKNOWN);
      network.fate = 'none';

      await expect(passTime(world, theirs.permit(NAME, { ...LIMIT, wait: '20s' }))).resolves.toBeDefined();
    },
  );

  test('costs the capacity two heartbeats after an unrepeated, unanswered release', async () => {
    const permit = await mine.permit(NAME, LIMIT);
    network.fate = 'late';
    await expect(passTime(world, permit.release())).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';

    await expect(passTime(world, theirs.permit(NAME, { ...LIMIT, wait: '20s' }))).resolves.toBeDefined();
  });

  test('takes nothing if the request arrives a minute late', async () => {
    network.fate = 'late';
    await expect(passTime(world, mine.tryPermit(NAME, LIMIT))).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';
    await world.clock.advance(60_000);

    expect(await network.deliver()).toBe(0);
    expect(await theirs.tryPermit(NAME, LIMIT)).toMatchObject({ kind: 'acquired' });
  });

  test('costs the capacity two heartbeats after the semaphore answers again, however long that takes', async () => {
    network.fate = 'loseAnswer';
    await expect(passTime(world, mine.tryPermit(NAME, LIMIT))).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'late';
    await world.clock.advance(20 * 60_000);
    network.fate = 'none';

    await expect(passTime(world, theirs.permit(NAME, { ...LIMIT, wait: '20s' }))).resolves.toBeDefined();
    expect(await network.deliver()).toBe(0);
  });

  test('takes no queue position after its contender gave up', async () => {
    const held = await theirs.permit(NAME, LIMIT);
    const queueing = new LossyNetwork(here, /list_append/);
    queueing.fate = 'late';
    const stop = new AbortController();
    const waiting = mine.permit(NAME, { ...LIMIT, fair: true, wait: '1h', signal: stop.signal });
    const gaveUp = expect(waiting).rejects.toThrow('changed my mind');
    await world.clock.advance(1_000);
    stop.abort(new Error('changed my mind'));
    await passTime(world, gaveUp);
    queueing.fate = 'none';
    await world.clock.advance(20_000);
    expect(await queueing.deliver()).toBe(0);
    expect((await there.leasehold.semaphores.get(NAME))?.waiting).toHaveLength(0);
    await held.release();

    expect(await theirs.tryPermit(NAME, LIMIT)).toMatchObject({ kind: 'acquired' });
  });

  test('takes no permit after a repeated admission is released', async () => {
    network.fate = 'lateOnce';
    const permit = await passTime(world, mine.permit(NAME, LIMIT));
    await permit.release();

    expect(await network.deliver()).toBe(0);
    expect(await theirs.tryPermit(NAME, LIMIT)).toMatchObject({ kind: 'acquired' });
  });

  test('takes nothing by the first of two unanswered attempts, after the third found the second applied', async () => {
    const lost = new LossyNetwork(here, /leaseCounter = #leaseCounter/);
    lost.fate = 'lateOnce';
    const taking = mine.permit(NAME, LIMIT);
    await world.clock.advance(0);
    lost.fate = 'loseAnswer';
    await world.clock.advance(40);
    lost.fate = 'none';
    const permit = await passTime(world, taking);
    await permit.release();

    expect(await lost.deliver()).toBe(0);
    expect(await theirs.tryPermit(NAME, LIMIT)).toMatchObject({ kind: 'acquired' });
  });

  test('takes no slot after another process gives it back', async () => {
    network.fate = 'lateOnce';
    const id = (await passTime(world, mine.limiter(NAME, { limit: 1 }).add())) ?? '';
    await theirs.limiter(NAME, { limit: 1 }).done(id);

    expect(await network.deliver()).toBe(0);
    expect(await theirs.tryPermit(NAME, LIMIT)).toMatchObject({ kind: 'acquired' });
  });

  test('takes no queue position again while its permit is held', async () => {
    const two = { limit: 2 } as const;
    const pair = 'pair';
    const held = [await theirs.permit(pair, two), await theirs.permit(pair, two)];
    const queueing = new LossyNetwork(here, /list_append/);
    queueing.fate = 'lateOnce';
    const waiting = mine.permit(pair, { ...two, fair: true, wait: '1h' });
    await world.clock.advance(5_000);
    for (const one of held) await one.release();
    const permit = await passTime(world, waiting);

    expect(await queueing.deliver()).toBe(0);
    expect(await theirs.tryPermit(pair, two)).toMatchObject({ kind: 'acquired' });
    expect(await permit.check()).toBe(true);
  });

  test('does not block other contenders if it occurs while leaving the queue', async () => {
    const held = await theirs.permit(NAME, LIMIT);
    const stop = new AbortController();
    const waiting = mine.permit(NAME, { ...LIMIT, fair: true, wait: '1h', signal: stop.signal });
    const gaveUp = expect(waiting).rejects.toThrow('changed my mind');
    await world.clock.advance(1_000);
    network.fate = 'late';
    stop.abort(new Error('changed my mind'));
    await passTime(world, gaveUp);
    network.fate = 'none';
    await held.release();

    await expect(passTime(world, theirs.permit(NAME, { ...LIMIT, wait: '20s' }))).resolves.toBeDefined();
  });

  test('does not affect other permits and waits of the session', async () => {
    network.fate = 'loseAnswer';
    await expect(passTime(world, mine.tryPermit(NAME, LIMIT))).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';
    const held = await mine.permit(NAME, LIMIT);
    const waiting = mine.permit(NAME, { ...LIMIT, fair: true, wait: '1h' });
    await world.clock.advance(120_000);

    expect(await held.check()).toBe(true);
    expect((await there.leasehold.semaphores.get(NAME))?.waiting).toHaveLength(1);
    await held.release();
    await expect(passTime(world, waiting)).resolves.toBeDefined();
  });

  test('costs a read and a write, and then nothing', async () => {
    const quiet = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
    await mine.end();
    network.fate = 'loseAnswer';
    await expect(passTime(world, quiet.tryPermit(NAME, LIMIT))).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';
    const during = await here.cost(() => world.clock.advance(60_000));
    const after = await here.cost(() => world.clock.advance(60 * 60_000));

    expect(during.verbs).toEqual({ 'semaphore.get': 1, 'semaphore.replace': 1 });
    expect(after.requests).toBe(0);
  });
});
