/** The answer of a wait for one generation of a group, in each state of the group's current generation. */
import { describe, expect, test } from 'vitest';
import type { WaitGroup } from '../../../../shared/coordination/waitgroup/group.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const OPEN = { kind: 'pending', isSealed: false, pending: [] };
const ENDED = (members: number, lost: number) => ({ kind: 'complete', members, lost });

interface State {
  /** Brings a generation that has just begun into this state. */
  readonly bring: (group: WaitGroup) => Promise<unknown>;
  /** The answer of a wait for this generation, and the group's state afterwards. */
  readonly own: object;
  readonly after: 'open' | 'sealed' | 'complete';
}

const STATES: Readonly<Record<string, State>> = {
  'open and without members': { bring: () => Promise.resolve(), own: OPEN, after: 'open' },
  'open with a member that is pending': { bring: (group) => group.add(['a']), own: OPEN, after: 'open' },
  'open, and all of its members are done': {
    bring: async (group) => {
      await group.add(['a']);
      await group.done('a');
    },
    own: OPEN,
    after: 'open',
  },
  'sealed with a member that is pending': {
    bring: async (group) => {
      await group.add(['a', 'b'], { seal: true });
      await group.done('a');
    },
    own: { kind: 'pending', isSealed: true, pending: ['b'] },
    after: 'sealed',
  },
  'sealed, and all of its members are done': {
    bring: async (group) => {
      await group.add(['a'], { seal: true });
      await group.done('a');
    },
    own: ENDED(1, 0),
    after: 'complete',
  },
  'sealed without members': {
    bring: (group) => group.add([], { seal: true }),
    own: ENDED(0, 0),
    after: 'complete',
  },
  complete: {
    bring: async (group) => {
      await group.add(['a'], { seal: true });
      await group.done('a');
      await group.wait();
    },
    own: ENDED(1, 0),
    after: 'complete',
  },
};

describe.each(Object.entries(STATES))('while the current generation is %s', (_state, { bring, own, after }) => {
  /** The first generation had four members, and lost two. */
  async function open() {
    const world = simulatedWorld();
    const { leasehold, ports } = world.start();
    const first = await leasehold.waitGroup('g');
    const doomed = await leasehold.session({ ttl: '10s', lockDelay: 0 });
    await first.add(['w', 'x'], { session: doomed.holder });
    await first.add(['y', 'z'], { seal: true });
    await doomed.end();
    await Promise.all([first.done('y'), first.done('z')]);
    await first.wait();
    const current = await first.next();
    await bring(current);
    const row = () => ports.groups.get('g');
    const of = (offset: number) => leasehold.waitGroup('g', { generation: current.generation + offset });
    return { world, row, of, before: await row() };
  }

  test.each<[string, number, object]>([
    ['its own generation', 0, own],
    ['the generation before it', -1, ENDED(4, 2)],
    ['a generation that never was', -2, ENDED(0, 0)],
    ['the next generation', 1, OPEN],
    ['a much later generation', 1_000, OPEN],
  ])('a wait for %s tells what is known of that', async (_which, offset, answer) => {
    const { row, of, before } = await open();

    expect(await (await of(offset)).wait({ wait: 0 })).toEqual(answer);

    // Only a wait that finds its own generation complete records that.
    const isRecorded = offset === 0 && before?.state !== after;
    expect(await row()).toEqual(
      isRecorded ? { ...before, state: after, ...counts(own), nonce: expect.any(String) as string } : before,
    );
  });

  test('a wait for the next generation lasts until that ends', async () => {
    const { world, of } = await open();
    const [current, next] = [await of(0), await of(1)];
    let isOver = false;
    const waiting = next.wait().finally(() => {
      isOver = true;
    });
    await world.clock.advance(5_000);
    expect(isOver).toBe(false);

    if (after === 'open') await current.add([], { seal: true });
    for await (const { id } of current.members()) await current.done(id);
    await current.wait();
    await current.next();
    await next.add(['n'], { seal: true });
    await world.clock.advance(5_000);
    expect(isOver).toBe(false);
    await next.done('n');

    expect(await passTime(world, waiting)).toEqual(ENDED(1, 0));
  });
});

function counts(answer: object): object {
  const { kind: _, ...rest } = answer as { readonly kind: string };
  return rest;
}
