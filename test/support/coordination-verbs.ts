/**
 * Each verb of sessions, locks, elections, semaphores, limiters, wait groups, rate limits and checks.
 * Each comes with the acts before it, and with a rival's.
 */
import type { Session } from '../../shared/client/session.ts';
import type { Story } from './story.ts';

export const SECOND = 1_000;
const BY = { by: 'ann', reason: 'it hangs' };
const FULL = { limit: 1 };
const RATE = { rate: 1, per: '1s', burst: 3 } as const;

export interface Scene extends Pick<Story, 'here' | 'there' | 'pass'> {
  readonly mine: Session;
  readonly theirs: Session;
}

type Act<Given> = (scene: Scene, given: Given) => Promise<unknown>;

export interface Verb {
  /** Before the verb, without accidents. */
  readonly prepare: (scene: Scene) => Promise<unknown>;
  readonly act: Act<never>;
  /** The act of another process before the request arrives. */
  readonly rival: Act<never> | undefined;
}

function verb<Given>(prepare: (scene: Scene) => Promise<Given>, act: Act<Given>, rival?: Act<Given>): Verb {
  return { prepare, act, rival };
}
const nothing = () => Promise.resolve();
/** The other process stops without ending it, and its session expires. */
const dies = async ({ there, pass }: Scene): Promise<void> => {
  there.driver.isDown = true;
  await pass(52 * SECOND);
};
const takes = ({ theirs }: Scene) => theirs.tryLock('k');
const forces = async ({ there }: Scene) => {
  const { leaseCounter = 0 } = (await there.leasehold.locks.get('k')) ?? {};
  return there.leasehold.locks.forceRelease('k', { ...BY, leaseCounter, lockDelay: '3s' });
};
const puts = ({ there }: Scene) => there.leasehold.locks.put('k', 'theirs', { evenIfHeld: true });
const holdsLock = ({ mine }: Scene) => mine.lock('k', { value: 'v' });
const theyHoldLock = ({ theirs }: Scene) => theirs.lock('k', { value: 'v' });
const holdsPermit = ({ mine }: Scene) => mine.permit('s', { limit: 2 });
const group = ({ here }: Scene) => here.leasehold.waitGroup('g');
const members = (count: number) => Array.from({ length: count }, (_, at) => `m${String(at).padStart(3, '0')}`);
const check = ({ here }: Scene) => here.leasehold.health.register('n1', 'disk', { ttl: '1h' });
const bound = async (scene: Scene) => {
  const given = await check(scene);
  await scene.here.leasehold.session({ ttl: '2m', node: 'n1', checks: ['disk'] });
  return given;
};

export const LOCKS: Readonly<Record<string, Verb>> = {
  'open a session': verb(nothing, async ({ here }) => (await here.leasehold.session({ ttl: '2m', name: 'late' })).id),
  'renew a session': verb(
    nothing,
    ({ mine }) => mine.renew(),
    ({ there, mine }) => there.leasehold.sessions.destroy(mine.id),
  ),
  'end a session': verb(holdsLock, ({ mine }) => mine.end()),
  'end a session that deletes': verb(
    async ({ here }) => {
      const session = await here.leasehold.session({ ttl: '2m', behavior: 'delete' });
      await session.lock('k', { value: 'v' });
      return session;
    },
    (_scene, session) => session.end(),
    forces,
  ),
  'destroy a session': verb(theyHoldLock, ({ here, theirs }) => here.leasehold.sessions.destroy(theirs.id)),
  lock: verb(nothing, ({ mine }) => mine.tryLock('k', { value: 'v' }), takes),
  'lock a key that was held before': verb(
    async (scene) => (await holdsLock(scene)).release(),
    ({ mine }) => mine.tryLock('k'),
    takes,
  ),
  'lock a key that was freed elsewhere': verb(
    async (scene) => (await theyHoldLock(scene)).release(),
    ({ mine }) => mine.tryLock('k'),
    takes,
  ),
  'take a lock over': verb(
    async (scene) => {
      await theyHoldLock(scene);
      await dies(scene);
      return scene.there.leasehold;
    },
    ({ mine }) => mine.tryLock('k'),
  ),
  'lock again, reentrant': verb(holdsLock, ({ mine }) => mine.tryLock('k', { reentrant: true, value: 'w' }), forces),
  update: verb(holdsLock, (_scene, lock) => lock.update('w', { flags: 5 }), puts),
  'update a lock that is released by force': verb(holdsLock, (_scene, lock) => lock.update('w'), forces),
  release: verb(holdsLock, (_scene, lock) => lock.release({ value: 'last', flags: 3 }), puts),
  'release a lock that is released by force': verb(holdsLock, (_scene, lock) => lock.release(), forces),
  'lock several': verb(nothing, ({ mine }) => mine.tryLockAll(['j', 'k'], { value: 'v' }), takes),
  'lock several, one of them again': verb(
    holdsLock,
    ({ mine }) => mine.tryLockAll(['j', 'k'], { reentrant: true, value: 'w' }),
    forces,
  ),
  put: verb(nothing, ({ here }) => here.leasehold.locks.put('k', 'v', { flags: 2 }), puts),
  'put if it is new': verb(nothing, ({ here }) => here.leasehold.locks.put('k', 'v', { ifIndex: 0 }), puts),
  delete: verb(puts, ({ here }) => here.leasehold.locks.delete('k'), takes),
  'delete while it is held': verb(theyHoldLock, ({ here }) => here.leasehold.locks.delete('k', { evenIfHeld: true })),
  'release by force': verb(
    theyHoldLock,
    ({ here }, { leaseCounter }) => here.leasehold.locks.forceRelease('k', { ...BY, leaseCounter }),
    (_scene, lock) => lock.release(),
  ),
  'read a key of an expired session': verb(
    async (scene) => {
      await theyHoldLock(scene);
      await dies(scene);
    },
    ({ here }) => here.leasehold.locks.get('k'),
  ),
  campaign: verb(
    nothing,
    ({ mine }) => mine.tryCampaign('e', { value: 'here' }),
    ({ theirs }) => theirs.tryCampaign('e'),
  ),
  proclaim: verb(
    ({ mine }) => mine.campaign('e', { value: 'here' }),
    (_scene, leadership) => leadership.proclaim('there'),
  ),
  resign: verb(
    ({ mine }) => mine.campaign('e', { value: 'here' }),
    (_scene, leadership) => leadership.resign(),
  ),
};

