/** Verbs of sessions, locks and elections. */
import type { Leadership } from '../../../shared/coordination/election/election.ts';
import type { Lock } from '../../../shared/coordination/lock/lock.ts';
import type { Prng } from '../../support/machines/prng.ts';
import { shown } from '../../support/story.ts';
import type { Acts } from './drawn-story.ts';
import type { Acting } from './held.ts';
import { of, patienceOf, someone, stateOf } from './held.ts';

const KEYS = ['k', 'l', 'k/deep'] as const;

const somewhere = (prng: Prng): string => prng.pick(KEYS);

function lockFacts({ key, fencingToken, value, modifyIndex, signal }: Lock): readonly unknown[] {
  return [key, fencingToken, value, modifyIndex, stateOf(signal)];
}

function termFacts({ term, fencingToken, value, signal }: Leadership): readonly unknown[] {
  return [term, fencingToken, value, stateOf(signal)];
}

export function sessionActs(act: Acting): Acts {
  return [
    [
      8,
      (prng) => {
        const name = someone(prng);
        const settings = {
          ttl: prng.pick(['10s', '30s'] as const),
          lockDelay: prng.pick(['0s', '3s', '15s'] as const),
          behavior: prng.pick(['release', 'release', 'delete'] as const),
        };
        return act(`open ${name} ${shown(settings)}`, async ({ leasehold }, { sessions }) => {
          const session = await leasehold.session({ name, node: 'node', ...settings });
          sessions.set(name, session);
          return session.id;
        });
      },
    ],
    [
      2,
      (prng) => {
        const name = someone(prng);
        return act(`end ${name}`, (_, { sessions }) => of(sessions, name).end());
      },
    ],
    [
      2,
      (prng) => {
        const name = someone(prng);
        return act(`renew ${name}`, (_, { sessions }) => of(sessions, name).renew());
      },
    ],
    [
      1,
      (prng) => {
        const name = someone(prng);
        return act(`state of ${name}`, async ({ leasehold }, { sessions }) => [
          stateOf(of(sessions, name).signal),
          await leasehold.sessions.get(of(sessions, name).id),
        ]);
      },
    ],
    [
      1,
      (prng) => {
        const name = someone(prng);
        return act(`destroy ${name}`, ({ leasehold }, { sessions }) =>
          leasehold.sessions.destroy(of(sessions, name).id),
        );
      },
    ],
    [
      1,
      () =>
        act('sessions', async ({ leasehold }) =>
          (await Array.fromAsync(leasehold.sessions.list())).map(({ id, status }) => `${id} ${status}`),
        ),
    ],
    [
      1,
      (prng) => {
        const ms = prng.pick([0, 300, -300, 2_000] as const);
        return act(`the wall clock is ${ms} ms ahead`, (at) => {
          at.clockError.ms = ms;
        });
      },
    ],
  ];
}

