/**
 * Reads and cancellations of an item, for each state of its pack and of the item; and the suspects after deaths.
 *
 * After an intended change: `npx vitest run test/unit/tasks/bulk/items.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { failedItem, releasedItem, settlementOf, snoozedItem } from '../../../../shared/tasks/bulk/departure.ts';
import { findItem } from '../../../../shared/tasks/bulk/put-bulk.ts';
import { isCareful, suspectOf } from '../../../../shared/tasks/bulk/suspect.ts';
import { cancelItem } from '../../../../shared/tasks/queue/cancel-item.ts';
import type { PackOf } from '../../../../shared/tasks/task/pack.ts';
import type { PastAttempt, RunningTask, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { NOW, SESSIONS, STARTED, ago, session, task } from '../../../support/made-rows.ts';
import { shown } from '../../../support/story.ts';

const KNOWN = [session('live', {}), ...SESSIONS];

const STATES: Readonly<Record<string, object>> = {
  ready: {},
  'running in a live session': { state: 'running', session: 'live', claimedAt: ago(1_000) },
  'running in a session that is over': { state: 'running', session: 'gone', claimedAt: ago(1_000) },
  'running in a session that never was': { state: 'running', session: 'none', claimedAt: ago(1_000) },
  done: { state: 'done', session: 's', finishedAt: ago(9) },
  dead: { state: 'dead', finishedAt: ago(9) },
  cancelled: { state: 'cancelled', finishedAt: ago(9), cancellation: { at: 1, reason: 'x' } },
};

const ITEMS: Readonly<Record<string, string>> = {
  'an open one': 'b/0/0',
  'a done one': 'b/0/1',
  'a done one with a result': 'b/0/2',
  'one that has moved': 'b/0/3',
  'one that has moved, and its row is gone': 'b/0/4',
  'a cancelled one': 'b/0/5',
  'the last one': 'b/0/6',
  'one behind the last': 'b/0/7',
  'the hundredth': 'b/0/99',
  'one of no such pack': 'b/1/0',
  'one of a task': 'plain/0',
  'one with a zero in front': 'b/0/00',
  'a pack': 'b/0',
};

const packOf = (facts: object): TaskRecord =>
  task('b/0', {
    input: ['a', 'b', 'c', 'd', 'e', 'f', null],
    leaseCounter: 7,
    attempts: 3,
    bulk: { done: new Set([1, 2]), moved: new Set([3, 4]), cancelled: new Set([5]), results: { 2: 'C' }, sequence: 4 },
    ...facts,
  });

const toldOf = (item: Awaited<ReturnType<typeof findItem>>): unknown =>
  item === undefined ? undefined : { ...item, task: item.task === undefined ? undefined : item.task.state };

test('each item of a pack in each state', async () => {
  const lines: string[] = [];
  for (const [state, facts] of Object.entries(STATES)) {
    const pack = packOf(facts);
    const rows = new Map(
      [pack, task('b/0/3', { state: 'dead', finishedAt: 1 }), task('plain', {})].map((row) => [row.id, row]),
    );
    const asked: string[] = [];
    const noted =
      (verb: string) =>
      (_: unknown, index: number): Promise<{ readonly kind: string }> => {
        asked.push(`${verb} ${index}`);
        return Promise.resolve({ kind: 'applied' });
      };
    const bulk = { cancelItem: noted('cancels'), cancelRunningItem: noted('asks for') };
    const tasks = { bulk, get: ({ id }: { readonly id: string }) => Promise.resolve(rows.get(id)) } as never;
    const sessions = { get: (id: string) => Promise.resolve(KNOWN.find((one) => one.id === id)) } as never;
    const ports = {
      tasks,
      sessions,
      operations: {} as never,
      queues: {} as never,
      gauge: noSkewGauge,
      runtime: { clock: new FakeClock(new Date(STARTED)), ids: systemIds, random: { next: () => 0.5 } },
    };
    lines.push(`a pack that is ${state}`);
    for (const [what, id] of Object.entries(ITEMS)) {
      asked.length = 0;
      const key = { queue: 'default', id };
      lines.push(`  ${what}: ${shown(toldOf(await findItem(key, tasks)))}`);
      const answer = await cancelItem(key, ports, 1_000).catch((error: unknown) => error);
      lines.push(`    cancel: ${[...asked, shown(answer)].join(', then ')}`);
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./items.golden.txt');
});

const attempt = (how: PastAttempt['how'], leaseCounter: number): PastAttempt => ({
  leaseCounter,
  how,
  session: `s${leaseCounter}`,
  claimedAt: ago(99),
  endedAt: ago(9),
  error: undefined,
});
const PASTS: Readonly<Record<string, readonly PastAttempt['how'][]>> = {
  nothing: [],
  'a failure': ['failed'],
  'a death': ['died'],
  'two deaths': ['died', 'died'],
  'three deaths': ['died', 'died', 'died'],
  'a death, and a failure': ['died', 'failed'],
  'a failure, and a death': ['failed', 'died'],
  'a failure, and two deaths': ['failed', 'died', 'died'],
  'a hand-back between two deaths': ['died', 'released', 'died'],
};

test('who is suspected after deaths', () => {
  const lines: string[] = [];
  for (const [what, past] of Object.entries(PASTS))
    for (const attempts of [1, past.length, past.length + 1]) {
      const pack = packOf({
        state: 'running',
        session: 'live',
        claimedAt: NOW,
        attempts,
        past: past.map((how, n) => attempt(how, n + 3)),
      }) as PackOf<RunningTask>;
      for (const policy of [
        { maxAttempts: 5, maxDeaths: 3 },
        { maxAttempts: 3, maxDeaths: 2 },
        { maxAttempts: 1, maxDeaths: 3 },
      ]) {
        const { index, isDead, attempts: counted, deaths, error } = suspectOf(pack, policy, NOW) ?? {};
        const found =
          index === undefined
            ? 'nobody'
            : `item ${index}, ${isDead === true ? 'dead' : 'alive'} with ${counted} attempts and ${deaths} deaths (${error?.message})`;
        const care = isCareful(pack, policy) ? 'with care' : 'fast';
        lines.push(
          `${what}, at attempt ${attempts} of ${policy.maxAttempts}, ${policy.maxDeaths} deaths allowed: ${care}, ${found}`,
        );
      }
    }
  const done = packOf({
    state: 'running',
    session: 'live',
    claimedAt: NOW,
    past: [attempt('died', 3), attempt('died', 4)],
  });
  const over = { ...done, bulk: { ...done.bulk, cancelled: new Set([0, 5, 6]) } } as PackOf<RunningTask>;
  expect(suspectOf(over, { maxAttempts: 5, maxDeaths: 3 }, NOW)).toBeUndefined();
  return expect(`${[...new Set(lines)].join('\n')}\n`).toMatchFileSnapshot('./suspects.golden.txt');
});

test('what an item takes along when it leaves', () => {
  const pack = packOf({
    state: 'running',
    session: 'live',
    claimedAt: ago(5),
    traceparent: 'trace',
  }) as PackOf<RunningTask>;
  const error = { name: 'Error', message: 'boom', at: NOW };
  const leaving = [
    failedItem(pack, 0, error, { now: NOW }),
    failedItem(pack, 0, error, { now: NOW, readyAt: NOW + 9 }),
    snoozedItem(pack, 6, NOW + 9, NOW),
    releasedItem(pack, 0, { error, readyAt: NOW + 9 }, NOW),
    releasedItem(pack, 0, { error: undefined, readyAt: NOW }, NOW),
  ];
  expect(leaving.map((item) => `${settlementOf(item)} ${shown(item)}`).join('\n')).toMatchInlineSnapshot(`
    "dead { index: 0, task: { queue: 'default', id: 'b/0/0', name: 'resize', input: 'a', priority: 'normal', traceparent: 'trace', runAt: 1795780800000 }, isDead: true, attempts: 3, deaths: 0, error: { name: 'Error', message: 'boom', at: 1795780800000 }, lastAttempt: { leaseCounter: 7, session: 'live', claimedAt: 1795780799995, endedAt: 1795780800000, how: 'failed', error: undefined }, isSuspect: false }
    retried { index: 0, task: { queue: 'default', id: 'b/0/0', name: 'resize', input: 'a', priority: 'normal', traceparent: 'trace', runAt: 1795780800009 }, isDead: false, attempts: 3, deaths: 0, error: { name: 'Error', message: 'boom', at: 1795780800000 }, lastAttempt: { leaseCounter: 7, session: 'live', claimedAt: 1795780799995, endedAt: 1795780800000, how: 'failed', error: undefined }, isSuspect: false }
    snoozed { index: 6, task: { queue: 'default', id: 'b/0/6', name: 'resize', input: null, priority: 'normal', traceparent: 'trace', runAt: 1795780800009 }, isDead: false, attempts: 2, deaths: 0, error: undefined, lastAttempt: { leaseCounter: 7, session: 'live', claimedAt: 1795780799995, endedAt: 1795780800000, how: 'snoozed', error: undefined }, isSuspect: false }
    released { index: 0, task: { queue: 'default', id: 'b/0/0', name: 'resize', input: 'a', priority: 'normal', traceparent: 'trace', runAt: 1795780800009 }, isDead: false, attempts: 2, deaths: 0, error: { name: 'Error', message: 'boom', at: 1795780800000 }, lastAttempt: { leaseCounter: 7, session: 'live', claimedAt: 1795780799995, endedAt: 1795780800000, how: 'released', error: undefined }, isSuspect: false }
    released { index: 0, task: { queue: 'default', id: 'b/0/0', name: 'resize', input: 'a', priority: 'normal', traceparent: 'trace', runAt: 1795780800000 }, isDead: false, attempts: 2, deaths: 0, error: undefined, lastAttempt: { leaseCounter: 7, session: 'live', claimedAt: 1795780799995, endedAt: 1795780800000, how: 'released', error: undefined }, isSuspect: false }"
  `);
});
