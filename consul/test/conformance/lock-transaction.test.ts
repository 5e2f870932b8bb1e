/** Transactions over keys: the operations that gateways need. */
import { beforeEach, expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import type { Process, World } from '../../../test/support/coordination.ts';
import { passTime } from '../../../test/support/coordination.ts';
import { describeInEveryWorld } from '../../../test/support/every-world.ts';
import { LOCK_DELAY_MS, TTL_MS, acquireNow, openLockWorld } from '../../../test/support/locks.ts';
import type { Remote } from '../../remote/remote.ts';
import { remoteOf } from '../remote-of.ts';

describeInEveryWorld('a transaction over keys', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let mine: Session;
  let theirs: Session;
  let key: string;

  beforeEach(async () => {
    ({ world, one, other, mine, theirs, key } = await openLockWorld(open()));
  });

  const create = () =>
    remoteOf(one).sessions.create({
      name: '',
      node: 'n',
      ttlMs: TTL_MS,
      lockDelayMs: LOCK_DELAY_MS,
      behaviour: 'release',
      checks: [],
    });
  const content = (value: string) => ({ bytes: Buffer.from(value), flags: 0n });
  const run = (...operations: Parameters<Remote['transactions']['run']>[0][number][]) =>
    remoteOf(one).transactions.run(operations);

  test.each([
    ['with others', true],
    ['alone', false],
  ])('%s, gives to no session that ends while it is under way', async (_how, hasOthers) => {
    const session = await create();
    const { sessions, locks } = other.leasehold;
    const attempt = one.driver.attempt.bind(one.driver);
    one.driver.attempt = async (kind, input, signal) => {
      if (kind === 'transactWrite' || kind === 'update') await sessions.destroy(session.id);
      return attempt(kind, input, signal);
    };
    const acquiring = { verb: 'acquire', key, session: session.id, content: content('v') } as const;
    const beside = { verb: 'set', key: `${key}/beside`, content: content('v') } as const;

    const outcome = await run(acquiring, ...(hasOthers ? [beside] : []));

    expect(outcome).toEqual({ kind: 'refused', failures: [{ at: 0, failure: { kind: 'sessionGone' } }] });
    expect((await locks.get(key))?.holder).toBeUndefined();
    expect(await locks.get(`${key}/beside`)).toBeUndefined();
  });

  test('tells the session that loses a key by it, with the next heartbeat', async () => {
    const session = await create();
    const keys = ['deleted', 'left', 'kept'].map((name) => `${key}/${name}`);
    const [deleted, left, kept] = await Promise.all(keys.map((name) => acquireNow(mine, name)));
    const foreign = await acquireNow(theirs, `${key}/foreign`);

    const outcome = await run(
      { verb: 'delete', key: `${key}/deleted` },
      { verb: 'delete', key: `${key}/left` },
      { verb: 'set', key: `${key}/left`, content: content('l') },
      { verb: 'set', key: `${key}/kept`, content: content('k') },
      { verb: 'delete', key: foreign.key },
      { verb: 'acquire', key: `${key}/another`, session: theirs.id, content: content('a') },
    );

    expect(outcome).toMatchObject({ kind: 'done' });
    for (const name of ['deleted', 'left'])
      expect(await run({ verb: 'acquire', key: `${key}/${name}`, session: session.id, content: content('g') })).toEqual(
        {
          kind: 'refused',
          failures: [{ at: 0, failure: { kind: 'delayed' } }],
        },
      );
    await passTime(world, world.clock.sleep(TTL_MS / 2));
    expect([deleted, left, kept, foreign].map((lock) => lock?.signal.aborted)).toEqual([true, true, false, true]);
    expect(mine.signal.aborted).toBe(false);
  });

  test('keeps a key closed in the transaction that takes it from a holder who has not learned of it', async () => {
    const session = await create();
    await acquireNow(mine, key);

    const outcome = await run(
      { verb: 'delete', key },
      { verb: 'acquire', key, session: session.id, content: content('g') },
    );

    expect(outcome).toEqual({ kind: 'refused', failures: [{ at: 1, failure: { kind: 'delayed' } }] });
    expect(await one.leasehold.locks.get(key)).toMatchObject({ holder: { session: mine.id } });
  });

  test('reads again if the holder of a deleted key has just left', async () => {
    await acquireNow(mine, key);
    const attempt = one.driver.attempt.bind(one.driver);
    let isFirst = true;
    one.driver.attempt = async (kind, input, signal) => {
      if (kind === 'transactWrite' && isFirst) {
        isFirst = false;
        await other.leasehold.sessions.destroy(mine.id);
      }
      return attempt(kind, input, signal);
    };

    expect(await run({ verb: 'delete', key })).toMatchObject({ kind: 'done' });
    expect(await one.leasehold.locks.get(key)).toBeUndefined();
  });

  test('refuses a hundred keys plus the session of a losing holder as one action too many', async () => {
    const keys = Array.from({ length: 100 }, (_, n) => `${key}/${n}`);
    await acquireNow(mine, keys[0]!);

    expect(await run(...keys.map((name) => ({ verb: 'delete', key: name }) as const))).toEqual({
      kind: 'tooMany',
      keys: 101,
    });
  });
});