export function lockActs(act: Acting): Acts {
  return [
    [
      10,
      (prng) => {
        const [name, key] = [someone(prng), somewhere(prng)];
        const options = {
          ...(prng.chance(0.5) ? { value: prng.pick(['v', 'w']) } : {}),
          ...(prng.chance(0.3) ? { reentrant: true } : {}),
        };
        return act(`tryLock ${key} by ${name} ${shown(options)}`, async (_, { sessions, locks }) => {
          const got = await of(sessions, name).tryLock(key, options);
          if (got.kind !== 'acquired') return got;
          locks.set(key, got.lock);
          return lockFacts(got.lock);
        });
      },
    ],
    [
      5,
      (prng) => {
        const [name, key, patience] = [someone(prng), somewhere(prng), patienceOf(prng)];
        return act(`lock ${key} by ${name} within ${patience}`, async (_, { sessions, locks }) => {
          const lock = await of(sessions, name).lock(key, { wait: patience });
          locks.set(key, lock);
          return lockFacts(lock);
        });
      },
    ],
    [
      3,
      (prng) => {
        const [name, keys] = [someone(prng), [somewhere(prng), somewhere(prng)]];
        return act(`tryLockAll ${keys.join(' ')} by ${name}`, async (_, { sessions, locks }) => {
          const got = await of(sessions, name).tryLockAll(keys);
          if (got.kind !== 'acquired') return got;
          for (const lock of got.locks) locks.set(lock.key, lock);
          return [...got.locks].map(lockFacts);
        });
      },
    ],
    [
      3,
      (prng) => {
        const [key, value] = [somewhere(prng), prng.pick(['x', 'y'])];
        return act(`update ${key} to ${value}`, async (_, { locks }) => {
          await of(locks, key).update(value);
          return lockFacts(of(locks, key));
        });
      },
    ],
    [
      6,
      (prng) => {
        const [key, value] = [somewhere(prng), prng.pick([undefined, 'last'])];
        return act(`release ${key} with ${value}`, (_, { locks }) =>
          of(locks, key).release(value === undefined ? {} : { value }),
        );
      },
    ],
    [
      2,
      (prng) => {
        const key = somewhere(prng);
        return act(`the lock ${key}`, (_, { locks }) => [lockFacts(of(locks, key)), of(locks, key).nextSequence()]);
      },
    ],
    [
      2,
      (prng) => {
        const key = somewhere(prng);
        return act(`verify ${key}`, ({ leasehold }, { locks }) => leasehold.verify(of(locks, key).sequencer));
      },
    ],
    [
      3,
      (prng) => {
        const key = somewhere(prng);
        return act(`get ${key}`, ({ leasehold }) => leasehold.locks.get(key));
      },
    ],
    [
      1,
      () =>
        act('locks', async ({ leasehold }) =>
          (await Array.fromAsync(leasehold.locks.list())).map(
            ({ key, holder }) => `${key} ${holder?.session ?? 'free'}`,
          ),
        ),
    ],
    [
      2,
      (prng) => {
        const [key, ifIndex, evenIfHeld] = [somewhere(prng), prng.pick([undefined, 0, 1, 2]), prng.chance(0.3)];
        return act(`put ${key} ${shown({ ifIndex, evenIfHeld })}`, ({ leasehold }) =>
          leasehold.locks.put(key, 'put', { ...(ifIndex === undefined ? {} : { ifIndex }), evenIfHeld }),
        );
      },
    ],
    [
      2,
      (prng) => {
        const [key, evenIfHeld] = [somewhere(prng), prng.chance(0.3)];
        return act(`delete ${key} ${shown({ evenIfHeld })}`, ({ leasehold }) =>
          leasehold.locks.delete(key, { evenIfHeld }),
        );
      },
    ],
    [
      2,
      (prng) => {
        const [key, lockDelay] = [somewhere(prng), prng.pick(['0s', '4s'] as const)];
        return act(`force ${key} with a delay of ${lockDelay}`, async ({ leasehold }) => {
          const leaseCounter = (await leasehold.locks.get(key))?.leaseCounter ?? 0;
          return leasehold.locks.forceRelease(key, { leaseCounter, by: 'ann', reason: 'drawn', lockDelay });
        });
      },
    ],
  ];
}

export function electionActs(act: Acting): Acts {
  return [
    [
      4,
      (prng) => {
        const [name, patience] = [someone(prng), patienceOf(prng)];
        return act(`campaign by ${name} within ${patience}`, async (_, { sessions, terms }) => {
          const got = await of(sessions, name).campaign('e', { value: name, wait: patience });
          terms.set('e', got);
          return termFacts(got);
        });
      },
    ],
    [
      2,
      () =>
        act('proclaim', async (_, { terms }) => {
          await of(terms, 'e').proclaim('new');
          return termFacts(of(terms, 'e'));
        }),
    ],
    [2, () => act('resign', (_, { terms }) => of(terms, 'e').resign())],
    [1, () => act('the leader', ({ leasehold }) => leasehold.elections.get('e'))],
  ];
}
