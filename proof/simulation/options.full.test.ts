/** Each option of a task, schedule, session, lock and permit is varied by the default mix, or has a reason. */
import { expect, test } from 'vitest';
import type { SessionSettings } from '../../shared/client/leasehold.ts';
import type { KEPT_OPTIONS } from '../../shared/dynamo/engine/schema.ts';
import type { LockOptions } from '../../shared/coordination/lock/lock.ts';
import type { PermitWaitOptions } from '../../shared/coordination/semaphore/acquire.ts';
import type { ScheduleOptions } from '../../shared/tasks/schedule/declaration.ts';
import type { EnqueueOptions } from '../../shared/tasks/task/task-request.ts';
import { runSeed } from './run-seed.ts';

/** The attribute of a row that shows the option, or why no world varies it. */
type Options<Name extends string> = Readonly<Record<Name, { readonly row: string } | string>>;

/** No statement depends on an option that a task only keeps. */
type Kept = (typeof KEPT_OPTIONS)[number];

const task = (attribute: string): { readonly row: string } => ({ row: `task.${attribute}` });
const session = (attribute: string): { readonly row: string } => ({ row: `session.${attribute}` });
const ONE_SCHEDULE = 'there is one schedule; its times are judged in test/unit/tasks/schedule';
const BY_NAME = 'rules know the limits of a task by its name; test/conformance/task has the override';

const OPTIONS = {
  enqueue: {
    id: task('pk'),
    queue: 'one queue, because a worker reads no other',
    priority: task('priority'),
    key: task('key'),
    limit: task('key'),
    rate: task('key'),
    ordered: task('line'),
    tenant: task('tenant'),
    expires: task('expiresAt'),
    maxAttempts: BY_NAME,
    timeout: BY_NAME,
    delay: task('readyAt'),
    onDuplicate: task('follower'),
    window: task('generation'),
    maxWait: 'test/conformance/task/identity.test.ts: it moves the due time, which is varied',
  } satisfies Options<Exclude<keyof EnqueueOptions, Kept>>,
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
    codeVersion: 'a text for people, as node is',
    events: 'no statement depends on them',
  } satisfies Options<keyof SessionSettings>,
  lock: {
    value: { row: 'lock.value' },
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
  for (const seed of [1n, 2n, 3n, 4n, 5n, 10n, 16n]) {
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
