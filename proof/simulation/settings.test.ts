/** Each setting of a worker, of a client, of the functions, and each option of a task is varied by the default mix, or has a reason. */
import { expect, test } from 'vitest';
import type { ENV } from '../../functions/env.ts';
import type { LeaseholdOptions, SessionSettings } from '../../shared/client/leasehold.ts';
import type { LockOptions } from '../../shared/coordination/lock/lock.ts';
import type { PermitWaitOptions } from '../../shared/coordination/semaphore/acquire.ts';
import type { ScheduleOptions } from '../../shared/tasks/schedule/declaration.ts';
import type { EnqueueOptions } from '../../shared/tasks/task/task-request.ts';
import type { WorkerSettings } from '../../shared/tasks/worker/run-worker.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import type { Profile } from './profile.ts';
import { profileOf, runSeed } from './run-seed.ts';

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
  hasDispatcher: ['stays'],
  graceMs: ['invocationMs'],
  deadlineMonotonicMs: ['invocationMs'],
  startWithinMs: 'planning hints alone depend on it, and W1 to W3 judge them at two seconds',
  ttlMs: ['ttlMs'],
  heartbeatMs: ['ttlMs'],
  holderMarginMs: ['ttlMs'],
  lockDelayMs: ['lockDelayMs'],
  maxClockSkewMs: ['maxClockSkewMs'],
} as const satisfies Settings<keyof WorkerSettings | keyof SessionTiming>;

const NOT_IN_A_WORLD = 'where requests go: a world has one table, and no network of its own';

const CLIENT = {
  table: NOT_IN_A_WORLD,
  endpoint: NOT_IN_A_WORLD,
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

/** The attribute of a row that shows the option, or why no world varies it. */
type Options<Name extends string> = Readonly<Record<Name, { readonly row: string } | string>>;

const task = (attribute: string): { readonly row: string } => ({ row: `task.${attribute}` });
const session = (attribute: string): { readonly row: string } => ({ row: `session.${attribute}` });
const ONE_SCHEDULE = 'there is one schedule; its times are judged in test/unit/tasks/schedule';
const BY_NAME = 'rules know the limits of a task by its name; test/conformance/task has the override';

const OPTIONS = {
  enqueue: {
    id: task('id'),
    queue: 'one queue, because a worker reads no other',
    priority: task('priority'),
    key: task('key'),
    limit: task('key'),
    rate: task('key'),
    ordered: task('line'),
    tenant: task('tenant'),
    expiresIn: task('expiresAt'),
    expiresAt: 'stored like expiresIn',
    maxAttempts: BY_NAME,
    timeout: BY_NAME,
    runAt: 'stored like delay',
    delay: task('readyAt'),
    traceparent: 'no statement reads it',
    onDuplicate: task('follower'),
    window: task('generation'),
  } satisfies Options<keyof EnqueueOptions>,
  schedule: {
    cron: ONE_SCHEDULE,
    zone: ONE_SCHEDULE,
    tolerance: ONE_SCHEDULE,
    startAt: ONE_SCHEDULE,
    endAt: ONE_SCHEDULE,
    jitter: ONE_SCHEDULE,
    missed: { row: 'schedule.missed' },
    overlap: { row: 'schedule.overlap' },
  } satisfies Options<Exclude<keyof ScheduleOptions, keyof EnqueueOptions>>,
  session: {
    ttl: session('ttlMs'),
    heartbeat: 'a part of the TTL, which is varied',
    lockDelay: session('lockDelayMs'),
    behavior: session('behaviour'),
    name: session('name'),
    node: session('node'),
    checks: 'placements have them: a world has no node that fails',
    events: 'no statement depends on them',
  } satisfies Options<keyof SessionSettings>,
  lock: {
    value: { row: 'lock.value' },
    flags: 'a number beside the value',
    reentrant: 'no statement depends on it: the lock of this session is shared in its process',
    listed: 'test/conformance/lock-listing.test.ts has both',
  } satisfies Options<keyof LockOptions>,
  permit: {
    limit: { row: 'semaphore.limit' },
    permits: { row: 'semaphore.free' },
    fair: { row: 'semaphore.waiting' },
    wait: 'drawn for each call, and it leaves no attribute',
    pause: 'no statement depends on it',
    signal: 'no statement depends on it',
  } satisfies Options<keyof PermitWaitOptions>,
};

const SHOWN = Object.values(OPTIONS).flatMap((options) =>
  Object.entries<{ readonly row: string } | string>(options).flatMap(([option, by]) =>
    typeof by === 'string' ? [] : ([[option, by.row]] as const),
  ),
);

test('histories of the mix write each option of a task, session, lock and permit in more than one way', async () => {
  const values = new Map<string, Set<string>>();
  for (const seed of [1n, 2n, 3n, 4n, 5n, 10n]) {
    const { history } = await runSeed(seed, 'swarm', { keepHistory: true });
    for (const event of history)
      if (event.kind === 'applied' && event.after !== undefined)
        for (const [, row] of SHOWN) {
          const [kind = '', attribute = ''] = row.split('.');
          if (!event.row.startsWith(`${kind}#`)) continue;
          values.set(row, (values.get(row) ?? new Set()).add(JSON.stringify([event.after[attribute]])));
        }
  }

  expect(SHOWN.filter(([, row]) => (values.get(row)?.size ?? 0) < 2)).toEqual([]);
});
