/** Searches a smaller profile under which the same seed still violates the same invariant. */
import type { Violation } from './invariants/rule.ts';
import type { Profile, ProfileName } from './profile.ts';
import { CALM, faultsOf, without } from './profile.ts';
import { profileOf, runSeed } from './run-seed.ts';

interface Shrunk {
  readonly violation: Violation;
  /** What to change in the profile that the seed draws. */
  readonly changes: Partial<Profile>;
}

/** Runs that shrinking may take. */
const RUNS_LIMIT = 200;

/** Fewer faults first, then fewer processes and tasks, then less time. @throws when the seed violates nothing */
export async function shrink(seed: bigint, name: ProfileName): Promise<Shrunk> {
  const drawn = profileOf(seed, name);
  const first = await violationOf(seed, name, {});
  if (first === undefined) throw new Error(`seed ${seed} of ${name} violates nothing: nothing to shrink`);
  let best: Shrunk = { violation: first, changes: {} };
  let runs = 0;
  for (let isSmaller = true; isSmaller && runs < RUNS_LIMIT;) {
    isSmaller = false;
    for (const candidate of candidates({ ...drawn, ...best.changes })) {
      if (++runs > RUNS_LIMIT) break;
      const changes = { ...best.changes, ...candidate };
      const violation = await violationOf(seed, name, changes);
      if (violation?.invariant !== first.invariant) continue;
      best = { violation, changes };
      isSmaller = true;
      break;
    }
  }
  return best;
}

async function violationOf(seed: bigint, name: ProfileName, changes: Partial<Profile>): Promise<Violation | undefined> {
  const { violations } = await runSeed(seed, name, { stopAtViolation: true, changes });
  return violations[0];
}

/** Workloads that a history may do without. */
const FEATURES = [
  'operator',
  'payloadShare',
  'bucket',
  'dedupShare',
  'tenants',
  'chains',
  'orders',
  'rivals',
  'hogTasks',
  'strayShards',
] as const;

function candidates(profile: Profile): readonly Partial<Profile>[] {
  const { environments, lockShare, coordinationShare, concurrency, shards, tasks, faultyMs, users } = profile;
  return [
    ...withFewerKnobs(profile),
    ...faultsOf(profile).map(without),
    ...(lockShare > 0 ? [{ lockShare: 0 }] : []),
    ...(coordinationShare > 0 ? [{ coordinationShare: 0 }] : []),
    ...FEATURES.filter((name) => profile[name] !== CALM[name]).map((name) => ({ [name]: CALM[name] })),
    ...(users > 0 ? [{ users: 0 }, { users: users - 1 }] : []),
    // With users, half of the environments are theirs.
    ...(environments > (users > 0 ? 2 : 1) ? [{ environments: environments - 1 }] : []),
    ...(concurrency > 1 ? [{ concurrency: 1 }] : []),
    ...(shards > 1 ? [{ shards: 1 }] : []),
    ...(tasks > 1 ? [{ tasks: 1 }, { tasks: Math.ceil(tasks / 2) }, { tasks: tasks - 1 }] : []),
    ...(faultyMs > 5_000 ? [{ faultyMs: Math.round(faultyMs / 2) }] : []),
  ];
}

/** Without all, one half or the other, and each. */
function withFewerKnobs({ knobs }: Profile): readonly Partial<Profile>[] {
  const all = Object.entries(knobs);
  const half = Math.ceil(all.length / 2);
  const kept = [[], all.slice(half), all.slice(0, half), ...all.map((one) => all.filter((other) => other !== one))];
  return kept.filter(({ length }) => length < all.length).map((some) => ({ knobs: Object.fromEntries(some) }));
}
