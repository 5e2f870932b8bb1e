/** Semaphores, limiters, wait groups and rate limits. */
import { SemaphoreFullError } from '../../shared/coordination/semaphore/semaphore-contender.ts';
import { BY } from './locks.ts';
import type { Party } from './scene.ts';
import { dies, scene } from './scene.ts';

const FULL = { limit: 1 };
const isFull = (error: unknown) => {
  if (!(error instanceof SemaphoreFullError)) throw error;
  return 'full';
};
const WORKERS = 'workers/q';
const RATE = { rate: 1, per: '1s', burst: 3 } as const;
const holdsPermit = ({ mine }: Party) => mine.permit('s', { limit: 2 });
const theyHoldPermit = ({ theirs }: Party) => theirs.permit('s', FULL);
const evicts = ({ there }: Party, { fencingToken: token }: { readonly fencingToken: number }) =>
  there.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' });

export const SEMAPHORES = [
  scene('semaphore.create', 'take the first permit', {
    act: ({ mine }) => mine.tryPermit('s', FULL),
    rivals: { 'another takes it': ({ theirs }) => theirs.tryPermit('s', FULL) },
  }),
  scene('semaphore.admit', 'take a permit', {
    before: async (party) => (await holdsPermit(party)).release(),
    act: ({ mine }) => mine.tryPermit('s', { limit: 2, permits: 2 }),
    rivals: { 'another takes one': ({ theirs }) => theirs.tryPermit('s', { limit: 2 }) },
  }),
  scene('semaphore.forgo', 'find a semaphore full', {
    before: theyHoldPermit,
    act: ({ mine }) => mine.tryPermit('s', FULL),
    rivals: { 'its permit is released': (_party, permit) => permit.release() },
  }),
  scene('semaphore.replace', 'take a permit over', {
    before: async (party) => {
      await theyHoldPermit(party);
      await dies(party);
    },
    act: ({ mine }) => mine.permit('s', { ...FULL, wait: '20s' }),
  }),
  scene('semaphore.queue', 'queue for a permit', {
    before: theyHoldPermit,
    act: ({ mine }) => mine.permit('s', { ...FULL, fair: true, wait: '1s' }).catch(isFull),
  }),
  scene('semaphore.admit', 'wait for a permit, and get it', {
    before: async (party) => {
      const permit = await theyHoldPermit(party);
      party.world.clock.after(500, () => void permit.release());
    },
    act: async ({ mine }) => (await mine.permit('s', { ...FULL, fair: true, wait: '10s' })).permits,
  }),
  scene('semaphore.release', 'release a permit', {
    before: holdsPermit,
    act: (_party, permit) => permit.release(),
    rivals: { 'it is evicted': evicts },
  }),
  scene('semaphore.evict', 'evict a permit', {
    before: theyHoldPermit,
    act: ({ here }, { fencingToken: token }) => here.leasehold.semaphores.evict('s', { ...BY, token, lockDelay: '3s' }),
    rivals: { 'it is released': (_party, permit) => permit.release() },
  }),
  scene('semaphore.replace', 'set a limit', {
    before: holdsPermit,
    act: ({ here }) => here.leasehold.semaphores.setLimit('s', 4),
    rivals: { 'another takes one': ({ theirs }) => theirs.tryPermit('s', { limit: 2 }) },
  }),
  scene('semaphore.create', 'declare a new limit', {
    act: ({ here }) => here.leasehold.semaphores.declareLimit('s', 4),
    rivals: { 'another declares one': ({ there }) => there.leasehold.semaphores.declareLimit('s', 5) },
  }),
  scene('semaphore.admit', 'add to a limiter', {
    act: ({ mine }) => mine.limiter('l', FULL).add({ wait: '1s' }),
    rivals: { 'another adds': ({ theirs }) => theirs.limiter('l', FULL).add({ wait: 0 }) },
  }),
  scene('semaphore.release', 'leave a limiter', {
    before: ({ mine }) => mine.limiter('l', FULL).add(),
    act: ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  }),
  scene('semaphore.release', "leave another process's limiter", {
    before: ({ theirs }) => theirs.limiter('l', FULL).add(),
    act: ({ mine }, id) => mine.limiter('l', FULL).done(id ?? ''),
  }),
  scene('semaphore.get', 'read a semaphore', {
    before: theyHoldPermit,
    act: ({ here }) => here.leasehold.semaphores.get('s'),
  }),
  scene('semaphore.parts', 'take a permit of a queue with many workers', {
    before: ({ here }) => here.leasehold.semaphores.declareLimit(WORKERS, 12),
    act: ({ mine }) => mine.tryPermit(WORKERS, { limit: 12 }),
    rivals: { 'another takes one': ({ theirs }) => theirs.tryPermit(WORKERS, { limit: 12 }) },
  }),
  scene('semaphore.page', 'list semaphores', {
    before: theyHoldPermit,
    act: async ({ here }) => (await Array.fromAsync(here.leasehold.semaphores.list())).length,
  }),
];

