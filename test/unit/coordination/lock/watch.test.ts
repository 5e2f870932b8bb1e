import { beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { lockKey } from '../../../../shared/dynamo/engine/keys.ts';
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

  test('answers after a holder crashed, even if nobody else used the key', async () => {
    const dying = await writer.leasehold.session({ ttl: '10s' });
    await dying.lock(KEY);
    const watching = reader.leasehold.locks.watch(KEY, { index: await indexOf() });
    writer.driver.isDown = true;

    const { result, ms } = await timeOf(watching);

    expect(result.info).toMatchObject({ holder: undefined, closedUntil: expect.any(Number) as number });
    expect(ms).toBeLessThanOrEqual(10_000 + 1_000 + 1_010);
  });

  test('answers after a holder was destroyed within two seconds', async () => {
    await session.lock(KEY);
    const watching = reader.leasehold.locks.watch(KEY, { index: await indexOf() });
    await world.clock.advance(5_000);
    await writer.leasehold.sessions.destroy(session.id);

    expect((await timeOf(watching)).ms).toBeLessThanOrEqual(2_010);
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

  test('stops polling when the last watcher has left', async () => {
    await writer.leasehold.locks.put(KEY, 'a');
    await timeOf(reader.leasehold.locks.watch(KEY, { index: await indexOf(), timeout: '3s' }));

    expect((await reader.cost(() => world.clock.advance(60_000))).requests).toBe(0);
  });

  test("ends with the store's error", async () => {
    await writer.leasehold.locks.put(KEY, 'a');
    const watching = reader.leasehold.locks.watch(KEY, { index: await indexOf() });
    await world.clock.advance(100);
    reader.driver.isDown = true;

    await expect(timeOf(watching)).rejects.toThrow(StoreUnavailableError);
  });
});
