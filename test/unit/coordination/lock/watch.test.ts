import { beforeEach, describe, expect, test } from 'vitest';
import { lockKey } from '../../../../shared/dynamo/engine/keys.ts';
import { LockReader } from '../../../../shared/coordination/lock/lock-reader.ts';
import { LockWatch } from '../../../../shared/coordination/lock/watch.ts';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'config';

describe('watching a key', () => {
  let world: World;
  let writer: Process;
  let reader: Process;
  let session: Session;

  beforeEach(async () => {
    world = simulatedWorld();
    writer = world.start();
    reader = world.start();
    session = await writer.leasehold.session({ ttl: null });
  });

  async function indexOf(): Promise<number> {
    return (await writer.leasehold.locks.get(KEY))?.modifyIndex ?? 0;
  }

  async function timeOf<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
    const startedAt = world.clock.now();
    const result = await passTime(world, work, 10);
    return { result, ms: world.clock.now() - startedAt };
  }

  test('answers at once when the key has changed since', async () => {
    await writer.leasehold.locks.put(KEY, 'a');

    const { result, ms } = await timeOf(reader.leasehold.locks.watch(KEY));

    expect(result).toMatchObject({ index: await indexOf(), info: { value: 'a' } });
    expect(ms).toBeLessThan(50);
  });

  test('answers within a second of a change', async () => {
    await writer.leasehold.locks.put(KEY, 'a');
    const watching = reader.leasehold.locks.watch(KEY, { index: await indexOf() });
    await world.clock.advance(60_000);
    await writer.leasehold.locks.put(KEY, 'b');

    const { result, ms } = await timeOf(watching);

    expect(result).toMatchObject({ info: { value: 'b' } });
    expect(ms).toBeLessThanOrEqual(1_010);
  });

  test.each([
    ['an acquire', () => session.lock(KEY)],
    ['a deletion', () => writer.leasehold.locks.delete(KEY)],
  ])('answers after %s', async (_what, change) => {
    await writer.leasehold.locks.put(KEY, 'a');
    const index = await indexOf();
    const watching = reader.leasehold.locks.watch(KEY, { index });
    await world.clock.advance(5_000);
    await change();

    expect((await timeOf(watching)).result.index).toBe(index + 1);
  });

  test('answers after the row was swept', async () => {
    await writer.leasehold.locks.put(KEY, 'a');
    const watching = reader.leasehold.locks.watch(KEY, { index: await indexOf(), timeout: '1m' });
    await world.clock.advance(5_000);
    const row = { TableName: world.table, Key: { ...lockKey(KEY) } };
    await world.driver.attempt('delete', row, new AbortController().signal);

    const { result, ms } = await timeOf(watching);

    expect(result).toMatchObject({ index: 0, info: undefined });
    expect(ms).toBeLessThanOrEqual(1_010);
  });

  test('answers with the current state when the timeout is over or its signal aborts', async () => {
    await writer.leasehold.locks.put(KEY, 'a');
    const index = await indexOf();
    const controller = new AbortController();
    const aborted = reader.leasehold.locks.watch(KEY, { index, signal: controller.signal });

    const { result, ms } = await timeOf(reader.leasehold.locks.watch(KEY, { index, timeout: '5s' }));
    controller.abort();

    expect(result).toMatchObject({ index, info: { value: 'a' } });
    expect(ms).toBeLessThan(5_050);
    expect(await aborted).toMatchObject({ index });
  });

  test('costs under one read unit a second for a held key, for any number of watchers', async () => {
    await session.lock(KEY);
    const index = await indexOf();
    const stop = new AbortController();
    const watchers = Array.from({ length: 50 }, () =>
      reader.leasehold.locks.watch(KEY, { index, signal: stop.signal }),
    );
    await world.clock.advance(10);

    const cost = await reader.cost(() => world.clock.advance(60_000));
    stop.abort();
    await Promise.all(watchers);

    expect(cost.readUnits / 60).toBeLessThanOrEqual(1);
    expect(cost.requests / 60).toBeLessThanOrEqual(1.34);
  });
});

