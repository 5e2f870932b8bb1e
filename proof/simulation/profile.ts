/**
 * The parameters of a history: plain data, drawn from the seed.
 *
 * A swarm: most profiles switch most faults off, which gives rare combinations of the others a chance.
 * A profile can be written out and read back, which is how a shrunk failure is replayed.
 */
import type { Prng } from '../../test/support/machines/prng.ts';
import type { OverlapPolicy } from '../../shared/tasks/schedule/schedule.ts';
import type { Turned } from './knobs/turn.ts';

/** The common property of most of a flood's tasks. */
const FLOODS = ['nothing', 'key', 'rate', 'tenant'] as const;
export type FloodOf = (typeof FLOODS)[number];

export interface Profile {
  /** Sizes. */
  readonly environments: number;
  readonly concurrency: number;
  readonly shards: number;
  readonly tasks: number;
  /** Share of the invocations that use locks instead of working on tasks. */
  readonly lockShare: number;
  /** Share of the users of semaphores, wait groups and rate limits. */
  readonly coordinationShare: number;
  /** Whether an operator cancels, brings back, reschedules and pauses. */
  readonly operator: boolean;
  /** Chance that a user of locks or permits, between two uses, takes a right or a session away from whoever has it. */
  readonly forceShare: number;
  /** Share of the tasks with inputs in separate rows. */
  readonly payloadShare: number;
  /** Whether one input is in the user's own store. */
  readonly bucket: boolean;
  /** Share of the ids that are asked for again, for other work. */
  readonly dedupShare: number;
  /** Whether tasks name tenants. */
  readonly tenants: boolean;
  /** Whether workers take a permit first, of as many as there are environments but one, and start a successor when their time is over. */
  readonly chains: boolean;
  /** Tasks that are created in a user's transaction. */
  readonly orders: number;
  /** Turns in which two callers ask for one id, the first often without an answer. */
  readonly rivals: number;
  /** Durable tasks, whose code asks people. */
  readonly durables: number;
  /** Tasks that one tenant enqueues at once, while others enqueue some. */
  readonly hogTasks: number;
  /** Whether the queue lists its finished tasks. */
  readonly listing: boolean;
  /** The policy for a due run while a task of the schedule has not ended. */
  readonly overlap: OverlapPolicy;
  /** The initial stock; each commit takes one. Three more arrive with every tick; with 0, only the ones that refused code orders. */
  readonly stock: number;
  /** Shards of clients in addition to the workers' shards. */
  readonly strayShards: number;
  /** Users of one process who stay for as long as it does; 0: no process has any. */
  readonly users: number;
  /** Mean time between two acts of such a user. */
  readonly thinkMs: number;
  /** Mean time between tasks that come steadily; 0: none do. */
  readonly feedEveryMs: number;
  /** Whether those are due only later, and most are of a tenant or a line. */
  readonly feedsLater: boolean;
  /** Tasks that come at once, and what they have in common. */
  readonly floodTasks: number;
  readonly floodOf: FloodOf;
  /** Tasks that enqueue their successor when they end, for the first minute. */
  readonly relays: number;
  /** Whether keys are full during endless other work, while workers crash also when all else is well: see `workloads/full-keys.ts`. */
  readonly fullKeys: boolean;
  /** The largest limit of a burst's key. */
  readonly burstLimit: number;
  /** Whether only ticks and wakes start workers, according to due tasks, for tasks that come in bursts. */
  readonly fansOut: boolean;
  /** Shards of the table's stream, each with its own waker, if it fans out. */
  readonly streamShards: number;
  /** Duration of the faulty phase. */
  readonly faultyMs: number;
  /** How long the workload continues after the faults, watched for stalls. */
  readonly settleMs: number;
  /** How often the schedule starts workers. */
  readonly tickMs: number;
  /** A function's timeout. */
  readonly invocationMs: number;
  /**
   * Whether workers are long-lived, like a user's own process, or exit when no task is due, like a function.
   * Drawn in the world `lone`, always so in the worlds `polled` and `stays`; `--changes '{"stays":true}'` sets it in another lasting world.
   */
  readonly stays: boolean;
  /** How long a function's worker stays without tasks, and its poll interval after an idle minute; 0: as while busy. */
  readonly lingerMs: number;
  readonly idlePollMs: number;
  /** Whether processes measure their clocks against the service's. */
  readonly gauged: boolean;

