/** `LockContender`, alone: what each look and each attempt finds, and what it costs, by the row and its holder's session. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { LockContender } from '../../../../shared/coordination/lock/lock-contender.ts';
import type { UnresolvedKeys } from '../../../../shared/coordination/lock/unresolved-keys.ts';
import type { Session } from '../../../../shared/client/session.ts';
import { sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'k';
const SKEW_MS = 1_000;
const DELAY_MS = 15_000;
const WISH = { content: undefined, isListed: true } as const;

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

  /** The holder has crashed, and its TTL and the clock bound have passed. */
  async function crash(holder: Session): Promise<void> {
    there.driver.isDown = true;
    await world.clock.advance(31_000);
    there.driver.isDown = false;
    expect(holder.signal.aborted).toBe(true);
  }

  const heldBy = ({ id }: Session) => ({ kind: 'held', key: KEY, by: { session: id } });

  describe('of a held key', () => {
    test('reads the session of a holder once, and then both rows together, at half the price', async () => {
      await theirs.lock(KEY);
      const contender = contend();

      const first = await costOf(() => contender.read());
      const second = await here.cost(async () => expect(await contender.read()).toMatchObject(heldBy(theirs)));

      expect(first.result).toMatchObject(heldBy(theirs));
      expect(first.verbs).toEqual({ 'lock.getWithSession': 1, 'session.get': 1 });
      expect(second).toMatchObject({ verbs: { 'lock.getWithSession': 1 }, readUnits: 1 });
    });

    test('names the new holder when another one has come', async () => {
      const lock = await theirs.lock(KEY);
      const contender = contend();
      await contender.read();
      await lock.release();
      const next = await there.leasehold.session({ ttl: '30s' });
      await next.lock(KEY);

      const { result, verbs } = await costOf(() => contender.read());

      expect(result).toMatchObject(heldBy(next));
      expect(verbs).toEqual({ 'lock.getWithSession': 1, 'session.get': 1 });
      const attempt = await costOf(() => contender.attempt());
      expect(attempt.result).toMatchObject(heldBy(next));
      expect(attempt.verbs).toEqual({ 'lock.acquire': 1, 'session.get': 1 });
    });

    test('asks again before it believes that the session of the holder is gone', async () => {
      await theirs.lock(KEY);
      const contender = contend();
      await contender.read();
      const attempt = here.driver.attempt.bind(here.driver);
      here.driver.attempt = async (kind, input, signal) => {
        const output = await attempt(kind, input, signal);
        const rows = 'Responses' in output ? output.Responses?.[world.table] : undefined;
        if (rows === undefined) return output;
        const seen = rows.filter(({ pk }) => pk !== sessionKey(theirs.id).pk);
        return { ...output, Responses: { [world.table]: seen } };
      };

      expect(await contender.read()).toMatchObject(heldBy(theirs));
    });

    test('asks for nothing while the lock-delay of a holder that crashed lasts', async () => {
      await theirs.lock(KEY);
      await crash(theirs);
      const contender = contend();
      const delayed = { kind: 'delayed', key: KEY, until: world.clock.now() + DELAY_MS + SKEW_MS };
      expect(await contender.read()).toEqual(delayed);

      world.clock.step(DELAY_MS + SKEW_MS - 1);
      expect(await costOf(() => contender.read())).toEqual({ result: delayed, verbs: {} });
      expect(await costOf(() => contender.attempt())).toEqual({ result: delayed, verbs: {} });
      world.clock.step(1);

      expect(await costOf(() => contender.read())).toEqual({ result: undefined, verbs: {} });
      const { result, verbs } = await costOf(() => contender.attempt());
      expect(verbs).toEqual({ 'lock.takeOver': 1 });
      expect(result.kind).toBe('acquired');
    });

    test('reads no session if the row has come to name its own', async () => {
      const lock = await theirs.lock(KEY);
      const contender = contend();
      await contender.read();
      await lock.release();
      await mine.lock(KEY);

      expect(await costOf(() => contender.read())).toEqual({ result: undefined, verbs: { 'lock.getWithSession': 1 } });
    });
  });

  describe('without an answer', () => {
    test('leaves the question to the next attempt, because a look cannot answer it', async () => {
      await theirs.lock(KEY);
      const contender = contend();
      unresolved.has = () => true;

      expect(await costOf(() => contender.read())).toEqual({ result: undefined, verbs: {} });
      unresolved.has = () => false;
      expect(await contender.read()).toMatchObject(heldBy(theirs));
    });
  });
});
