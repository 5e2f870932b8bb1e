/** Draws a profile from the seed: sizes, features, and the faults of a group or of all. */
import { OVERLAP_POLICIES } from '../../shared/tasks/schedule/schedule.ts';
import type { Prng } from '../../test/support/machines/prng.ts';
import { drawLasting } from './lasting.ts';
import { drawKnobsWorld, drawLoneWorld, drawPolledWorld, drawShippedWorld, worldOf } from './other-worlds.ts';
import type { FaultGroup, Profile, ProfileName, Switch } from './profile.ts';
import { CALM, isLasting } from './profile.ts';

const NETWORK: readonly Switch[] = [
  (prng) => ({ requestLost: prng.logarithmic(0.005, 0.1) }),
  (prng) => ({ replyLost: prng.logarithmic(0.005, 0.1) }),
  (prng) => ({ failedBefore: prng.logarithmic(0.005, 0.1) }),
  (prng) => ({ failedAfter: prng.logarithmic(0.005, 0.1) }),
  (prng) => ({ throttled: prng.logarithmic(0.01, 0.3) }),
  (prng) => ({ conflict: prng.logarithmic(0.01, 0.2) }),
  (prng) => ({ late: prng.logarithmic(0.005, 0.1), latestMs: prng.logarithmic(2_000, 300_000) }),
  (prng) => ({ duplicate: prng.logarithmic(0.01, 0.2), latestMs: prng.logarithmic(50, 60_000) }),
  (prng) => ({ partitionEveryMs: prng.logarithmic(3_000, 20_000) }),
  (prng) => ({ outageEveryMs: prng.logarithmic(10_000, 40_000) }),
  (prng, { ttlMs }) => ({ throttledKindEveryMs: prng.logarithmic(ttlMs, 5 * ttlMs) }),
];

const PROCESSES: readonly Switch[] = [
  (prng) => ({ crashEveryMs: prng.logarithmic(2_000, 20_000) }),
  (prng) => ({ freezeEveryMs: prng.logarithmic(2_000, 20_000) }),
  (prng) => ({ herdEveryMs: prng.logarithmic(10_000, 30_000) }),
  (prng) => ({ trapKill: prng.between(0.1, 0.6) }),
  (prng) => ({ trapStall: prng.between(0.1, 0.6) }),
  (prng) => ({ boundaryKill: prng.logarithmic(0.001, 0.02) }),
  (prng) => ({ boundaryStall: prng.logarithmic(0.001, 0.03) }),
  (prng) => ({ doubleTick: prng.between(0.2, 0.8) }),
  () => ({ clones: true }),
];

const CLOCKS: readonly Switch[] = [
  (_, { maxClockSkewMs }) => ({ clockErrorMs: maxClockSkewMs / 2 }),
  (prng, { maxClockSkewMs }) => ({
    clockErrorMs: maxClockSkewMs / 2,
    clockStepEveryMs: prng.logarithmic(3_000, 30_000),
  }),
  () => ({ monotonicStops: true }),
  (prng) => ({
    clocksHold: false,
    clockErrorMs: prng.logarithmic(1_000, 100_000_000),
    clockStepEveryMs: prng.logarithmic(5_000, 60_000),
    staleAfterThawMs: prng.chance(0.5) ? prng.logarithmic(100, 10_000) : 0,
  }),
];

const STORE: readonly Switch[] = [(prng) => ({ staleMs: prng.logarithmic(10, 100_000) }), () => ({ leap: true })];

/** The faults of the vocabulary, by name, for `--profile` and for shrinking. */
const FAULTS = {
  network: NETWORK,
  processes: PROCESSES,
  clocks: CLOCKS,
  store: STORE,
} as const satisfies Record<FaultGroup, readonly Switch[]>;

