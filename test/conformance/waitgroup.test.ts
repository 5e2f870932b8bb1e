import { beforeEach, describe, expect, test } from 'vitest';
import type { DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { ConfigurationError, LeaseLostError, MismatchError } from '../../shared/core/errors.ts';
import { WaitGroup } from '../../shared/coordination/waitgroup/group.ts';
import type { Member } from '../support/crowd.ts';
import { SKEW_MS, TTL_MS, describeCrowd } from '../support/crowd.ts';

describeCrowd('the wait group', (start) => {
  let here: Member;
  let there: Member;
  let name: string;

  beforeEach(() => {
    here = start();
    there = start();
    name = `group-${here.ports.runtime.ids.unique()}`;
  });

  const openIn = (process: Member, generation?: number): Promise<WaitGroup> =>
    WaitGroup.open(name, process.ports, { maxClockSkewMs: SKEW_MS, generation });

  /** The result of a wait's first poll. */
  const found = (group: WaitGroup) => group.wait({ wait: 0 });

  describe('wait', () => {
    test('ends when the group is sealed and all are done', async () => {
      const group = await openIn(here);
      await group.add(['a', 'b']);
      await group.done('a');
      await group.done('b');

      expect(await found(group)).toEqual({ kind: 'pending', isSealed: false, pending: [] });
      await group.seal();
      expect(await found(group)).toEqual({ kind: 'complete', members: 2, lost: 0 });
    });

    test('does not end while the group is open, though all members so far are done', async () => {
      const group = await openIn(here);
      await group.add(['quick']);
      await group.done('quick');

      expect((await found(group)).kind).toBe('pending');
      await group.add(['late']);
      await group.seal();
      expect(await found(group)).toEqual({ kind: 'pending', isSealed: true, pending: ['late'] });
    });

    test('is noticed by waiters elsewhere', async () => {
      const group = await openIn(here);
      await group.add(['a'], { seal: true });
      const waiting = (await openIn(there)).wait({ wait: '1m' });

      await group.done('a');

      expect(await there.live(waiting)).toEqual({ kind: 'complete', members: 1, lost: 0 });
    });

    test('returns the members still pending when the wait times out', async () => {
      const group = await openIn(here);
      await group.add(['a', 'b', 'c'], { seal: true });
      await group.done('b');

      const outcome = await here.live(group.wait({ wait: '3s' }));

      expect(outcome).toEqual({ kind: 'pending', isSealed: true, pending: ['a', 'c'] });
      expect(here.clock.monotonic()).toBeGreaterThanOrEqual(3_000);
    });

    test('ends at once for a sealed group without members', async () => {
      const group = await openIn(here);
      await group.seal();

      expect(await found(group)).toEqual({ kind: 'complete', members: 0, lost: 0 });
    });

    test('answers later callers with the same', async () => {
      const group = await openIn(here);
      await group.add(['a'], { seal: true });
      await group.done('a');
      await found(group);

      expect(await here.costOf(async () => expect(await found(group)).toMatchObject({ members: 1 }))).toEqual({
        requests: 1,
        writeUnits: 0,
        readUnits: 1,
      });
    });
  });

  describe('ids', () => {
    test('count once when added or completed repeatedly', async () => {
      const group = await openIn(here);
      const other = await openIn(there);
      await Promise.all([here.live(group.add(['a', 'b'])), there.live(other.add(['b', 'a']))]);
      expect(await group.done('a')).toBe('done');
      expect(await other.done('a')).toBe('done');
      await group.add(['a']);
      await group.seal();

      expect(await found(group)).toEqual({ kind: 'pending', isSealed: true, pending: ['b'] });
      await group.done('b');
      expect(await found(group)).toMatchObject({ kind: 'complete', members: 2 });
    });

    test('are made where only a number is given', async () => {
      const group = await openIn(here);

      const ids = await group.add(3, { seal: true });

      expect(new Set(ids).size).toBe(3);
      for (const id of ids) await group.done(id);
      expect(await found(group)).toMatchObject({ kind: 'complete', members: 3 });
    });

    test.each(['a#b%23', '__proto__', 'ünï 𝕏', '#state = :done'])('may be any text: %s', async (id) => {
      const group = await openIn(here);
      await group.add([id, `${id}#`], { seal: true });

      await group.done(id);

      expect(await found(group)).toMatchObject({ pending: [`${id}#`] });
    });

    test('are refused if they are not members', async () => {
      const group = await openIn(here);

      await expect(group.done('stranger')).rejects.toThrow(MismatchError);
      await expect(group.lease('stranger', await here.session())).rejects.toThrow(/is not a member of wait group/);
    });

    test.each([
      [[''], /empty/],
      [['a', 'a'], /twice/],
      [-1, /add\(-1\)/],
      [1.5, /add\(1.5\)/],
      [['x'.repeat(600)], /512/],
    ])('that are none are refused, and nothing is added: %j', async (members, message) => {
      const group = await openIn(here);

      await expect(group.add(members)).rejects.toThrow(ConfigurationError);
      await expect(group.add(members)).rejects.toThrow(message);
      await group.seal();
      expect(await found(group)).toMatchObject({ members: 0 });
    });

    test('are refused together if one of them cannot have a row', async () => {
      const group = await openIn(here);
      const ids = Array.from({ length: 150 }, (_, n) => (n === 120 ? '#'.repeat(512) : `m${n}`));

      await expect(group.add(ids)).rejects.toThrow(ConfigurationError);

      await group.seal();
      expect(await found(group)).toMatchObject({ members: 0 });
    });

    test('are not added for a session that has ended', async () => {
      const group = await openIn(here);
      const session = await here.session();
      await session.end();

      await expect(group.add(['a'], { session, seal: true })).rejects.toThrow(LeaseLostError);

      await group.seal();
      expect(await found(group)).toMatchObject({ members: 0 });
    });
  });

  describe('a sealed group', () => {
    test('refuses new members, and keeps nothing of them', async () => {
      const group = await openIn(here);
      await group.add(['a'], { seal: true });

      await expect(group.add(['b', 'c'])).rejects.toThrow(MismatchError);

      await group.done('a');
      expect(await found(group)).toMatchObject({ kind: 'complete', members: 1 });
    });

    test('may be sealed again', async () => {
      const group = await openIn(here);

      await group.seal();
      await group.seal();

      expect(await found(group)).toMatchObject({ kind: 'complete' });
      await group.seal();
    });
  });

  describe('a leased member', () => {
    test('is lost when its session is dead, so that the wait ends', async () => {
      const group = await openIn(here);
      const crashed = await there.session();
      await group.add(['dead'], { session: crashed });
      await group.add(['alive'], { session: await here.session(), seal: true });
      await group.done('alive');
      const startedAt = here.clock.monotonic();

      const outcome = await here.live(group.wait({ pause: '10m' }));

      expect(outcome).toEqual({ kind: 'complete', members: 2, lost: 1 });
      expect(here.clock.monotonic() - startedAt).toBeLessThan(TTL_MS + SKEW_MS + 500);
    });

    test('stays lost when it is completed late, and reports that', async () => {
      const group = await openIn(here);
      await group.add(['slow'], { session: await there.session(), seal: true });
      await here.live(group.wait());

      expect(await (await openIn(there)).done('slow')).toBe('lost');
      expect(await found(group)).toEqual({ kind: 'complete', members: 1, lost: 1 });
    });

    test('is not lost before the lock-delay of its session is over', async () => {
      const group = await openIn(here);
      await group.add(['slow'], { session: await there.session({ lockDelayMs: 5_000 }), seal: true });
      await here.live(here.clock.sleep(TTL_MS + SKEW_MS));

      expect(await found(group)).toMatchObject({ kind: 'pending', pending: ['slow'] });
      await here.live(here.clock.sleep(5_000 + SKEW_MS));
      expect(await found(group)).toMatchObject({ kind: 'complete', lost: 1 });
    });

    test('may be leased by the session that works on it, and by another after it', async () => {
      const group = await openIn(here);
      await group.add(['a'], { seal: true });
      expect(await group.lease('a', await there.session())).toBe('pending');
      const successor = await here.session();
      expect(await group.lease('a', successor)).toBe('pending');
      await here.live(here.clock.sleep(TTL_MS + SKEW_MS));

      expect(await found(group)).toMatchObject({ kind: 'pending', pending: ['a'] });
      await group.done('a');
      expect(await group.lease('a', successor)).toBe('done');
      expect(await found(group)).toMatchObject({ kind: 'complete', lost: 0 });
    });

    test('is not lost with the session that it was leased to before', async () => {
      const group = await openIn(here);
      await group.add(['a'], { session: await there.session(), seal: true });
      const successor = await here.session();
      await here.live(here.clock.sleep(TTL_MS + SKEW_MS));
      const attempt = here.driver.attempt.bind(here.driver);
      here.driver.attempt = async (kind, input, signal) => {
        if (JSON.stringify(input).includes('"lost"')) await (await openIn(there)).lease('a', successor);
        return attempt(kind, input, signal);
      };

      expect(await found(group)).toMatchObject({ kind: 'pending', pending: ['a'] });
    });

    test.each(['nobody', 'another', 'its own session'])('keeps its newer lease; first leased to %s', async (first) => {
      const group = await openIn(here);
      const [before, early, late] = [await there.session(), await there.session(), await here.session()];
      await group.add(['a'], { seal: true });
      if (first !== 'nobody') await group.lease('a', first === 'another' ? before : early);
      const sent: [DynamoKind, unknown][] = [];
      const attempt = there.driver.attempt.bind(there.driver);
      there.driver.attempt = (kind, input, signal) => {
        sent.push([kind, input]);
        return attempt(kind, input, signal);
      };
      const member = await (await openIn(there)).lease('a', early);
      there.driver.attempt = attempt;
      await group.lease('a', late);

      for (const [kind, input] of sent)
        await attempt(kind, input as never, new AbortController().signal).catch(() => undefined);

      expect(member).toBe('pending');
      expect(sent.map(([kind]) => kind)).toEqual(first === 'another' ? ['get', 'update', 'update'] : ['get', 'update']);
      expect((await Array.fromAsync(group.members()))[0]).toMatchObject({ session: late.id });
    });
  });

  describe('a generation', () => {
    test('follows the completed one for every caller', async () => {
      const first = await openIn(here);
      const early = first.next();
      await expect(early).rejects.toThrow(/is open/);
      await first.add(['a'], { seal: true });
      await first.done('a');
      await found(first);

      const second = await first.next();
      const again = await first.next();

      expect([second.generation, again.generation]).toEqual([first.generation + 1, first.generation + 1]);
      expect((await openIn(there)).generation).toBe(second.generation);
    });

    test('ignores late writes of an older generation', async () => {
      const first = await openIn(here);
      await first.add(['a', 'b'], { seal: true });
      await first.done('a');
      await first.done('b');
      await found(first);
      const second = await first.next();
      await second.add(['a', 'b']);

      await first.done('a');
      await first.seal();
      await expect(first.add(['c'])).rejects.toThrow(/earlier generation/);

      await second.seal();
      expect(await found(second)).toMatchObject({ kind: 'pending', pending: ['a', 'b'] });
      expect(await found(await openIn(there, first.generation))).toEqual({ kind: 'complete', members: 2, lost: 0 });
      expect((await found(await openIn(there, second.generation + 1))).kind).toBe('pending');
    });
  });

  test('costs one unit to make', async () => {
    expect(await here.costOf(() => openIn(here))).toMatchObject({ requests: 2, writeUnits: 1 });
  });

  test('costs two units per member to add and one to finish, whatever its size', async () => {
    const group = await openIn(here);
    const ids = Array.from({ length: 120 }, (_, n) => `member-${String(n).padStart(3, '0')}`);

    const adding = await here.costOf(() => group.add(ids));
    const finishing = await here.costOf(async () => {
      for (const id of ids) await group.done(id);
    });
    await group.seal();
    const waiting = await here.costOf(async () => {
      expect(await found(group)).toEqual({ kind: 'complete', members: 120, lost: 0 });
    });

    expect(adding.requests).toBe(2);
    if (here.hasExactUnits) expect(adding.writeUnits).toBe(2 * 2 + 120 * 2);
    expect(finishing).toEqual({ requests: 120, writeUnits: 120, readUnits: 0 });
    // The group's row, a poll, a stride, and its completion.
    expect(waiting.requests).toBe(4);
    expect(waiting.readUnits).toBeLessThanOrEqual(1 + 2 + 9);
  });

  test('reads each member once over repeated polls', async () => {
    const group = await openIn(here);
    const ids = await group.add(60, { seal: true });
    for (const id of ids.slice(0, 59)) await group.done(id);

    const cost = await here.costOf(() => here.live(group.wait({ wait: '20s', pause: '1s' })));

    const looks = cost.requests - 3;
    expect(cost.readUnits).toBeLessThanOrEqual(1 + 4 + looks);
  });

  test('lists its members', async () => {
    const group = await openIn(here);
    await group.add(['b', 'a']);
    await group.done('a');

    const members = [];
    for await (const { id, state } of group.members()) members.push([id, state]);

    expect(members).toEqual([
      ['a', 'done'],
      ['b', 'pending'],
    ]);
  });
});
