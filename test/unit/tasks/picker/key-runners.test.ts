/** The look for running tasks among the tasks of a full key, whose workers may have crashed. */
import { beforeEach, describe, expect, test } from 'vitest';
import { KeyRunners } from '../../../../shared/tasks/picker/key-runners.ts';
import { HELD_RECHECK_MS, SCAN_ENTRIES } from '../../../../shared/tasks/picker/tuning.ts';
import type { GroupEntry } from '../../../../shared/tasks/task/task-store.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';

const HEARTBEAT_MS = 1_000;
const LIMIT = { key: 'k', limit: 3, rate: undefined };
const END = { end: 'k~' };
const entry = (n: number): GroupEntry => ({
  hint: { queue: 'q', id: `t${n}`, readyAt: n, tenant: undefined, limit: LIMIT },
  place: `k${String(n).padStart(4, '0')}`,
  end: 'k~',
  tenantEnd: 'k~',
});
const running = (id: string, session = 'live') => ({ queue: 'q', id, session, state: 'running' }) as RunningTask;

let clock: FakeClock;
let runners: KeyRunners;
let held: Set<string>;

beforeEach(() => {
  clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
  held = new Set();
  runners = new KeyRunners(clock, HEARTBEAT_MS, ({ id }) => !held.has(id));
});

/** Entries to read now, if the group has so many. */
const look = (tried = 0) => runners.look('normal 0', END, LIMIT, tried);
const see = (runningNow: number, enteredAt = clock.now()) => {
  runners.see('k', { running: runningNow, enteredAt });
};
const pass = (from: number, count: number) => {
  const one = look();
  return Array.from({ length: count }, (_, n) => one.pass(entry(from + n)));
};

describe('the look among the tasks of a full key', () => {
  test('skips the tasks of a key of which nothing was seen', () => {
    expect(look().left).toBe(0);
  });

  test('begins with as many tasks as the limit', () => {
    see(3);

    expect(look().left).toBe(LIMIT.limit);
  });

  test('spares a key of one slot whose task has just started', async () => {
    see(1);
    expect(look().left).toBe(0);

    await clock.advance(HEARTBEAT_MS);
    expect(look().left).toBe(LIMIT.limit + SCAN_ENTRIES);
  });

  test('goes on where it ended, and deeper the longer the key stands still', async () => {
    see(3);
    pass(0, 3);
    expect(look().left).toBe(0);

    await clock.advance(2 * HEARTBEAT_MS);

    expect(look()).toMatchObject({ left: 2 * SCAN_ENTRIES, from: entry(2).place });
  });

  test('passes a task that need not be read', () => {
    see(3);
    held.add('t1');

    expect(pass(0, 3)).toEqual([true, false, true]);
  });

  test.each([
    ['its running tasks are known', 3, 0],
    ['this worker runs the others', 1, 2],
  ])('ends when %s', async (_when, known, tried) => {
    see(3);
    await clock.advance(HEARTBEAT_MS);
    for (let n = 0; n < known; n++) runners.know('k', running(`t${n}`));

    expect(look(tried).left).toBe(0);
    expect(look(tried - 1).left).toBeGreaterThan(0);
  });

  test('is repeated after its end when the key has stood still for twice as long', async () => {
    see(3);
    await clock.advance(2 * HEARTBEAT_MS);
    pass(0, 5);
    look().end();

    await clock.advance(2 * HEARTBEAT_MS - 1);
    expect(look()).toMatchObject({ left: 0, from: undefined });
    await clock.advance(1);
    expect(look().left).toBe(LIMIT.limit + 4 * SCAN_ENTRIES);
  });

  test('is repeated a heartbeat later if it missed a task that was not to be read then', async () => {
    see(1);
    await clock.advance(60 * HEARTBEAT_MS);
    held.add('t1');
    pass(0, 3);
    look().end();
    held.clear();

    await clock.advance(HEARTBEAT_MS);

    expect(look()).toMatchObject({ left: LIMIT.limit + 61 * SCAN_ENTRIES, from: undefined });
  });

  test('goes on if the clock of the worker that started the latest task is ahead', async () => {
    see(1, clock.now() + 3_600_000);
    await clock.advance(HEARTBEAT_MS);

    expect(look().left).toBe(LIMIT.limit + SCAN_ENTRIES);
  });

  test('starts over, and forgets the running tasks, when a task starts or ends', async () => {
    see(3);
    pass(0, 3);
    for (let n = 0; n < 3; n++) runners.know('k', running(`t${n}`));
    await clock.advance(HEARTBEAT_MS);

    see(3, clock.now());
    expect(runners.due).toEqual([]);
    expect(look()).toMatchObject({ left: LIMIT.limit, from: undefined });
  });

  test('keeps what it knows if the row is the same', () => {
    see(3);
    for (let n = 0; n < 3; n++) runners.know('k', running(`t${n}`));

    see(3);

    expect(runners.due).toHaveLength(3);
  });
});

describe('the running tasks of full keys', () => {
  test('are those of keys that were seen full, unless they need not be read', () => {
    see(2);
    for (const id of ['t0', 't1']) runners.know('k', running(id));
    runners.know('other', running('t9'));
    held.add('t1');

    expect(runners.due.map(({ task: { id } }) => id)).toEqual(['t0']);
  });

  test('are confirmed by a second read some time later, under the same session', async () => {
    see(1);
    const isConfirmed = () => runners.due.map((one) => one.isConfirmed);
    runners.know('k', running('t0'));
    await clock.advance(HELD_RECHECK_MS - 1);
    runners.know('k', running('t0'));
    expect(isConfirmed()).toEqual([false]);

    await clock.advance(1);
    runners.know('k', running('t0'));
    expect(isConfirmed()).toEqual([true]);

    runners.know('k', running('t0', 'another'));
    expect(isConfirmed()).toEqual([false]);
  });

  test('are looked for again when one of them has ended', async () => {
    see(1);
    await clock.advance(HEARTBEAT_MS);
    runners.know('k', running('t0'));
    expect(look().left).toBe(0);

    runners.forgetOne('k', { queue: 'q', id: 't0' });

    expect(runners.due).toEqual([]);
    expect(look().left).toBeGreaterThan(0);
  });

  test('are looked for from the first task again, because tasks were passed while all running ones were known', () => {
    see(2);
    for (const id of ['t0', 't1']) runners.know('k', running(id));
    expect([runners.areKnown('k', 0), runners.areKnown('other', 0)]).toEqual([true, false]);
    const one = look();
    see(3);
    pass(0, 3);
    runners.know('k', running('t0'));
    expect(look().from).toBeDefined();

    runners.forgetOne('k', { queue: 'q', id: 't0' });

    expect(look().from).toBeUndefined();
    expect(one.left).toBe(0);
  });
});
