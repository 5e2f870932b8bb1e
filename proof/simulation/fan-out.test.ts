/** A plan that starts too few workers or too many is noticed, and so is a task that waits while they are missing. */
import { expect, test } from 'vitest';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { Planned } from '../../shared/tasks/dispatch/planning.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import { FanOut } from './fan-out.ts';
import type { Applied } from './history.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import { drawProfile } from './draw-profile.ts';
import { SAMPLE_EVERY_MS } from './bounds.ts';

type Rows = Readonly<Record<string, DynamoItem>>;

const PROFILE = { ...drawProfile(new Prng(1n), 'calm'), clockErrorMs: 0, tickMs: 20_000, ttlMs: 6_000 };
const SETTINGS = { maxWorkers: 4, concurrency: 2, startWithinMs: 2_000 };
/** `startWithin`, a tick, two starts and a sample. */
const BOUND_S = 30;
const PERMITS = 'permits#jobs';
const DUE = { queue: 'jobs', name: 'quick', state: 'ready', readyAt: EPOCH_MS, readyKey: 'x', leaseCounter: 1 };
const PLANNED: Planned = {
  due: 0,
  late: 0,
  tookMs: undefined,
  startWithinMs: SETTINGS.startWithinMs,
  wanted: 0,
  live: 0,
  starting: 0,
  missing: 0,
  why: 'tookUnknown',
};

const dueTasks = (count: number, more: DynamoItem = {}): Rows =>
  Object.fromEntries(
    Array.from({ length: count }, (_, nth) => [`task#jobs#${nth}`, { ...DUE, id: `${nth}`, ...more }]),
  );

function open(rows: Rows) {
  const time = { now: 0 };
  const found: string[] = [];
  const fanOut = new FanOut(PROFILE, SETTINGS, {
    rows: () => new Map(Object.entries(rows)),
    now: () => time.now,
    report: (rule) => void found.push(rule),
    measure: () => undefined,
  });
  // These rows were written earlier.
  for (const [row, after] of Object.entries(rows)) fanOut.on({ row, at: -1, after } as Applied);
  fanOut.judges(true);
  /** @param during what is written while the plan is made */
  const plan = (by: string, started: number, { live = 0, during = [] as readonly string[] } = {}): void => {
    const underWay = fanOut.begin(by);
    for (const row of during) fanOut.on({ row, at: time.now } as Applied);
    underWay.made({ planned: { ...PLANNED, live }, started });
  };
  const wait = (seconds: number): void => {
    for (const end = time.now + seconds * 1_000; time.now < end; time.now += SAMPLE_EVERY_MS) fanOut.sample();
  };
  return { fanOut, time, found, plan, wait };
}

/** All workers that there may be, each with so many tasks. */
const workers = (tasksOfEach: number): Rows => {
  const sessions = Array.from({ length: SETTINGS.maxWorkers }, (_, nth) => `s${nth}`);
  const tasks = sessions.flatMap((session) =>
    Array.from({ length: tasksOfEach }, (_, nth) => [
      `task#jobs#${session}-${nth}`,
      { ...DUE, state: 'running', session },
    ]),
  );
  const live = { name: 'worker', status: 'live', expiresAt: EPOCH_MS + 1e9 };
  return {
    ...(Object.fromEntries(tasks) as Rows),
    ...(Object.fromEntries(sessions.map((id) => [`session#${id}`, { ...live, id }])) as Rows),
    [PERMITS]: { limit: 4, holders: Object.fromEntries(sessions.map((session) => [`${session}/1`, 1])) },
  };
};

test.each([
  ['beside none', 3, 0],
  ['beside some', 1, 2],
])('W1 notices a tick that starts too few workers %s', (_what, started, live) => {
  const few = open(dueTasks(8));
  few.plan('dispatcher', started, { live });
  const enough = open(dueTasks(8));
  enough.plan('dispatcher', started + 1, { live });

  expect(few.found).toEqual(['W1']);
  expect(enough.found).toEqual([]);
});

