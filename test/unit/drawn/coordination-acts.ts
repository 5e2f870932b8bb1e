/** Verbs of semaphores, limiters, wait groups, rate limiters, health checks, sessions and locks. */
import type { Permit } from '../../../shared/coordination/semaphore/permit.ts';
import { shown } from '../../support/story.ts';
import type { Acts } from './drawn-story.ts';
import type { Acting } from './held.ts';
import { acting, of, patienceOf, someone, stateOf } from './held.ts';
import { electionActs, lockActs, sessionActs } from './lock-acts.ts';

const MEMBERS = ['a', 'b', 'c'] as const;
const BUCKET = { rate: 2, per: '1s', burst: 3 } as const;

function permitFacts({ fencingToken, permits, record, signal }: Permit): readonly unknown[] {
  return [fencingToken, permits, record, stateOf(signal)];
}

export function coordinationActs(): Acts {
  const act = acting();
  return [sessionActs, lockActs, electionActs, semaphoreActs, groupActs, otherActs].flatMap((acts) => acts(act));
}

function semaphoreActs(act: Acting): Acts {
  return [
    [
      8,
      (prng) => {
        const [name, patience] = [someone(prng), patienceOf(prng)];
        const options = { limit: prng.pick([2, 2, 3]), permits: prng.integer(1, 2), fair: prng.chance(0.4) };
        return act(`permit by ${name} within ${patience} ${shown(options)}`, async (_, { sessions, permits }) => {
          const got = await of(sessions, name).permit('p', { ...options, wait: patience });
          permits.set('p', got);
          return permitFacts(got);
        });
      },
    ],
    [
      2,
      () =>
        act('the permit', async (_, { permits }) => [permitFacts(of(permits, 'p')), await of(permits, 'p').check()]),
    ],
    [5, () => act('release the permit', (_, { permits }) => of(permits, 'p').release())],
    [2, () => act('semaphore', ({ leasehold }) => leasehold.semaphores.get('p'))],
    [
      1,
      (prng) => {
        const limit = prng.pick([1, 4, 'declared'] as const);
        return act(`setLimit ${limit}`, ({ leasehold }) => leasehold.semaphores.setLimit('p', limit));
      },
    ],
    [
      1,
      (prng) => {
        const lockDelay = prng.pick(['0s', '4s'] as const);
        return act(`evict with a delay of ${lockDelay}`, async ({ leasehold }) => {
          const [holder] = (await leasehold.semaphores.get('p'))?.holders ?? [];
          return (
            holder && leasehold.semaphores.evict('p', { token: holder.token, by: 'ann', reason: 'drawn', lockDelay })
          );
        });
      },
    ],
  ];
}

function groupActs(act: Acting): Acts {
  return [
    [
      3,
      (prng) => {
        const [name, patience] = [someone(prng), patienceOf(prng)];
        return act(`add to the limiter by ${name} within ${patience}`, async (_, { sessions, members }) => {
          const id = await of(sessions, name).limiter('lim', { limit: 2 }).add({ wait: patience });
          if (id !== undefined) members.push(id);
          return id;
        });
      },
    ],
    [
      3,
      (prng) => {
        const name = someone(prng);
        return act(`done with the limiter by ${name}`, (_, { sessions, members }) =>
          of(sessions, name)
            .limiter('lim', { limit: 2 })
            .done(members.shift() ?? 'none'),
        );
      },
    ],
    [
      3,
      (prng) => {
        const all = [prng.pick(MEMBERS), prng.pick(MEMBERS)];
        return act(`add ${all.join(' ')} to the group`, async ({ leasehold }) =>
          (await leasehold.waitGroup('g')).add([...new Set(all)]),
        );
      },
    ],
    [
      3,
      (prng) => {
        const member = prng.pick(MEMBERS);
        return act(`${member} is done`, async ({ leasehold }) => (await leasehold.waitGroup('g')).done(member));
      },
    ],
    [
      3,
      (prng) => {
        const [name, member] = [someone(prng), prng.pick(MEMBERS)];
        return act(`lease ${member} to ${name}`, async ({ leasehold }, { sessions }) =>
          (await leasehold.waitGroup('g')).lease(member, of(sessions, name)),
        );
      },
    ],
    [1, () => act('seal the group', async ({ leasehold }) => (await leasehold.waitGroup('g')).seal())],
    [
      2,
      (prng) => {
        const patience = patienceOf(prng);
        return act(`wait for the group within ${patience}`, async ({ leasehold }) =>
          (await leasehold.waitGroup('g')).wait({ wait: patience }),
        );
      },
    ],
    [
      1,
      () =>
        act('the next generation', async ({ leasehold }) => (await (await leasehold.waitGroup('g')).next()).generation),
    ],
    [1, () => act('members', async ({ leasehold }) => Array.fromAsync((await leasehold.waitGroup('g')).members()))],
  ];
}

function otherActs(act: Acting): Acts {
  return [
    [
      3,
      (prng) => {
        const [tokens, patience] = [prng.integer(1, 3), patienceOf(prng)];
        return act(`take ${tokens} within ${patience}`, ({ leasehold }) =>
          leasehold.rateLimiter('r', BUCKET).take('t', { tokens, wait: patience }),
        );
      },
    ],
    [1, () => act('tokens', ({ leasehold }) => leasehold.rateLimiter('r', BUCKET).get('t'))],
  ];
}
