/** Results of all ways of reading a key, in each of its states, and of a contender afterwards. */
import { expect, test } from 'vitest';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'folder/k';
const DELAY_MS = 15_000;

interface Scene {
  readonly world: World;
  readonly there: Process;
  readonly theirs: Session;
}

/** The holder's process dies, and its session ends. */
async function die({ world, there }: Scene): Promise<void> {
  there.driver.isDown = true;
  await world.clock.advance(32_000);
}

async function force({ there }: Scene): Promise<void> {
  const { leaseCounter } = (await there.leasehold.locks.get(KEY))!;
  await there.leasehold.locks.forceRelease(KEY, { by: 'ann', reason: 'stuck', leaseCounter });
}

const STATES: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'was never written': () => Promise.resolve(),
  'has a value': ({ there }) => there.leasehold.locks.put(KEY, 'v'),
  'is held': ({ theirs }) => theirs.lock(KEY, { value: 'v' }),
  'was released': async ({ theirs }) => (await theirs.lock(KEY)).release(),
  'was deleted': async ({ there }) => {
    await there.leasehold.locks.put(KEY, 'v');
    await there.leasehold.locks.delete(KEY);
  },
  'was deleted while it was held': async ({ there, theirs }) => {
    await theirs.lock(KEY);
    await there.leasehold.locks.delete(KEY, { evenIfHeld: true });
  },
  'is in its lock-delay': async (scene) => {
    await scene.theirs.lock(KEY, { value: 'v' });
    await die(scene);
  },
  'is behind its lock-delay': async (scene) => {
    await scene.theirs.lock(KEY, { value: 'v' });
    await die(scene);
    await scene.world.clock.advance(DELAY_MS + 2_000);
  },
  'was released by force': async (scene) => {
    await scene.theirs.lock(KEY, { value: 'v' });
    await force(scene);
  },
  'was released by force long ago': async (scene) => {
    await scene.theirs.lock(KEY, { value: 'v' });
    await force(scene);
    await scene.world.clock.advance(DELAY_MS + 2_000);
  },
};

const DELETING = ['is in its lock-delay', 'is behind its lock-delay'];
const CASES = [
  ...Object.entries(STATES).map(([state, reach]) => ({ state, reach, behavior: 'release' as const })),
  ...DELETING.map((state) => ({ state, reach: STATES[state]!, behavior: 'delete' as const })),
];

test.each(CASES)(
  'agree on a key that $state (with the behavior $behavior), and with a contender',
  async ({ reach, behavior }) => {
    const world = simulatedWorld();
    const [here, there] = [world.start(), world.start()];
    const theirs = await there.leasehold.session({ ttl: '30s', lockDelay: DELAY_MS, behavior });
    const mine = await here.leasehold.session({ ttl: '10m' });
    await reach({ world, there, theirs });

    const { locks } = here.leasehold;
    const looked = await locks.read(KEY);
    const watched = await locks.watch(KEY, { timeout: 0 });
    const infos = [await locks.get(KEY), looked.info, watched.info, (await Array.fromAsync(locks.list('folder/')))[0]];
    for (const info of infos) expect(info).toEqual(looked.info);
    expect(watched).toEqual(looked);
    expect(looked.info?.closedUntil ?? looked.closedUntil).toBe(looked.closedUntil);

    const found = await mine.tryLock(KEY);
    const wanted = looked.info?.holder
      ? { kind: 'held', by: looked.info.holder }
      : looked.closedUntil > 0
        ? { kind: 'delayed', until: looked.closedUntil }
        : { kind: 'acquired' };
    expect(found).toMatchObject(wanted);
  },
);