test('W1 accuses no waker, and no plan that could not see the tasks', () => {
  const { plan, found, fanOut } = open(dueTasks(8));

  plan('waker', 1);
  plan('dispatcher', 1, { during: Object.keys(dueTasks(6)) });
  plan('dispatcher', 1, { during: [PERMITS] });
  fanOut.judges(false);
  plan('dispatcher', 1);

  expect(found).toEqual([]);
});

test.each([
  ['there is no worker', {}],
  ['a worker has a free place', workers(1)],
])('W2 notices a due task that waits while %s', (_what, rows) => {
  const { wait, found } = open({ ...dueTasks(1), ...rows });

  wait(BOUND_S - SAMPLE_EVERY_MS / 1_000);
  wait(BOUND_S);

  expect(found).toContain('W2');
});

test.each([
  ['while all workers that there may be are busy', { ...dueTasks(1), ...workers(2) }],
  ['while its queue is paused', { ...dueTasks(1), 'queue#jobs': { paused: true } }],
  ['in the line of its key', dueTasks(1, { line: 'k', ticket: 2 })],
  ['until it is due', dueTasks(1, { readyAt: EPOCH_MS + 1e9 })],
])('W2 lets a task wait %s', (_what, rows) => {
  const { wait, found } = open(rows);

  wait(10 * BOUND_S);

  expect(found).toEqual([]);
});

test('W2 notices a due task that waits for more than two heartbeats while the same worker is free', () => {
  const { wait, found } = open({ ...dueTasks(1), ...workers(1) });

  wait((2 * PROFILE.ttlMs) / 3_000);
  expect(found).toEqual([]);
  wait(2 * (SAMPLE_EVERY_MS / 1_000));

  expect(found).toContain('W2');
});

test('W2 lets a task wait for a tick while a crashed worker has a permit', () => {
  const dead = { id: 's0', name: 'worker', status: 'live', expiresAt: EPOCH_MS - 60_000 };
  const { wait, found } = open({
    ...dueTasks(1),
    'session#s0': dead,
    [PERMITS]: { limit: 4, holders: { 's0/1': 1 } },
  });

  wait(20);
  expect(found).toEqual([]);
  wait(BOUND_S);

  expect(found).toContain('W2');
});

test('W2 lets a task wait for a tick and for the start of a worker', () => {
  const { wait, found } = open(dueTasks(1));

  wait(20);

  expect(found).toEqual([]);
});

test.each(['dispatcher', 'waker'])('W3 notices a %s that starts more workers than the tasks need', (by) => {
  const { plan, found } = open(dueTasks(4));

  plan(by, 2);
  expect(found).toEqual([]);
  plan(`another ${by}`, 3);

  expect(found).toEqual(['W3']);
});

test('W3 notices a waker that starts once more what it has just started', () => {
  const { plan, found, time } = open(dueTasks(4));

  plan('waker', 2);
  time.now += 500;
  plan('waker', 2);
  expect(found).toEqual(['W3']);
  time.now += 5_000;
  plan('waker', 2);

  expect(found).toEqual(['W3']);
});

test('W3 notices a waker that starts once more what the waker of another shard has just started', () => {
  const { plan, found, time } = open(dueTasks(4));

  plan('waker.1', 2);
  time.now += 500;
  plan('waker.2', 1);

  expect(found).toEqual(['W3']);
});

test('W3 notices workers for tasks that their full key holds back', () => {
  const { plan, found } = open(dueTasks(8, { key: { key: 'k', limit: 2 } }));

  plan('waker', 1);
  expect(found).toEqual([]);
  plan('another waker', 2);

  expect(found).toEqual(['W3']);
});

test('W3 accuses no plan for tasks that have ended while it was made', () => {
  const { plan, found } = open(dueTasks(2));

  plan('waker', 2, { during: ['task#jobs#ended-1', 'task#jobs#ended-2'] });

  expect(found).toEqual([]);
});
