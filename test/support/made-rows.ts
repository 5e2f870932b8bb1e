/** Rows of every kind, around one moment, for what commands print and the console shows about them. */
import type { SemaphoreState } from '../../shared/coordination/semaphore/state.ts';
import type { LockInfo } from '../../shared/coordination/lock/lock-record.ts';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import type { ScheduleRecord } from '../../shared/tasks/schedule/schedule.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import type { ReadyTask, TaskRecord } from '../../shared/tasks/task/task.ts';

export const STARTED = '2026-11-27T12:00:00Z';
export const NOW = Date.parse(STARTED);
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const ago = (ms: number): number => NOW - ms;

const lock = (key: string, facts: Partial<LockInfo>): LockInfo => ({
  key,
  value: undefined,
  createdAt: ago(3 * DAY),
  leaseCounter: 41,
  modifyIndex: 44,
  holder: undefined,
  closedUntil: 0,
  lastForced: undefined,
  ...facts,
});

const holder = (until: number | null) => ({
  session: 'session-1',
  leaseCounter: 42,
  name: 'nightly\u001b job',
  node: 'host-1',
  since: ago(90 * SECOND),
  until,
});

export const LOCKS: readonly LockInfo[] = [
  lock('held', { leaseCounter: 42, holder: holder(NOW + 20 * SECOND), value: 'half done' }),
  lock('held/for-ever', { leaseCounter: 42, holder: holder(null) }),
  lock('closed', { closedUntil: NOW + 12 * SECOND }),
  lock('open-now', { closedUntil: NOW }),
  lock('never-locked', { leaseCounter: 0, value: 'v'.repeat(201) }),
  lock(`released/${'k'.repeat(48)}`, {
    lastForced: { by: 'ann', reason: 'it hung', at: ago(2 * HOUR), session: 'session-0', leaseCounter: 40 },
  }),
];

export const session = (id: string, facts: Partial<SessionRecord>): SessionRecord =>
  ({
    id,
    name: 'worker/default',
    node: 'host-1',
    status: 'live',
    ttlMs: 30 * SECOND,
    lockDelayMs: 15 * SECOND,
    behaviour: 'release',
    createdAt: ago(5 * HOUR),
    expiresAt: NOW + 20 * SECOND,
    renewals: 7,
    nonce: 'n',
    revoked: [],
    ...facts,
  }) as SessionRecord;

/** A moment ago, while its holder may trust it. */
export const DESTROYED = session('live', { status: 'invalid', reason: 'destroyed', invalidatedAt: NOW });

export const SESSIONS: readonly SessionRecord[] = [
  session('live', { revoked: ['lock 41 a', 'lock 42 b'] }),
  session('lasting', { ttlMs: null, expiresAt: null, behaviour: 'delete', lockDelayMs: 0 }),
  session('in-doubt', { expiresAt: ago(999) }),
  session('expired', { expiresAt: ago(SECOND) }),
  session('from-the-future', { expiresAt: NOW + HOUR }),
  session('gone', { name: 'worker/media', status: 'invalid', reason: 'destroyed', invalidatedAt: ago(MINUTE) }),
];

const permit = (token: number, facts: object) => ({
  session: `session-${token}`,
  since: ago(token * SECOND),
  permits: 1,
  token,
  name: 'uploader',
  sessionName: 'uploader',
  node: 'host-1',
  until: null,
  standing: 'live' as const,
  ...facts,
});

export const SEMAPHORES = [
  {
    name: 'uploads',
    limit: 3,
    declared: 5,
    inUse: 3,
    live: 2,
    holders: [
      permit(1, { permits: 2 }),
      permit(2, { closedUntil: NOW + SECOND }),
      permit(3, { standing: 'expired', sessionName: undefined, node: undefined }),
    ],
    waiting: [{}, {}],
    lastEviction: { by: 'ann', reason: 'stuck', at: ago(HOUR) },
  },
  { name: 'idle', limit: 1, declared: 1, inUse: 0, live: 0, holders: [], waiting: [], lastEviction: undefined },
] as unknown as readonly SemaphoreState[];

export const task = (id: string, facts: Partial<TaskRecord> | object): TaskRecord =>
  ({
    queue: 'default',
    id,
    runId: id,
    name: 'resize',
    input: { key: 'a.png' },
    priority: 'normal',
    createdAt: ago(HOUR),
    attempts: 0,
    deaths: 0,
    handBacks: 0,
    leaseCounter: 5,
    generation: 0,
    nonce: 'n',
    past: [],
    state: 'ready',
    readyAt: ago(30 * SECOND),
    isHeld: false,
    isInGroup: false,
    ...facts,
  }) as unknown as TaskRecord;

