/** Worlds in which something other than the faults differs from the swarm's. */
import type { Prng } from '../../test/support/machines/prng.ts';
import type { Turned } from './knobs/turn.ts';
import { drawKnobs } from './knobs/turn.ts';
import type { OtherWorld, Profile } from './profile.ts';
import { CALM } from './profile.ts';

/** The parts of a mix: most are swarms. */
const SHARES: readonly (OtherWorld | 'swarm')[] = [
  ...Array.from({ length: 15 }, () => 'swarm' as const),
  ...(['polled', 'knobs', 'knobs', 'lone', 'shipped', 'shipped'] as const),
];

export function worldOf(prng: Prng): OtherWorld | 'swarm' {
  return prng.pick(SHARES);
}

/** Constants are small: pages of two entries, seconds instead of minutes. Half of the worlds have long-lived users, and are watched for stalls. */
export function drawKnobsWorld(prng: Prng, swarm: Profile): Profile {
  const knobs = drawKnobs(prng.fork('knobs'), prng.pick([0.05, 0.2, 1]));
  const service = prng.fork('service');
  const limits = { meets: service.chance(0.5), connections: service.pick([0, 2, 6]) };
  if (prng.chance(0.5)) return { ...swarm, ...limits, knobs };
  return {
    ...swarm,
    ...limits,
    knobs,
    environments: Math.max(2, swarm.environments),
    users: 2,
    thinkMs: prng.logarithmic(200, 2_000),
    settleMs: 40_000,
  };
}

/** Never, within a history. */
const NEVER_MS = 86_400_000;

/**
 * One long-lived worker, or one and a process of users, so mistakes of the first line of defence stay visible.
 * Each second line is switched off by chance: dispatcher, planning hints, and the worker's schedule check.
 */
export function drawLoneWorld(prng: Prng, drawn: Profile): Profile {
  const users = prng.pick([0, 0, 1, 3]);
  const dispatches = prng.chance(0.5);
  const off: readonly Turned[] = [
    { 'shared/tasks/worker/planning-hints.ts: EVERY_MS': NEVER_MS },
    ...(dispatches ? [{ 'shared/client/run-with-schedules.ts: RECUR_MS': NEVER_MS }] : []),
  ];
  return {
    ...drawn,
    lone: true,
    // Only ticks find tasks in shards that no worker knows.
    strayShards: 0,
    dispatches,
    knobs: Object.assign({}, ...off.filter(() => prng.chance(0.5))) as Turned,
    stays: true,
    lockShare: 0,
    coordinationShare: 0,
    environments: users > 0 ? 2 : 1,
    users,
    thinkMs: prng.logarithmic(200, 2_000),
    feedEveryMs: prng.logarithmic(500, 5_000),
    chains: false,
    leap: false,
    settleMs: 60_000,
    invocationMs: 900_000,
  };
}

/**
 * Long-lived workers that have little to do, without a dispatcher and without faults: only their polls find a task of another process.
 * A worker that has met a tenant or a line looks for others often, so none lives for long.
 */
export function drawPolledWorld(prng: Prng): Profile {
  return {
    ...CALM,
    environments: prng.integer(1, 3),
    concurrency: prng.integer(2, 5),
    shards: prng.integer(1, 4),
    tasks: 0,
    lockShare: 0,
    coordinationShare: 0,
    dispatches: false,
    stays: true,
    feedEveryMs: prng.logarithmic(5_000, 40_000),
    feedsLater: true,
    ttlMs: Math.round(prng.logarithmic(3_000, 20_000)),
    latencyMs: prng.logarithmic(2, 30),
    faultyMs: 10_000,
    settleMs: 300_000,
    invocationMs: Math.round(prng.logarithmic(40_000, 300_000)),
  };
}

/** Settings that deployments have and the swarm does not: workers that linger, an idle pace, and clocks that are measured. */
export function drawShippedWorld(prng: Prng, swarm: Profile): Profile {
  return {
    ...swarm,
    lingerMs: Math.round(prng.logarithmic(200, 20_000)),
    idlePollMs: prng.pick([0, 2_000, 5_000]),
    gauged: prng.chance(0.7),
    chains: prng.chance(0.6),
  };
}