const group = ({ here }: Party) => here.leasehold.waitGroup('g');
const members = (count: number) => Array.from({ length: count }, (_, at) => `m${String(at).padStart(3, '0')}`);
const groupOf =
  (...ids: readonly string[]) =>
  async (party: Party) => {
    const open = await group(party);
    await open.add(ids);
    return open;
  };

export const WAIT_GROUPS = [
  scene('waitgroup.create', 'open a wait group', {
    act: async (party) => (await group(party)).generation,
    rivals: { 'another opens it': async ({ there }) => (await there.leasehold.waitGroup('g')).generation },
  }),
  scene('waitgroup.get', 'open a wait group that is there', {
    before: group,
    act: async (party) => (await group(party)).generation,
  }),
  scene('waitgroup.add', 'add members', {
    before: group,
    act: async (_party, open) => (await open.add(members(100), { seal: true })).length,
    rivals: { 'it is sealed': (_party, open) => open.seal() },
  }),
  scene('waitgroup.add', 'add members of a session', {
    before: group,
    act: async ({ mine }, open) => (await open.add(['a', 'b'], { session: mine.holder })).length,
  }),
  scene('waitgroup.seal', 'seal a group', {
    before: groupOf('a'),
    act: (_party, open) => open.seal(),
    rivals: { 'another seals it': (_party, open) => open.seal(), 'one is added': (_party, open) => open.add(['b']) },
  }),
  scene('waitgroup.lease', 'lease a member', {
    before: groupOf('a'),
    act: ({ mine }, open) => open.lease('a', mine),
    rivals: { 'another leases it': ({ theirs }, open) => open.lease('a', theirs) },
  }),
  scene('waitgroup.lease', 'lease a member that another has leased', {
    before: async (party) => {
      const open = await groupOf('a')(party);
      await open.lease('a', party.theirs);
      await dies(party);
      return open;
    },
    act: ({ mine }, open) => open.lease('a', mine),
    rivals: { 'another finishes it': (_party, open) => open.done('a') },
  }),
  scene('waitgroup.done', 'finish a member', {
    before: groupOf('a'),
    act: (_party, open) => open.done('a'),
    rivals: { 'another finishes it': (_party, open) => open.done('a') },
  }),
  scene('waitgroup.complete', 'wait for members that are done', {
    before: async (party) => {
      const open = await groupOf('a')(party);
      await open.seal();
      await open.done('a');
      return open;
    },
    act: (_party, open) => open.wait({ wait: '1s' }),
  }),
  scene('waitgroup.lose', 'wait for members, one of them lost', {
    before: async (party) => {
      const open = await group(party);
      await open.add(['a'], { session: party.theirs.holder });
      await open.add(['b'], { seal: true });
      await open.done('b');
      await dies(party);
      return open;
    },
    act: (_party, open) => open.wait({ wait: '20s' }),
    rivals: { 'the lost one is done': (_party, open) => open.done('a') },
  }),
  scene('waitgroup.members', 'list members', {
    before: groupOf('a', 'b'),
    act: async (_party, open) => (await Array.fromAsync(open.members())).map(({ id }) => id),
  }),
  scene('waitgroup.begin', 'begin a generation', {
    before: async (party) => {
      const open = await group(party);
      await open.add(0, { seal: true });
      await open.wait();
      return open;
    },
    act: async (_party, open) => (await open.next()).generation,
    rivals: { 'another begins it': async (_party, open) => (await open.next()).generation },
  }),
];

const bucket = ({ here }: Party) => here.leasehold.rateLimiter('r', RATE);
const theirBucket = ({ there }: Party) => there.leasehold.rateLimiter('r', RATE);

export const RATE_LIMITS = [
  scene('ratelimit.takeFromFull', 'take the first tokens', {
    act: (party) => bucket(party).tryTake('k', { tokens: 2 }),
    rivals: { 'another takes some': (party) => theirBucket(party).tryTake('k', { tokens: 2 }) },
  }),
  scene('ratelimit.take', 'take tokens of a used bucket', {
    before: (party) => theirBucket(party).tryTake('k'),
    act: (party) => bucket(party).tryTake('k'),
    rivals: { 'another takes some': (party) => theirBucket(party).tryTake('k', { tokens: 2 }) },
  }),
  scene('ratelimit.take', 'wait for tokens', {
    before: (party) => bucket(party).tryTake('k', { tokens: 3 }),
    act: (party) => bucket(party).take('k', { wait: '3s' }),
    rivals: { 'another tries': (party) => theirBucket(party).tryTake('k') },
  }),
  scene('ratelimit.get', 'read a bucket', {
    before: (party) => theirBucket(party).tryTake('k'),
    act: (party) => bucket(party).get('k'),
  }),
];