const running = { state: 'running', attempts: 3, claimedAt: ago(4 * SECOND), readyAt: ago(MINUTE) };
const failed = { name: 'TypeError', message: 'x is \u0007 undefined', at: ago(3 * MINUTE) };
const past = (how: string, facts: object) => ({
  leaseCounter: 3,
  session: 'earlier',
  claimedAt: ago(6 * MINUTE),
  endedAt: ago(5 * MINUTE),
  how,
  error: undefined,
  ...facts,
});

export const UNFINISHED: readonly TaskRecord[] = [
  task('plain', { tenant: 'ada', children: undefined }),
  task('due-now', { readyAt: NOW }),
  task('later', {
    readyAt: NOW + 1,
    priority: 'low',
    expiresAt: NOW + HOUR,
    policy: { maxAttempts: 1, timeoutMs: 90 * SECOND },
    schedule: { name: 'nightly', at: ago(HOUR), since: undefined },
  }),
  task('parent', { readyAt: NEVER, children: { queue: 'default', id: 'parent/children' } }),
  task('keyed', { isInGroup: true, links: { concurrency: { key: 'customer-7', limit: 2, rate: undefined } } }),
  task('rated', {
    isInGroup: true,
    priority: 'high',
    links: { concurrency: { key: 'customer-8', limit: 1, rate: { count: 5, perMs: MINUTE } } },
  }),
  task('held', { isInLine: true, links: { line: { key: 'in-order', ticket: 4 } } }),
  task('expired', { expiresAt: NOW }),
  task('fine', { name: 'fine' }),
  task('busy', {
    ...running,
    session: 'live',
    deaths: 1,
    generation: 1,
    progress: { page: 4 },
    lastError: failed,
    failingSince: ago(10 * MINUTE),
    past: [
      past('failed', { error: `TypeError: ${'e'.repeat(60)}` }),
      past('released', { claimedAt: undefined, leaseCounter: 4 }),
    ],
    follower: { name: 'publish', at: ago(MINUTE), runAt: NOW + MINUTE },
    schedule: { name: 'nightly', at: ago(HOUR), since: ago(DAY) },
  }),
  task('orphan', {
    ...running,
    session: 'expired',
    generation: 2,
    policy: { maxAttempts: 2 },
    follower: { name: 'publish', at: ago(MINUTE), runAt: NOW },
    cancellation: { at: ago(SECOND), reason: 'no longer wanted' },
  }),
];

function over(id: string, facts: object): TaskRecord {
  const { readyAt: _due, ...rest } = task(id, facts) as ReadyTask;
  return rest as unknown as TaskRecord;
}

export const ENDED: readonly TaskRecord[] = [
  over('done', { state: 'done', attempts: 1, session: 's', finishedAt: ago(10 * SECOND), result: { bytes: 7 } }),
  over('done-silently', { state: 'done', attempts: 1, session: 's', finishedAt: ago(9 * SECOND) }),
  over('dead', {
    state: 'dead',
    attempts: 5,
    finishedAt: ago(2 * MINUTE),
    claimedAt: ago(4 * MINUTE),
    lastError: failed,
    policy: { timeoutMs: MINUTE },
  }),
  over('cancelled', {
    state: 'cancelled',
    finishedAt: ago(MINUTE),
    cancellation: { at: ago(MINUTE), reason: 'by mistake' },
  }),
];

export const schedule = (name: string, facts: Partial<ScheduleRecord>): ScheduleRecord =>
  ({
    queue: 'default',
    name,
    task: 'report',
    input: null,
    options: {},
    cron: '0 3 * * *',
    zone: 'UTC',
    missed: 'last',
    overlap: 'queue',
    toleranceMs: HOUR,
    startAt: undefined,
    endAt: undefined,
    jitterMs: 0,
    definedAt: ago(DAY),
    nextAt: NOW + 15 * HOUR,
    lastAt: undefined,
    pausedAt: undefined,
    leftOut: [],
    nonce: 'n',
    ...facts,
  }) as unknown as ScheduleRecord;

export const SCHEDULES: readonly ScheduleRecord[] = [
  schedule('nightly', { zone: 'Europe/Berlin', missed: 'skip', overlap: 'allow', options: { priority: 'high' } }),
  schedule('over', { nextAt: Infinity }),
  schedule('paused', {
    nextAt: Infinity,
    pausedAt: ago(HOUR),
    task: 't'.repeat(33),
    cron: `${'1,'.repeat(12)}2 * * * *`,
  }),
];

/** As deployed workers and a dispatcher have left it. */
export const QUEUE_RECORD = {
  isPaused: true,
  reason: 'a drill',
  shards: 3,
  tookMs: 1_500,
  announcedNames: ['resize', 'publish'],
};
