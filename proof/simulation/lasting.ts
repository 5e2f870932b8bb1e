/** Long-running worlds: the profiles of an hour, of long-lived workers, a row in trouble, a backlog, a flood, or full keys. */
import type { Prng } from '../../test/support/machines/prng.ts';
import type { LastingName, Profile, Switch } from './profile.ts';

/** Only one row is in trouble, most of the time; the swarm's faults are rarer, because they have an hour. */
export function drawLasting(prng: Prng, name: LastingName, calm: Profile, faults: readonly Switch[]): Profile {
  const sizes = drawLastingSizes(prng, name);
  const slower = name === 'hour' ? 20 : 4;
  let profile: Profile = { ...calm, ...sizes };
  if (name === 'row' || prng.chance(0.7))
    profile = { ...profile, focusEveryMs: profile.faultyMs / prng.logarithmic(3, 40) };
  for (const draw of faults) {
    const drawn: Partial<Profile> = prng.chance(0.08) ? draw(prng, profile) : {};
    // No row outlives forty days here, and clocks that are hours apart get no guarantees.
    if (drawn.leap === true || drawn.clocksHold === false || drawn.staleMs !== undefined) continue;
    profile = { ...profile, ...drawn };
  }
  const { crashEveryMs, freezeEveryMs, herdEveryMs, partitionEveryMs, outageEveryMs } = profile;
  const { boundaryKill, boundaryStall, trapKill } = profile;
  return {
    ...profile,
    crashEveryMs: slower * crashEveryMs,
    freezeEveryMs: slower * freezeEveryMs,
    herdEveryMs: slower * herdEveryMs,
    partitionEveryMs: slower * partitionEveryMs,
    outageEveryMs: slower * outageEveryMs,
    // Or no worker would live for long.
    boundaryKill: boundaryKill / slower,
    boundaryStall: boundaryStall / slower,
    trapKill: trapKill / 2,
  };
}

function drawLastingSizes(prng: Prng, name: LastingName): Partial<Profile> {
  // A heartbeat every few seconds would be most of what an hour consists of.
  const ttlMs = Math.round(name === 'hour' ? prng.logarithmic(8_000, 60_000) : prng.logarithmic(3_000, 15_000));
  const common = {
    lockShare: 0,
    coordinationShare: 0,
    tasks: 4,
    shards: 1,
    tickMs: 20_000,
    ttlMs,
    concurrency: prng.integer(2, 8),
    latencyMs: prng.logarithmic(2, 30),
    operator: prng.chance(0.3),
    maxClockSkewMs: Math.round(prng.logarithmic(50, 1_000)),
    lockDelayMs: prng.pick([0, 500, 5_000]),
  };
  if (name === 'hour')
    return {
      ...common,
      environments: 4,
      users: 3,
      thinkMs: prng.logarithmic(1_500, 15_000),
      feedEveryMs: prng.logarithmic(4_000, 30_000),
      faultyMs: 2_700_000,
      settleMs: 600_000,
      invocationMs: 4_500_000,
    };
  if (name === 'stays')
    return {
      ...common,
      stays: true,
      environments: prng.integer(1, 4),
      shards: prng.integer(1, 4),
      feedEveryMs: prng.logarithmic(1_000, 10_000),
      relays: prng.integer(1, 6),
      floodTasks: Math.round(prng.logarithmic(200, 3_000)),
      faultyMs: 240_000,
      settleMs: 120_000,
      invocationMs: 900_000,
    };
  if (name === 'row')
    return {
      ...common,
      environments: 4,
      users: 3,
      thinkMs: prng.logarithmic(1_000, 5_000),
      feedEveryMs: prng.logarithmic(2_000, 10_000),
      faultyMs: 500_000,
      settleMs: 150_000,
      invocationMs: 900_000,
    };
  if (name === 'fanout')
    return {
      ...common,
      fansOut: true,
      // A task that kills its workers finally runs alone, in a worker that keeps its other slots free on purpose.
      tasks: 0,
      chains: true,
      environments: prng.integer(4, 8),
      concurrency: prng.integer(2, 4),
      shards: prng.pick([1, 2, 4]),
      streamShards: prng.pick([1, 1, 2, 4]),
      burstLimit: prng.fork('limits').pick([2, 2, 6, 20]),
      operator: false,
      faultyMs: 40_000,
      settleMs: 300_000,
      invocationMs: 240_000,
    };
  if (name === 'keys')
    return {
      ...common,
      fullKeys: true,
      stays: prng.chance(0.7),
      ttlMs: Math.round(prng.logarithmic(3_000, 10_000)),
      environments: prng.integer(2, 4),
      concurrency: prng.integer(1, 4),
      shards: prng.pick([1, 1, 2, 4]),
      faultyMs: 60_000,
      settleMs: 600_000,
      invocationMs: 1_000_000,
    };
  const isBacklog = name === 'backlog';
  const [faultyMs, settleMs] = isBacklog ? [60_000, 120_000] : [60_000, 300_000];
  return {
    ...common,
    environments: prng.integer(1, 4),
    faultyMs,
    settleMs,
    feedEveryMs: prng.logarithmic(2_000, 20_000),
    floodOf: isBacklog
      ? prng.pick(['nothing', 'nothing', 'tenant'] as const)
      : prng.pick(['key', 'rate', 'tenant'] as const),
    floodTasks: Math.round(isBacklog ? prng.logarithmic(1_000, 10_000) : prng.logarithmic(300, 1_500)),
    invocationMs: Math.round(prng.logarithmic(60_000, 600_000)),
  };
}