export const OTHERS: Readonly<Record<string, Verb>> = {
  'take the first permit': verb(
    nothing,
    ({ mine }) => mine.tryPermit('s', FULL),
    ({ theirs }) => theirs.tryPermit('s', FULL),
  ),
  'take a permit': verb(
    async (scene) => (await holdsPermit(scene)).release(),
    ({ mine }) => mine.tryPermit('s', { limit: 2, permits: 2 }),
    ({ theirs }) => theirs.tryPermit('s', { limit: 2 }),
  ),
  'find a semaphore full': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ mine }) => mine.tryPermit('s', FULL),
    (_scene, permit) => permit.release(),
  ),
  'take a permit over': verb(
    async (scene) => {
      await scene.theirs.permit('s', FULL);
      await dies(scene);
    },
    ({ mine }) => mine.tryPermit('s', FULL),
  ),
  'queue for a permit': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ mine }) => mine.permit('s', { ...FULL, fair: true, wait: '1s' }),
  ),
  'release a permit': verb(
    holdsPermit,
    (_scene, permit) => permit.release(),
    ({ there }, { fencingToken: token }) => there.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' }),
  ),
  'evict a permit': verb(
    ({ theirs }) => theirs.permit('s', FULL),
    ({ here }, { fencingToken: token }) => here.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' }),
    (_scene, permit) => permit.release(),
  ),
  'set a limit': verb(
    holdsPermit,
    ({ here }) => here.leasehold.semaphores.setLimit('s', 4),
    ({ theirs }) => theirs.tryPermit('s', { limit: 2 }),
  ),
  'declare a new limit': verb(
    nothing,
    ({ here }) => here.leasehold.semaphores.declareLimit('s', 4),
    ({ there }) => there.leasehold.semaphores.declareLimit('s', 5),
  ),
  'add to a limiter': verb(
    nothing,
    ({ mine }) => mine.limiter('l', FULL).add({ wait: '1s' }),
    ({ theirs }) => theirs.limiter('l', FULL).add(),
  ),
  'leave a limiter': verb(
    ({ mine }) => mine.limiter('l', FULL).add(),
    ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  ),
  "leave another process's limiter": verb(
    ({ theirs }) => theirs.limiter('l', FULL).add(),
    ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  ),
  'open a wait group': verb(
    nothing,
    async (scene) => (await group(scene)).generation,
    ({ there }) => there.leasehold.waitGroup('g'),
  ),
  'add members': verb(
    group,
    async (_scene, open) => (await open.add(members(100), { seal: true })).length,
    (_scene, open) => open.seal(),
  ),
  'lease a member': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a']);
      return open;
    },
    ({ mine }, open) => open.lease('a', mine),
    ({ theirs }, open) => open.lease('a', theirs),
  ),
  'finish a member': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a']);
      return open;
    },
    (_scene, open) => open.done('a'),
    (_scene, open) => open.done('a'),
  ),
  'wait for members, one of them lost': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(['a'], { session: scene.theirs.holder });
      await open.add(['b'], { seal: true });
      await open.done('b');
      await dies(scene);
      return open;
    },
    (_scene, open) => open.wait({ wait: '1s' }),
    (_scene, open) => open.done('a'),
  ),
  'begin a generation': verb(
    async (scene) => {
      const open = await group(scene);
      await open.add(0, { seal: true });
      await open.wait();
      return open;
    },
    async (_scene, open) => (await open.next()).generation,
    (_scene, open) => open.next(),
  ),
  'take the first tokens': verb(
    nothing,
    ({ here }) => here.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 2 }),
    ({ there }) => there.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 2 }),
  ),
  'wait for tokens': verb(
    ({ here }) => here.leasehold.rateLimiter('r', RATE).tryTake('k', { tokens: 3 }),
    ({ here }) => here.leasehold.rateLimiter('r', RATE).take('k', { wait: '3s' }),
    ({ there }) => there.leasehold.rateLimiter('r', RATE).tryTake('k'),
  ),
  'register a check': verb(
    nothing,
    ({ here }) => here.leasehold.health.register('n1', 'disk', { ttl: '1h', note: 'new' }),
    ({ there }) => there.leasehold.health.register('n1', 'disk', { note: 'theirs' }),
  ),
  'report a warning': verb(
    check,
    (_scene, given) => given.warn('slow'),
    ({ there }) => there.leasehold.health.register('n1', 'disk'),
  ),
  'report a failure': verb(bound, (_scene, given) => given.fail('broken')),
  'deregister a check': verb(
    bound,
    (_scene, given) => given.deregister(),
    ({ there }) => there.leasehold.health.register('n1', 'disk'),
  ),
  'deregister a node': verb(bound, ({ here }) => here.leasehold.health.deregisterNode('n1')),
};