describe('a watcher that stays while a lock passes to another session', () => {
  type Former = 'lives on' | 'lives on without a TTL' | 'has ended' | 'has crashed';
  type Successor = 'lives' | 'releases it' | 'ends' | 'crashes' | 'is destroyed' | 'loses it to an operator';

  const FORMERS: readonly Former[] = ['lives on', 'lives on without a TTL', 'has ended', 'has crashed'];
  /** How long the watcher may take to see the end of the successor; `null`: there is none. */
  const SUCCESSORS: readonly (readonly [Successor, number | null])[] = [
    ['lives', null],
    ['releases it', 1_010],
    ['ends', 1_010],
    ['crashes', 10_000 + 1_000 + 1_010],
    ['is destroyed', 2_010],
    ['loses it to an operator', 1_010],
  ];

  async function open(former: Former) {
    const world = simulatedWorld();
    const [here, there, reader] = [world.start(), world.start(), world.start()];
    const one = await here.leasehold.session({ ttl: former === 'lives on without a TTL' ? null : '10s', name: 'one' });
    const two = await there.leasehold.session({ ttl: '10s', name: 'two' });
    const watch = new LockWatch(reader.ports, new LockReader(reader.ports, reader.maxClockSkewMs));
    const stop = new AbortController();
    const seen: { readonly what: string; readonly at: number }[] = [];
    const lock = await one.lock(KEY);
    const watching = watch.next(
      KEY,
      ({ holder }) => {
        const what =
          holder === undefined ? 'nobody' : `${holder.name} ${holder.session === two.id ? '(two)' : '(one)'}`;
        if (what !== seen.at(-1)?.what) seen.push({ what, at: world.clock.now() });
        return false;
      },
      stop.signal,
    );
    await world.clock.advance(3_300);
    if (former === 'has crashed') {
      // Its lock is released first: only its session is left behind.
      await lock.release();
      here.driver.isDown = true;
    } else if (former === 'has ended') await one.end();
    else await lock.release();
    const held = await two.lock(KEY);
    await world.clock.advance(3_300);
    const close = async (): Promise<void> => {
      stop.abort();
      await watching;
    };
    return { world, here, there, one, two, held, watch, seen, reader, close };
  }

  type Scene = Awaited<ReturnType<typeof open>>;

  const END: Readonly<Record<Successor, (scene: Scene) => Promise<unknown>>> = {
    lives: () => Promise.resolve(),
    'releases it': ({ held }) => held.release(),
    ends: ({ two }) => two.end(),
    crashes: async ({ there }) => {
      there.driver.isDown = true;
    },
    'is destroyed': ({ two, here: { driver }, reader }) => {
      driver.isDown = false;
      return reader.leasehold.sessions.destroy(two.id);
    },
    'loses it to an operator': ({ reader, held: { leaseCounter } }) =>
      reader.leasehold.locks.forceRelease(KEY, { by: 'ann', reason: 'stuck', leaseCounter }),
  };

  test.each(FORMERS.flatMap((former) => SUCCESSORS.map(([successor, withinMs]) => ({ former, successor, withinMs }))))(
    'judges it by its holder: the former one $former, and the present one $successor',
    async ({ former, successor, withinMs }) => {
      const scene = await open(former);
      const endsAt = scene.world.clock.now();
      await END[successor](scene);
      await scene.world.clock.advance((withinMs ?? 0) + 3_000);
      await scene.close();

      const ends = withinMs === null ? [] : ['nobody'];
      expect(scene.seen.map(({ what }) => what)).toEqual(['one (one)', 'two (two)', ...ends]);
      if (withinMs !== null) expect((scene.seen.at(-1)?.at ?? Infinity) - endsAt).toBeLessThanOrEqual(withinMs);
    },
  );

  test.each([
    ['the present', ({ two }: Scene) => two.id, 1],
    ['the former', ({ one }: Scene) => one.id, 0],
  ])('reads it at once after this process has ended %s session', async (_which, idOf, reads) => {
    const scene = await open('lives on');

    const { requests } = await scene.reader.cost(async () => {
      scene.watch.nudgeHeldBy(idOf(scene));
      await scene.world.clock.advance(0);
    });

    expect(requests).toBe(reads);
    await scene.close();
  });
});
