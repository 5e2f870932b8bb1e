/** Calls about locks, sessions, semaphores and rate limits. */
import { TASK_KEYS } from '../invariants/families.ts';
import { BUCKET_KEYS } from '../invariants/ratelimits.ts';
import type { Call } from './call.ts';
import type { Clients } from './clients.ts';
import { sessionAt } from './clients.ts';
import type { Stage } from './stage.ts';
import { PROFILE } from './stage.ts';

const [NARROW] = TASK_KEYS;
const BECAUSE = { by: 'operator', reason: 'to see' };

/** A user holds this lock, and does not give it back. */
async function held(stage: Stage): Promise<void> {
  const session = await sessionAt(stage.place('holder'));
  await session.lock('k', { value: 'mine' });
  stage.timeline.after(3 * PROFILE.ttlMs, () => void session.end());
}

async function force({ locks }: Clients): Promise<unknown> {
  const { holder } = (await locks.get('k')) ?? {};
  return holder && locks.forceRelease('k', { ...BECAUSE, leaseCounter: holder.leaseCounter });
}

async function isOpen({ locks }: Clients): Promise<boolean> {
  return (await locks.get('k'))?.holder === undefined;
}

export const COORDINATION: readonly Call[] = [
  {
    name: 'put a value',
    call: ({ locks }) => locks.put('k', 'value'),
    finds: async ({ locks }) => (await locks.get('k'))?.value === 'value',
  },
  {
    name: 'delete a value',
    before: ({ locks }) => locks.put('k', 'value'),
    call: ({ locks }) => locks.delete('k'),
    finds: async ({ locks }) => (await locks.get('k')) === undefined,
  },
  {
    name: 'read and list everything',
    before: async (_, stage) => {
      const place = stage.place('crashed');
      const session = await sessionAt(place);
      await session.lock('k');
      await session.permit('s', { limit: 1 });
      place.process.kill();
      await stage.sleep(3 * PROFILE.ttlMs);
    },
    call: async ({ locks, semaphores, sessions, schedules, elections, rates, operator }) => {
      await locks.get('k');
      await semaphores.get('s');
      await elections.get('chief');
      await rates.get(BUCKET_KEYS[0]);
      await operator.keys([NARROW.key], { shards: PROFILE.shards });
      for (const list of [locks.list(), semaphores.list(), sessions.list(), schedules.list(), operator.dead()])
        for await (const _ of list) continue;
    },
    finds: isOpen,
  },
  {
    name: 'delete a held key',
    before: (_, stage) => held(stage),
    call: ({ locks }) => locks.delete('k', { evenIfHeld: true }),
    finds: isOpen,
  },
  { name: 'release by force', before: (_, stage) => held(stage), call: force, finds: isOpen },
  {
    name: 'destroy a session',
    before: (_, stage) => held(stage),
    call: async ({ sessions, locks }) => {
      const { holder } = (await locks.get('k')) ?? {};
      return holder && sessions.destroy(holder.session);
    },
    finds: isOpen,
  },
  {
    name: 'wait for the end of a session',
    before: (_, stage) => held(stage),
    call: async ({ sessions, locks }) => {
      const { holder } = (await locks.get('k')) ?? {};
      return holder && sessions.waitForEnd(holder.session);
    },
    finds: isOpen,
  },
  {
    name: 'declare a limit',
    call: ({ semaphores }) => semaphores.declareLimit('s', 2),
    finds: async ({ semaphores }) => (await semaphores.get('s'))?.limit === 2,
  },
  {
    name: 'set a limit',
    before: ({ semaphores }) => semaphores.declareLimit('s', 2),
    call: ({ semaphores }) => semaphores.setLimit('s', 5),
    finds: async ({ semaphores }) => (await semaphores.get('s'))?.limit === 5,
  },
  {
    name: 'evict a permit',
    before: async (_, stage) => {
      const session = await sessionAt(stage.place('holder'));
      await session.permit('s', { limit: 1 });
      stage.timeline.after(3 * PROFILE.ttlMs, () => void session.end());
    },
    call: async ({ semaphores }) => {
      const [holder] = (await semaphores.get('s'))?.holders ?? [];
      return holder && semaphores.evict('s', { ...BECAUSE, token: holder.token });
    },
  },
  { name: 'take a token', call: ({ rates }) => rates.take(BUCKET_KEYS[0], { tokens: 2, wait: 5_000 }) },
];
