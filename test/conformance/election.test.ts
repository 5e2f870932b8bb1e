import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLostError } from '../../shared/core/errors.ts';
import type { Leadership } from '../../shared/coordination/election/election.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';

describeInEveryWorld('an election', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let mine: Session;
  let theirs: Session;
  let name: string;
  let count = 0;

  beforeEach(async () => {
    world = open();
    one = world.start();
    other = world.start();
    mine = await one.leasehold.session({ name: 'one', node: 'a', ttl: '30s', lockDelay: 0 });
    theirs = await other.leasehold.session({ name: 'other', node: 'b', ttl: '30s', lockDelay: 0 });
    name = `election-${++count}`;
  });

  async function elected(session: Session, value?: string): Promise<Leadership> {
    const campaign = await session.tryCampaign(name, { value });
    if (campaign.kind !== 'elected') throw new Error(`not elected: ${JSON.stringify(campaign)}`);
    return campaign.leadership;
  }

  test('has one leader, and tells the others who leads', async () => {
    const leadership = await elected(mine, 'http://a');

    expect(await theirs.tryCampaign(name)).toMatchObject({
      kind: 'held',
      by: { session: mine.id, name: 'one', node: 'a' },
    });
    expect(await other.leasehold.elections.get(name)).toEqual({
      term: leadership.term,
      session: mine.id,
      name: 'one',
      node: 'a',
      value: 'http://a',
      since: world.clock.now(),
      until: world.clock.now() + 31_000,
    });
  });

  test('has no leader before the first campaign and after a resignation', async () => {
    expect(await other.leasehold.elections.get(name)).toBeUndefined();
    const leadership = await elected(mine);
    expect(await leadership.resign()).toBe(true);

    expect(await other.leasehold.elections.get(name)).toBeUndefined();
    expect(leadership.signal.aborted).toBe(true);
  });

  test('gives every leader a larger term', async () => {
    const terms: number[] = [];
    for (const session of [mine, theirs, mine, mine]) {
      await using leadership = await elected(session);
      terms.push(leadership.term);
    }

    expect(terms).toEqual(terms.map((_, n) => (terms[0] ?? 0) + n));
  });

  test('keeps the term of a leader who campaigns again', async () => {
    const first = await elected(mine, 'a');
    const again = await elected(mine, 'b');

    expect(again.term).toBe(first.term);
    expect(first.value).toBe('b');
  });

  test('lets a leader replace its value within its term', async () => {
    const leadership = await elected(mine, 'starting');

    await leadership.proclaim('ready');

    expect(await other.leasehold.elections.get(name)).toMatchObject({ term: leadership.term, value: 'ready' });
  });

  test('elects a waiting candidate when the leader resigns', async () => {
    const leadership = await elected(mine);
    const campaign = theirs.campaign(name, { value: 'next' });
    await passTime(world, world.clock.sleep(2_000));
    await leadership.resign();

    expect(await passTime(world, campaign)).toMatchObject({ term: leadership.term + 1, value: 'next' });
  });

  test("elects another leader after the first expires, and refuses the first one's writes", async () => {
    const first = await elected(mine);
    world.clock.step(31_000);
    const session = await other.leasehold.session({ ttl: '30s' });

    const second = await elected(session);

    expect(second.term).toBe(first.term + 1);
    expect(first.signal.aborted).toBe(true);
    await expect(first.proclaim('I am still here')).rejects.toThrow(LeaseLostError);
  });

  test('is apart from the locks of its user', async () => {
    await elected(mine);

    expect(await theirs.tryLock(name)).toMatchObject({ kind: 'acquired' });
  });

  describe('its observer', () => {
    test('reports the leader, its value, and the missing leader, in this order', async () => {
      const stop = new AbortController();
      const seen: unknown[] = [];
      const first = await elected(mine, 'a1');
      const observing = (async () => {
        for await (const { term, leader } of other.leasehold.elections.observe(name, { signal: stop.signal }))
          seen.push([term - first.term, leader?.name, leader?.value]);
      })();
      const settle = (): Promise<void> => passTime(world, world.clock.sleep(3_000));
      await settle();
      await first.proclaim('a2');
      await settle();
      await first.resign();
      await settle();
      const second = await elected(theirs, 'b1');
      await settle();
      await other.leasehold.sessions.destroy(theirs.id);
      await settle();
      stop.abort();
      await passTime(world, observing);

      expect(second.term).toBe(first.term + 1);
      expect(seen).toEqual([
        [0, 'one', 'a1'],
        [0, 'one', 'a2'],
        [0, undefined, undefined],
        [1, 'other', 'b1'],
        [1, undefined, undefined],
      ]);
    });

    test('stops when its signal aborts, and asks nothing more', async () => {
      const stop = new AbortController();
      const observing = Array.fromAsync(other.leasehold.elections.observe(name, { signal: stop.signal }));
      await passTime(world, world.clock.sleep(2_000));
      stop.abort();

      expect(await passTime(world, observing)).toEqual([{ term: 0, leader: undefined }]);
    });
  });
});
