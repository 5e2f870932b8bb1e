/** Marks in the row bar late copies of requests: a contender that they bar too enters, and they do not fill the row. */
import { beforeEach, describe, expect, test } from 'vitest';
import { MARKS_LIMIT } from '../../../../shared/coordination/semaphore/semaphore.ts';
import type { DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { semaphoreKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const NAME = 'vendor';
const LIMIT = { limit: 1 } as const;

describe('a contender that is barred', () => {
  let world: World;
  let here: Process;
  let there: Process;

  beforeEach(() => {
    world = simulatedWorld();
    here = world.start();
    there = world.start();
  });

  test('enters although its own session has released a later permit', async () => {
    const mine = await here.leasehold.session();
    const theirs = await there.leasehold.session();
    const held = await theirs.permit(NAME, { limit: 2, permits: 2 });
    const waiting = mine.permit(NAME, { limit: 2, permits: 2, wait: '1h' });
    await world.clock.advance(1_000);
    await held.release();
    await (await mine.permit(NAME, { limit: 2 })).release();

    await expect(passTime(world, waiting)).resolves.toBeDefined();
  });

  test('enters by a second request if its clock is behind', async () => {
    const theirs = await there.leasehold.session();
    there.clockError.ms = 900;
    for (let n = 0; n < 8; n++) await (await (await there.leasehold.session()).permit(NAME, LIMIT)).release();
    there.clockError.ms = 0;
    const mine = await here.leasehold.session();
    let permit: unknown;

    const cost = await here.cost(async () => {
      permit = await mine.permit(NAME, LIMIT);
    });

    expect(permit).toBeDefined();
    expect(cost.verbs).toEqual({ 'semaphore.admit': 1, 'semaphore.replace': 1 });
    expect(theirs.signal.aborted).toBe(false);
  });

  test('gets its position in the queue if it is fair', async () => {
    const mine = await here.leasehold.session();
    const theirs = await there.leasehold.session();
    there.clockError.ms = 900;
    const held = await theirs.permit(NAME, LIMIT);
    await there.leasehold.semaphores.setLimit(NAME, 2);
    await (await theirs.permit(NAME, LIMIT)).release();
    await there.leasehold.semaphores.setLimit(NAME, 1);
    const waiting = mine.permit(NAME, { ...LIMIT, fair: true, wait: '1h' });
    await world.clock.advance(500);
    expect((await there.leasehold.semaphores.get(NAME))?.waiting).toHaveLength(1);
    await held.release();

    await expect(passTime(world, waiting)).resolves.toBeDefined();
  });
});

describe('the marks of sessions that left', () => {
  test('are folded by the releases, so that the row stays small', async () => {
    const world = simulatedWorld();
    const here = world.start();
    for (let n = 0; n < 50; n++) {
      await world.clock.advance(100);
      const session = await here.leasehold.session();
      await (await session.permit(NAME, LIMIT)).release();
      await session.end();
      expect(marksOf(await world.row(semaphoreKey(NAME)))).toBeLessThan(8);
    }
  });

  test('are folded by the next contender when there are too many', async () => {
    const world = simulatedWorld();
    const here = world.start();
    await here.leasehold.semaphores.declareLimit(NAME, 100);
    const marks = Object.fromEntries(Array.from({ length: MARKS_LIMIT }, (_, n) => [`session ${n}`, n]));
    await world.driver.attempt(
      'update',
      {
        TableName: world.table,
        Key: { ...semaphoreKey(NAME) },
        UpdateExpression: 'SET #left = :marks',
        ExpressionAttributeNames: { '#left': 'left' },
        ExpressionAttributeValues: { ':marks': marks },
      },
      NEVER,
    );
    const session = await here.leasehold.session();

    const cost = await here.cost(async () => {
      await session.permit(NAME, { limit: 100 });
    });

    expect(cost.verbs).toEqual({ 'semaphore.admit': 1, 'semaphore.replace': 1 });
    expect(marksOf(await world.row(semaphoreKey(NAME)))).toBe(0);
  });
});

const NEVER = new AbortController().signal;

function marksOf(row: DynamoItem | undefined): number {
  return Object.keys(row?.left ?? {}).length;
}
