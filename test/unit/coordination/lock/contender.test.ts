/** `LockContender`, alone: what each look and each attempt finds, and what it costs, by the row and its holder's session. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import { LockContender } from '../../../../shared/coordination/lock/lock-contender.ts';
import type { UnresolvedKeys } from '../../../../shared/coordination/lock/unresolved-keys.ts';
import type { Session } from '../../../../shared/client/session.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { lockKey, sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'k';
const SKEW_MS = 1_000;
const DELAY_MS = 15_000;
const WISH = { content: undefined, isListed: true } as const;
const never = new AbortController().signal;

describe('a contender', () => {
  let world: World;
  let here: Process;
  let there: Process;
  let mine: Session;
  let theirs: Session;
  let unresolved: { has: () => boolean; add: ReturnType<typeof vi.fn>; see: ReturnType<typeof vi.fn> };

  beforeEach(async () => {
    world = simulatedWorld();
    here = world.start();
    there = world.start();
    mine = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
    theirs = await there.leasehold.session({ ttl: '30s', lockDelay: DELAY_MS });
    unresolved = { has: () => false, add: vi.fn(), see: vi.fn() };
  });

  const contend = (): LockContender =>
    new LockContender(KEY, WISH, mine.holder, {
      ...here.ports,
      unresolved: unresolved as unknown as UnresolvedKeys,
    });

  async function costOf<T>(work: () => Promise<T>): Promise<{ result: T; verbs: Readonly<Record<string, number>> }> {
    const results: T[] = [];
    const { verbs } = await here.cost(async () => results.push(await work()));
    return { result: results[0] as T, verbs };
  }

  /** The holder is gone without a word, and its TTL and the clock bound have passed. */
  async function crash(holder: Session): Promise<void> {
    there.driver.isDown = true;
    await world.clock.advance(31_000);
    there.driver.isDown = false;
    expect(holder.signal.aborted).toBe(true);
  }

  const heldBy = ({ id }: Session) => ({ kind: 'held', key: KEY, by: { session: id } });
  const remove = (key: object) =>
    world.driver.attempt('delete', { TableName: world.table, Key: key as Record<string, string> }, never);

  describe('of a free key', () => {
    test('finds nothing against it, and acquires it', async () => {
      const contender = contend();

      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: { 'lock.getWithSession': 1 } });
      const { result, verbs } = await costOf(() => contender.attempt());

      expect(verbs).toEqual({ 'lock.acquire': 1 });
      expect(result).toMatchObject({ kind: 'acquired', right: { key: KEY, session: mine.id } });
    });

    test.each<[string, (contender: LockContender, counter: number) => unknown, number]>([
      ['again', () => undefined, 2],
      ['once if a look has seen it free', (contender) => contender.look(), 1],
      ['once if it was told the counter', (contender, counter) => contender.observe(counter), 1],
      [
        'once if it was told an older counter later',
        (contender, counter) => {
          contender.observe(counter);
          contender.observe(counter - 1);
        },
        1,
      ],
      ['again if the counter that it was told is older', (contender, counter) => contender.observe(counter - 1), 2],
    ])('that was released within the clock bound is asked for %s', async (_when, learn, attempts) => {
      const lock = await theirs.lock(KEY);
      await lock.release();
      const contender = contend();
      await learn(contender, lock.leaseCounter);

      const { result, verbs } = await costOf(() => contender.attempt());

      expect(verbs).toEqual({ 'lock.acquire': attempts });
      expect(result.kind).toBe('acquired');
      expect(unresolved.see).toHaveBeenCalledTimes(attempts - 1);
      expect(unresolved.add).not.toHaveBeenCalled();
    });

    test('waits until it opens, to the millisecond', async () => {
      const { leaseCounter } = await theirs.lock(KEY);
      const force = { by: 'ann', reason: 'stuck', leaseCounter, lockDelay: DELAY_MS };
      await there.leasehold.locks.forceRelease(KEY, force);
      const contender = contend();
      const delayed = { kind: 'delayed', key: KEY, until: world.clock.now() + DELAY_MS + SKEW_MS };

      expect(await contender.look()).toEqual(delayed);
      expect(await contender.attempt()).toEqual(delayed);
      world.clock.step(DELAY_MS + SKEW_MS - 1);
      expect(await contender.look()).toEqual(delayed);
      world.clock.step(1);

      expect(await contender.look()).toBeUndefined();
      expect((await contender.attempt()).kind).toBe('acquired');
    });
  });

  describe('of a held key', () => {
    test('reads the session of a holder once, and then both rows together, at half the price', async () => {
      await theirs.lock(KEY);
      const contender = contend();

      const first = await costOf(() => contender.look());
      const second = await here.cost(async () => expect(await contender.look()).toMatchObject(heldBy(theirs)));

      expect(first.result).toMatchObject(heldBy(theirs));
      expect(first.verbs).toEqual({ 'lock.getWithSession': 1, 'session.get': 1 });
      expect(second).toMatchObject({ verbs: { 'lock.getWithSession': 1 }, readUnits: 1 });
    });

    test('names the new holder when another one has come', async () => {
      const lock = await theirs.lock(KEY);
      const contender = contend();
      await contender.look();
      await lock.release();
      const next = await there.leasehold.session({ ttl: '30s' });
      await next.lock(KEY);

      const { result, verbs } = await costOf(() => contender.look());

      expect(result).toMatchObject(heldBy(next));
      expect(verbs).toEqual({ 'lock.getWithSession': 1, 'session.get': 1 });
      const attempt = await costOf(() => contender.attempt());
      expect(attempt.result).toMatchObject(heldBy(next));
      expect(attempt.verbs).toEqual({ 'lock.acquire': 1, 'session.get': 1 });
    });

    test('asks again before it believes that the session of the holder is gone', async () => {
      await theirs.lock(KEY);
      const contender = contend();
      await contender.look();
      const attempt = here.driver.attempt.bind(here.driver);
      here.driver.attempt = async (kind, input, signal) => {
        const output = await attempt(kind, input, signal);
        const rows = 'Responses' in output ? output.Responses?.[world.table] : undefined;
        if (rows === undefined) return output;
        const seen = rows.filter(({ pk }) => pk !== sessionKey(theirs.id).pk);
        return { ...output, Responses: { [world.table]: seen } };
      };

      expect(await contender.look()).toMatchObject(heldBy(theirs));
    });

    test('takes it from a session that is really gone', async () => {
      await theirs.lock(KEY);
      const contender = contend();
      await remove(sessionKey(theirs.id));

      expect(await contender.look()).toBeUndefined();
      expect((await costOf(() => contender.attempt())).verbs).toEqual({ 'lock.takeOver': 1 });
    });

    test('asks for nothing while the lock-delay of a holder that crashed lasts', async () => {
      await theirs.lock(KEY);
      await crash(theirs);
      const contender = contend();
      const delayed = { kind: 'delayed', key: KEY, until: world.clock.now() + DELAY_MS + SKEW_MS };
      expect(await contender.look()).toEqual(delayed);

      world.clock.step(DELAY_MS + SKEW_MS - 1);
      expect(await costOf(() => contender.look())).toEqual({ result: delayed, verbs: {} });
      expect(await costOf(() => contender.attempt())).toEqual({ result: delayed, verbs: {} });
      world.clock.step(1);

      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: {} });
      const { result, verbs } = await costOf(() => contender.attempt());
      expect(verbs).toEqual({ 'lock.takeOver': 1 });
      expect(result.kind).toBe('acquired');
    });

    test('judges the row anew when another contender was faster', async () => {
      await theirs.lock(KEY);
      await there.leasehold.sessions.destroy(theirs.id, { lockDelay: 0 });
      const contender = contend();
      await contender.look();
      world.clock.step(DELAY_MS + SKEW_MS);
      const faster = await there.leasehold.session({ ttl: '1h' });
      await faster.lock(KEY);

      const { result, verbs } = await costOf(() => contender.attempt());

      expect(verbs).toEqual({ 'lock.takeOver': 1, 'session.get': 1 });
      expect(result).toMatchObject(heldBy(faster));
      expect(await contender.look()).toMatchObject(heldBy(faster));
    });

    test('acquires it if the row was swept before its takeover', async () => {
      await theirs.lock(KEY);
      await theirs.holder.end();
      const contender = contend();
      await contender.look();
      await remove(lockKey(KEY));

      expect((await costOf(() => contender.attempt())).verbs).toEqual({ 'lock.takeOver': 1, 'lock.acquire': 1 });
    });

    test('starts a new tenure if the row names its own session, and keeps the value', async () => {
      const old = await mine.lock(KEY, { value: 'kept' });
      const contender = contend();

      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: { 'lock.getWithSession': 1 } });
      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: {} });
      const { result, verbs } = await costOf(() => contender.attempt());

      expect(verbs).toEqual({ 'lock.takeOver': 1 });
      expect(result).toMatchObject({ right: { leaseCounter: old.leaseCounter + 1, entry: { value: 'kept' } } });
      expect((await costOf(() => contend().attempt())).verbs).toEqual({ 'lock.acquire': 1, 'lock.takeOver': 1 });
    });

    test('reads no session if the row has come to name its own', async () => {
      const lock = await theirs.lock(KEY);
      const contender = contend();
      await contender.look();
      await lock.release();
      await mine.lock(KEY);

      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: { 'lock.getWithSession': 1 } });
    });

    test.each([
      ['release', 'kept'],
      ['delete', undefined],
    ] as const)('of a session that crashed with the behavior %s finds the value %s', async (behavior, value) => {
      const holder = await there.leasehold.session({ ttl: '30s', lockDelay: 0, behavior });
      await holder.lock(KEY, { value: 'kept' });
      await crash(holder);

      const { result, verbs } = await costOf(() => contend().attempt());

      expect(verbs).toEqual({ 'lock.acquire': 1, 'session.get': 1, 'session.expire': 1, 'lock.takeOver': 1 });
      expect(result).toMatchObject({ kind: 'acquired', right: { session: mine.id } });
      expect((await here.leasehold.locks.get(KEY))?.value).toBe(value);
    });
  });

  test('asks for nothing once its session is over', async () => {
    await mine.end();

    const { verbs } = await costOf(() => expect(contend().attempt()).rejects.toThrow(LeaseLostError));

    expect(verbs).toEqual({});
  });

  describe('without an answer', () => {
    const IS_UNKNOWN = { name: 'StoreUnavailableError', applied: 'unknown' };

    test('notes an acquire, with what its guard compares', async () => {
      const contender = contend();
      contender.observe(7);
      here.driver.isDown = true;
      const askedAt = world.clock.now();

      await expect(passTime(world, contender.attempt())).rejects.toMatchObject(IS_UNKNOWN);

      expect(unresolved.add.mock.calls).toEqual([
        [KEY, { kind: 'acquire', askedAt, openBefore: askedAt - SKEW_MS, observedCounter: 7 }],
      ]);
    });

    test('notes a takeover, with the tenure that it would end', async () => {
      const { leaseCounter } = await mine.lock(KEY);
      const contender = contend();
      await contender.look();
      here.driver.isDown = true;
      const askedAt = world.clock.now();

      await expect(passTime(world, contender.attempt())).rejects.toMatchObject(IS_UNKNOWN);

      expect(unresolved.add.mock.calls).toEqual([[KEY, { kind: 'takeOver', askedAt, session: mine.id, leaseCounter }]]);
    });

    test('notes an acquire that was refused when it was sent again', async () => {
      const contender = contend();
      here.driver.accidents.push('dropRequest');
      await theirs.lock(KEY);

      expect(await passTime(world, contender.attempt())).toMatchObject(heldBy(theirs));

      expect(unresolved.add).toHaveBeenCalledOnce();
      expect(unresolved.see).toHaveBeenCalledOnce();
    });

    test('notes nothing of an acquire that was applied when it was sent again', async () => {
      here.driver.accidents.push('dropRequest');

      expect(await passTime(world, contend().attempt())).toMatchObject({ kind: 'acquired' });

      expect(unresolved.add).not.toHaveBeenCalled();
    });

    test('notes nothing of an acquire that was refused at once, or never sent', async () => {
      const contender = contend();
      await theirs.lock(KEY);
      expect(await contender.attempt()).toMatchObject(heldBy(theirs));
      here.driver.attempt = () => Promise.reject(new DynamoFault('throttled', { code: 'any', message: 'slow down' }));
      await expect(passTime(world, contender.attempt())).rejects.toMatchObject({ ...IS_UNKNOWN, applied: 'no' });

      expect(unresolved.add).not.toHaveBeenCalled();
    });

    test('leaves the question to the next attempt, because a look cannot answer it', async () => {
      await theirs.lock(KEY);
      const contender = contend();
      unresolved.has = () => true;

      expect(await costOf(() => contender.look())).toEqual({ result: undefined, verbs: {} });
      unresolved.has = () => false;
      expect(await contender.look()).toMatchObject(heldBy(theirs));
    });

    test('needs no list of unresolved keys', async () => {
      const contender = new LockContender(KEY, WISH, mine.holder, here.ports);
      await theirs.lock(KEY);

      expect(await contender.look()).toMatchObject(heldBy(theirs));
      here.driver.accidents.push('dropRequest');
      expect(await passTime(world, contender.attempt())).toMatchObject(heldBy(theirs));
      here.driver.isDown = true;
      await expect(passTime(world, contender.attempt())).rejects.toMatchObject(IS_UNKNOWN);
    });
  });
});