  readonly ttlMs: number;
  readonly maxClockSkewMs: number;
  readonly lockDelayMs: number;

  /** Whether every pair of clocks stays within `maxClockSkewMs`, as the conditional invariants assume. */
  readonly clocksHold: boolean;
  /** Largest error of a wall clock, to either side. */
  readonly clockErrorMs: number;
  /** Mean time between steps of a wall clock, within its error; 0: none. */
  readonly clockStepEveryMs: number;
  readonly monotonicStops: boolean;
  /** How long a thawed machine shows the time of its freezing. */
  readonly staleAfterThawMs: number;

  readonly latencyMs: number;
  /** Chances per request. */
  readonly requestLost: number;
  readonly replyLost: number;
  readonly failedBefore: number;
  readonly failedAfter: number;
  readonly throttled: number;
  readonly conflict: number;
  /** Whether a transaction also refuses whatever meets it on a row: conflicts that crowds make by themselves, and no draw. */
  readonly meets: boolean;
  /** How many connections each process has; 0: as many as it has requests. */
  readonly connections: number;
  readonly late: number;
  readonly duplicate: number;
  /** How late a late request, or a duplicate, may arrive. */
  readonly latestMs: number;
  /** Mean time between partitions of one process, outages of all; 0: none. */
  readonly partitionEveryMs: number;
  readonly outageEveryMs: number;
  /** Mean time between troubles of one row alone, which all else does not have; 0: none. */
  readonly focusEveryMs: number;
  /** Mean time between spells in which one process's writes to the rows of a kind are throttled, and all others are not; 0: none. */
  readonly throttledKindEveryMs: number;

  /** How far the index, and reads that are not consistent, may be behind. */
  readonly staleMs: number;

  /** Mean time between crashes, freezes of one worker; 0: none. */
  readonly crashEveryMs: number;
  readonly freezeEveryMs: number;
  /** Freezes of all workers, which thaw together. */
  readonly herdEveryMs: number;
  /** Chance, per invocation, that it is killed, or stalled, at one of its first few hundred port calls. */
  readonly trapKill: number;
  readonly trapStall: number;
  /** Chance, per request, that its process is killed, or stalled, right after sending, and right before it hears the answer. */
  readonly boundaryKill: number;
  readonly boundaryStall: number;
  /** Chance that a tick is delivered twice. */
  readonly doubleTick: number;
  /** Whether environments start from one snapshot: the same chance, though not the same ids. */
  readonly clones: boolean;
  /** Whether time leaps beyond all retention between two halves, with every expired row swept. */
  readonly leap: boolean;
  /** Whether one process of each kind does all, and waits are judged by its own means: see `other-worlds.ts`. */
  readonly lone: boolean;
  /** Whether ticks dispatch; the platform still starts workers in environments that are idle. */
  readonly dispatches: boolean;
  /** Constants of the product that differ from the shipped ones. */
  readonly knobs: Turned;
}

const NO_FAULTS = {
  clockStepEveryMs: 0,
  monotonicStops: false,
  staleAfterThawMs: 0,
  requestLost: 0,
  replyLost: 0,
  failedBefore: 0,
  failedAfter: 0,
  throttled: 0,
  conflict: 0,
  late: 0,
  duplicate: 0,
  latestMs: 0,
  partitionEveryMs: 0,
  outageEveryMs: 0,
  focusEveryMs: 0,
  throttledKindEveryMs: 0,
  staleMs: 0,
  crashEveryMs: 0,
  freezeEveryMs: 0,
  herdEveryMs: 0,
  trapKill: 0,
  trapStall: 0,
  boundaryKill: 0,
  boundaryStall: 0,
  doubleTick: 0,
  clones: false,
} satisfies Partial<Profile>;