/** @param name `swarm` draws from everything; a group draws from that group only; `calm` switches nothing on */
export function drawProfile(prng: Prng, name: ProfileName = 'swarm'): Profile {
  if (isLasting(name)) return drawLasting(prng, name, CALM, Object.values(FAULTS).flat());
  if (name === 'mix') return drawProfile(prng, worldOf(prng.fork('world')));
  if (name === 'knobs') return drawKnobsWorld(prng.fork(name), drawProfile(prng, 'swarm'));
  if (name === 'shipped') return drawShippedWorld(prng.fork(name), drawProfile(prng, 'swarm'));
  if (name === 'polled') return drawPolledWorld(prng.fork(name));
  if (name === 'lone') return drawLoneWorld(prng.fork(name), drawProfile(prng, prng.chance(0.5) ? 'calm' : 'swarm'));
  const sized = drawSizes(prng);
  if (name === 'calm') return sized;
  const switches = name === 'swarm' ? Object.values(FAULTS).flat() : FAULTS[name];
  const chance = name === 'swarm' ? prng.pick([0.06, 0.12, 0.25]) : 0.4;
  let profile = sized;
  for (const draw of switches) if (prng.chance(chance)) profile = { ...profile, ...draw(prng, profile) };
  return profile;
}

/** Most histories exercise one thing above all. */
const SHARES = [
  { lockShare: 0, coordinationShare: 0 },
  { lockShare: 0.5, coordinationShare: 0 },
  { lockShare: 0, coordinationShare: 0.5 },
  { lockShare: 0.2, coordinationShare: 0.2 },
] as const;

function drawSizes(prng: Prng): Profile {
  const ttlMs = Math.round(prng.logarithmic(1_500, 10_000));
  return {
    ...CALM,
    ...drawFeatures(prng.fork('features')),
    environments: prng.integer(1, 5),
    concurrency: prng.integer(1, 5),
    // Half of all requests poll empty shards: more of them cost time, and kill no more mutants.
    shards: prng.pick([1, 1, 1, 2, 3]),
    tasks: prng.integer(20, 45),
    ...prng.pick(SHARES),
    operator: prng.chance(0.3),
    forceShare: prng.pick([0, 0.1, 0.3]),
    ttlMs,
    maxClockSkewMs: Math.round(prng.logarithmic(50, 1_000)),
    lockDelayMs: prng.pick([0, 500, 2_000]),
    faultyMs: Math.round(Math.max(20_000, ttlMs * prng.between(5, 10))),
    tickMs: Math.round(prng.between(1_000, 5_000)),
    ...drawPace(prng, ttlMs),
  };
}

/** Ways that a worker's life lasts for at least: a worker may need some thirty requests, one after the other, to poll every source. */
const WAYS_IN_A_LIFE = 100;

function drawPace(prng: Prng, ttlMs: number): Pick<Profile, 'invocationMs' | 'latencyMs'> {
  const invocationMs = Math.round(ttlMs * prng.between(2, 8));
  const latencyMs = prng.logarithmic(2, 60);
  return { invocationMs: Math.max(invocationMs, Math.round(WAYS_IN_A_LIFE * latencyMs)), latencyMs };
}

/** Features are switched on like faults: a history that has all of them has little room for each. */
function drawFeatures(prng: Prng): Partial<Profile> {
  const tenants = prng.chance(0.25);
  return {
    payloadShare: prng.chance(0.25) ? prng.between(0.1, 0.4) : 0,
    bucket: prng.chance(0.06),
    dedupShare: prng.chance(0.3) ? prng.between(0.2, 0.6) : 0,
    tenants,
    chains: prng.chance(0.3),
    orders: prng.chance(0.25) ? 6 : 0,
    rivals: prng.fork('rivals').chance(0.4) ? 12 : 0,
    durables: prng.fork('durables').chance(0.3) ? 6 : 0,
    hogTasks: tenants && prng.chance(0.4) ? 64 : 0,
    listing: prng.fork('listing').chance(0.5),
    overlap: prng.fork('overlap').pick(OVERLAP_POLICIES),
    // Small, so that a commit's own condition often refuses it.
    stock: prng.fork('stock').pick([0, 5, 5]),
    // With more than one, a single task may wait for hours until a tick starts a worker in its shard.
    strayShards: prng.chance(0.2) ? 1 : 0,
  };
}
