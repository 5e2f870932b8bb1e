/** Each setting of workers, clients and functions is varied by the default mix, or has a reason; for options see `options.full.test.ts`. */
import { expect, test } from 'vitest';
import type { ENV } from '../../functions/env.ts';
import type { LeaseholdOptions } from '../../shared/client/leasehold.ts';
import type { WorkerSettings } from '../../shared/tasks/worker/run-worker.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import type { Profile } from './profile.ts';
import { profileOf } from './run-seed.ts';

type Settings<Name extends string> = Readonly<Record<Name, string | readonly (keyof Profile)[]>>;

/** The part of the profile that varies it, or why nothing must. The compiler asks for a new setting. */
const WORKER = {
  queue: 'one queue, because a worker reads no other',
  shards: ['shards'],
  homeShards: ['shards'],
  slice: ['fansOut'],
  named: ['fansOut'],
  concurrency: ['concurrency'],
  pollMs: ['stays'],
  idlePollMs: ['idlePollMs'],
  lingerMs: ['lingerMs'],
  stays: ['fansOut'],
  shortWaitMs: 'the waits of durable tasks are shorter, or longer than a history',
  hasDispatcher: ['stays'],
  graceMs: ['invocationMs'],
  deadlineMonotonicMs: ['invocationMs'],
  startWithinMs: 'planning hints alone depend on it, and W1 to W3 judge them at two seconds',
  ttlMs: ['ttlMs'],
  heartbeatMs: ['ttlMs'],
  holderMarginMs: ['ttlMs'],
  lockDelayMs: ['lockDelayMs'],
  maxClockSkewMs: ['maxClockSkewMs'],
  logEnds: 'a log writes no row',
} as const satisfies Settings<keyof WorkerSettings | keyof SessionTiming>;

const NOT_IN_A_WORLD = 'where requests go: a world has one table, and no network of its own';

const CLIENT = {
  table: NOT_IN_A_WORLD,
  endpoint: NOT_IN_A_WORLD,
  allowHttp: NOT_IN_A_WORLD,
  region: NOT_IN_A_WORLD,
  client: NOT_IN_A_WORLD,
  clientConfig: NOT_IN_A_WORLD,
  observer: 'it only counts',
  queue: 'one queue, because a worker reads no other',
  shards: ['strayShards'],
  maxClockSkew: ['maxClockSkewMs'],
  payloads: ['bucket'],
} as const satisfies Settings<keyof LeaseholdOptions>;

const FUNCTIONS = {
  table: NOT_IN_A_WORLD,
  endpoint: NOT_IN_A_WORLD,
  workerFunction: NOT_IN_A_WORLD,
  queue: 'one queue, because a worker reads no other',
  wakeQueues: 'one queue; W1 to W3 judge its waker',
  maxWorkers: ['environments'],
  startWithinMs: 'W1 to W3 judge it at two seconds',
  concurrency: ['concurrency'],
  shards: ['shards'],
  sessionTtlMs: ['ttlMs'],
  heartbeatMs: ['ttlMs'],
  lockDelayMs: ['lockDelayMs'],
  maxClockSkewMs: ['maxClockSkewMs'],
  deadlineMarginMs: ['invocationMs'],
  lingerMs: ['lingerMs'],
  schedules: ['overlap'],
  continuation: ['chains'],
  attemptSpans: 'spans write no row',
  timedNames: 'metrics write no row',
  logEnds: 'a log writes no row',
  codeVersion: 'a text for people',
  listFinished: ['listing'],
} as const satisfies Settings<keyof typeof ENV>;

/** Only the lasting world `fanout` starts workers for bursts. */
const WORLDS = ['mix', 'fanout'] as const;

const VARIED = Object.entries({ worker: WORKER, client: CLIENT, functions: FUNCTIONS }).flatMap(([whose, settings]) =>
  Object.entries<Settings<string>[string]>(settings).flatMap(([name, by]) =>
    typeof by === 'string' ? [] : ([[`${name} of the ${whose}`, by]] as const),
  ),
);

test.each(VARIED)('%s is varied', (_setting, by) => {
  const profiles = WORLDS.flatMap((world) => Array.from({ length: 100 }, (_, seed) => profileOf(BigInt(seed), world)));

  for (const name of by) expect(new Set(profiles.map((profile) => profile[name])).size).toBeGreaterThan(1);
});

test('the skew gauge is varied', () => {
  const drawn = Array.from({ length: 100 }, (_, seed) => profileOf(BigInt(seed), 'mix').gauged);

  expect(new Set(drawn)).toEqual(new Set([true, false]));
});