export const CALM: Profile = {
  environments: 3,
  concurrency: 3,
  shards: 2,
  tasks: 36,
  lockShare: 0.2,
  coordinationShare: 0.2,
  operator: false,
  forceShare: 0,
  stock: 5,
  payloadShare: 0,
  bucket: false,
  dedupShare: 0,
  tenants: false,
  chains: false,
  orders: 0,
  rivals: 0,
  durables: 0,
  hogTasks: 0,
  listing: false,
  overlap: 'queue',
  strayShards: 0,
  users: 0,
  thinkMs: 0,
  feedEveryMs: 0,
  feedsLater: false,
  floodTasks: 0,
  floodOf: 'nothing',
  relays: 0,
  fullKeys: false,
  burstLimit: 2,
  fansOut: false,
  streamShards: 1,
  faultyMs: 60_000,
  settleMs: 0,
  tickMs: 3_000,
  invocationMs: 20_000,
  stays: false,
  lingerMs: 0,
  idlePollMs: 0,
  gauged: false,
  ttlMs: 3_000,
  maxClockSkewMs: 400,
  lockDelayMs: 1_000,
  clocksHold: true,
  clockErrorMs: 0,
  latencyMs: 8,
  leap: false,
  lone: false,
  meets: false,
  connections: 0,
  dispatches: true,
  knobs: {},
  ...NO_FAULTS,
};

/** Faults that can be switched on, each with how hard it is drawn. */
export type Switch = (prng: Prng, profile: Profile) => Partial<Profile>;

/**
 * Special worlds: workers and sessions that live for an hour, long-lived workers with a backlog and tasks that enqueue their successors,
 * ten minutes with one row after the other in trouble, many tasks, many that cannot run, bursts for which workers are started, and full
 * keys beside endless other work.
 */
export const LASTING = ['hour', 'stays', 'row', 'backlog', 'flood', 'fanout', 'keys'] as const;
export type LastingName = (typeof LASTING)[number];

export function isLasting(name: ProfileName): name is LastingName {
  return LASTING.some((lasting) => lasting === name);
}

export type FaultGroup = 'network' | 'processes' | 'clocks' | 'store';
/** Worlds that differ from the swarm by more than their faults: see `other-worlds.ts`. */
export type OtherWorld = 'knobs' | 'lone' | 'polled' | 'shipped';
/** `mix` draws one of the other worlds for a part of its seeds, and the swarm for the rest. */
export type ProfileName = 'mix' | 'swarm' | 'calm' | FaultGroup | OtherWorld | LastingName;
export const PROFILE_NAMES: readonly ProfileName[] = [
  ...([
    'mix',
    'swarm',
    'calm',
    'network',
    'processes',
    'clocks',
    'store',
    'knobs',
    'lone',
    'polled',
    'shipped',
  ] as const),
  ...LASTING,
];

/** Returns the same profile without its faults, for the healed phase. Processes that have used locks help with the tasks. */
export function calmed(profile: Profile): Profile {
  return {
    ...profile,
    ...NO_FAULTS,
    operator: false,
    forceShare: 0,
    lockShare: 0,
    coordinationShare: 0,
    rivals: 0,
  };
}

/** Names of the settings that differ from a calm profile of the same size. */
export function faultsOf(profile: Profile): (keyof Profile)[] {
  const calm = calmed(profile);
  const names = Object.keys(profile) as (keyof Profile)[];
  const kept = new Set<keyof Profile>(['clockErrorMs', 'leap', 'meets', 'connections']);
  const notFaults = new Set<keyof Profile>(['lockShare', 'coordinationShare', 'operator', 'forceShare', 'rivals']);
  return names.filter(
    (name) =>
      (!notFaults.has(name) && profile[name] !== calm[name]) || (kept.has(name) && profile[name] !== CALM[name]),
  );
}

/** What to change so that a profile has one fault less. */
export function without(fault: keyof Profile): Partial<Profile> {
  // Clocks that are right keep within any bound.
  if (fault === 'clockErrorMs') return { clockErrorMs: 0, clockStepEveryMs: 0, clocksHold: true };
  return { [fault]: CALM[fault] };
}
