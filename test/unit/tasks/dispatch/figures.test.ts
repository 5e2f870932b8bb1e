/**
 * The figures of plans, in tables: how many workers are wanted for which demand, which entries of the index count as demand, and what each
 * policy of a schedule makes of missed slots.
 *
 * A changed line is a changed plan. After an intended change: `npx vitest run test/unit/tasks/dispatch -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import type { SampleFacts } from '../../../../shared/tasks/dispatch/demand.ts';
import { countLate, servable } from '../../../../shared/tasks/dispatch/demand.ts';
import { lookAtBacklog } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { findOldestReady } from '../../../../shared/tasks/dispatch/oldest-ready.ts';
import { PendingStarts } from '../../../../shared/tasks/dispatch/pending-starts.ts';
import { homesOf, slicesOf, wantedWorkers } from '../../../../shared/tasks/dispatch/plan.ts';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import { wantedNow } from '../../../../shared/tasks/dispatch/wanted-now.ts';
import { MISSED_POLICIES, OVERLAP_POLICIES } from '../../../../shared/tasks/schedule/schedule.ts';
import type { Priority, TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { Story, shown } from '../../../support/story.ts';

const SETTINGS = { maxWorkers: 10, concurrency: 4, startWithinMs: 10_000 };
const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

test('workers wanted, by demand and by workers at work', async () => {
  const lines: string[] = [];
  for (const tookMs of [undefined, 1, 1_000, 2_600, 10_000, 20_000])
    for (const [due, late] of [
      [0, 0],
      [1, 0],
      [1, 1],
      [4, 0],
      [5, 2],
      [9, 9],
      [40, 3],
      [40, 40],
      [41, 0],
      [90, 70],
    ] as const)
      for (const more of [{}, { isCutShort: true }, { less: 'keysFull' as const }]) {
        if (due < 40 && Object.keys(more).length > 0) continue;
        const each = [0, 1, 2, 12].map((atWork) => {
          const { workers, missing, why } = wantedWorkers({ due, late, tookMs, ...more }, atWork, SETTINGS);
          return `${workers}${missing === 0 ? '' : `+${missing}`} ${why}`;
        });
        lines.push(`${due} due, ${late} late, ${tookMs} ms ${shown(more)}: ${each.join(' | ')}`);
      }
  await expect(text(lines)).toMatchFileSnapshot('./wanted.golden.txt');
});

test('homes and slices of workers, by the tasks in each lane of each shard', async () => {
  const part = (shard: number, priority: Priority, due: number) => ({
    partition: { queue: 'q', priority, shard },
    due,
    late: 0,
  });
  const backlog = [
    part(0, 'high', 3),
    part(1, 'high', 0),
    part(2, 'high', 1),
    part(1, 'normal', 2),
    part(2, 'low', 9),
    part(0, 'low', 2),
  ];
  const lines = [1, 2, 3, 4].flatMap((shards) =>
    [0, 1, 2, 3, 5, 9].map((workers) => {
      const homes = homesOf(backlog, workers, shards);
      const slices = slicesOf(homes).map((slice) => (slice === undefined ? 'all' : `${slice.nth}/${slice.of}`));
      return `${workers} workers, ${shards} shards: ${homes.map((home, nth) => `${home.join('+')} ${slices[nth]}`).join(', ')}`;
    }),
  );
  await expect(text(lines)).toMatchFileSnapshot('./homes.golden.txt');
});

const NOW = 1_000_000;
const USED_UP = { running: 0, enteredAt: undefined, window: 0, started: 2 };
const FACTS = {
  now: NOW,
  elsewhere: new Set(['laptop']),
  keys: new Map([
    ['used', USED_UP],
    ['runs', { ...USED_UP, running: 1 }],
  ]),
  turns: new Map([['line', 5]]),
  unknownNames: new Set(['odd']),
} as unknown as SampleFacts;

/** Each kind of row that an entry may have. */
const keyed = (key: string, limit: number, rate?: object) => ({ links: { concurrency: { key, limit, rate } } });
const inLine = (ticket: number) => ({ links: { line: { key: 'line', ticket } } });
const HOURLY = { count: 2, perMs: 3_600_000 };
const ROWS: Readonly<Record<string, object>> = {
  due: {},
  late: { readyAt: NOW - 5_001 },
  'half of the time': { readyAt: NOW - 5_000 },
  delayed: { readyAt: NOW + 1 },
  'unknown name': { name: 'odd' },
  running: { state: 'running', session: 'worker' },
  'running elsewhere': { state: 'running', session: 'laptop', readyAt: NOW - 9_000 },
  'of a key': keyed('free', 2),
  'running of a key': { state: 'running', session: 'worker', ...keyed('free', 2) },
  'of a used up rate': keyed('used', 3, HOURLY),
  'of a used up rate, while one runs': keyed('runs', 3, HOURLY),
  'before its turn': inLine(6),
  'at its turn': inLine(5),
  'cancelled in line': { state: 'cancelled', isInLine: true, ...inLine(5) },
  'cancelled before its turn': { state: 'cancelled', isInLine: true, ...inLine(6) },
  'cancelled, passed': { state: 'cancelled', isInLine: false, ...inLine(4) },
  cancelled: { state: 'cancelled', isInLine: false },
  done: { state: 'done' },
  dead: { state: 'dead' },
};

test('entries that new workers could serve, by the kind of row', async () => {
  const row = (facts: object) => ({ state: 'ready', name: 'task', readyAt: NOW, ...facts }) as unknown as TaskRecord;
  const rows = (kind: object, count: number) => Array.from({ length: count }, () => row(kind));
  const lines = Object.entries(ROWS).flatMap(([name, kind]) =>
    [
      [1, 1, 0],
      [4, 4, 0],
      [40, 4, 0],
      [40, 4, 2],
    ].map(([due = 0, count = 0, others = 0]) => {
      const sample = [...rows(kind, count), ...rows({}, others)];
      const late = countLate(sample as never, NOW, SETTINGS) * (due / sample.length);
      const { tookMs: _, ...left } = servable({ due, late, tookMs: 1, isCutShort: due > 4 }, sample, FACTS, SETTINGS);
      return `${count} rows ${name} and ${others} due, of ${due}: ${shown(left)}`;
    }),
  );
  await expect(text(lines)).toMatchFileSnapshot('./servable.golden.txt');
});

/** An index with this number of entries in each partition of a priority; the first entry is an hour old. */
async function look(entries: number, settings: Partial<typeof SETTINGS & { shards: number }>, tookMs?: number) {
  const clock = new FakeClock(new Date(NOW));
  const limits = new Set<number>();
  const noted: unknown[] = [];
  const { demand, shards } = await lookAtBacklog(
    { shards: 1, lanes: new Set(['normal']), tookMs } as never,
    {
      tasks: {
        page: (partition, { limit }) => {
          limits.add(limit);
          const count = partition.priority === 'normal' && partition.shard < 2 ? Math.min(entries, limit) : 0;
          const hints = Array.from({ length: count }, (_, n) => ({ queue: 'q', id: `${n}`, readyAt: NOW - 4_998 - n }));
          return Promise.resolve({ hints, next: undefined });
        },
        pageOfGroups: () => Promise.resolve({ entries: [], next: undefined }),
      },
      queues: { noteUse: (_queue: string, _record: unknown, use: object) => Promise.resolve(noted.push(use)) } as never,
      runtime: { clock, random: { next: () => 0.5 }, ids: systemIds },
      onDamaged: (error) => {
        throw error;
      },
    },
    { queue: 'q', shards: 1, maxClockSkewMs: 0, ...SETTINGS, ...settings },
  );
  return shown({ limits: [...limits], shards, demand, noted });
}

test('entries that a tick counts in a partition, by the size of the fleet', async () => {
  const lines: string[] = [];
  for (const settings of [
    { maxWorkers: 1 },
    { maxWorkers: 1, concurrency: 300 },
    { maxWorkers: 8 },
    { maxWorkers: 50, shards: 2 },
    { maxWorkers: 100 },
  ])
    for (const entries of [0, 3, 101, 999, 1_000])
      lines.push(`${shown(settings)}, ${entries} entries: ${await look(entries, settings, 100)}`);
  await expect(text(lines)).toMatchFileSnapshot('./counted.golden.txt');
});

test('the rows that a look for the oldest task has read, and each line once', async () => {
  const lines: string[] = [];
  const entries = Array.from({ length: 230 }, (_, n) => ({ queue: 'q', id: `${n}`, readyAt: n }));
  for (const [turn, running] of [
    [0, 0],
    [5, 0],
    [5, 6],
    [140, 130],
    [229, 228],
    [229, 229],
  ] as const) {
    const asked: number[] = [];
    const linesRead: string[] = [];
    const tasks = {
      getMany: (keys: readonly { readonly id: string }[]) => {
        asked.push(keys.length);
        const rowOf = (n: number) => ({
          queue: 'q',
          id: `${n}`,
          readyAt: n,
          state: n < running ? 'running' : 'ready',
          links: { line: { key: `l${n % 2}`, ticket: n } },
        });
        return Promise.resolve(keys.map(({ id }) => rowOf(Number(id)) as never));
      },
      getKeys: () => Promise.resolve(new Map()),
      getTurns: (_: string, keys: readonly string[]) => {
        linesRead.push(...keys);
        return Promise.resolve(new Map(keys.map((key) => [key, turn])));
      },
    };
    const { looked, readyAt } = await findOldestReady(entries, tasks, { atLeast: 25, now: 0 });
    lines.push(
      `turn ${turn}, ${running} run: ${readyAt}, looked at ${looked.length} (${asked.join('+')}), lines ${linesRead.join()}`,
    );
  }
  expect(text(lines)).toMatchInlineSnapshot(`
    "turn 0, 0 run: 0, looked at 25 (25), lines l0,l1
    turn 5, 0 run: 0, looked at 25 (25), lines l0,l1
    turn 5, 6 run: undefined, looked at 230 (25+100+100+5), lines l0,l1
    turn 140, 130 run: 130, looked at 225 (25+100+100), lines l0,l1
    turn 229, 228 run: 228, looked at 230 (25+100+100+5), lines l0,l1
    turn 229, 229 run: 229, looked at 230 (25+100+100+5), lines l1
    "
  `);
});

test('tasks noted by other wakers, by the clock of their writer', () => {
  const starts = new PendingStarts();
  const heard = [-1_000, 0, 1, 9_999, 10_000, 10_001].map((at) => ({ at, count: 1, ids: [`${at}`] }));
  starts.learn({ count: 0, token: 0, untilMs: 0, waitMs: 2_000, heard });

  expect(starts.plus(1, 0, 0, { ids: [], since: -1 }).heard.map(({ at }) => at)).toEqual([0, 1, 9_999, 10_000]);
  expect(starts.plus(0, 0, 0, { ids: ['a', 'b', 'c'], since: 0 }).heard).toHaveLength(4);
});

test('workers wanted now, as operators see it', () => {
  const due = Array.from({ length: 30 }, (_, n) => ({ queue: 'q', id: `${n}`, readyAt: NOW - n * 400 }));
  const record = { workerSettings: { concurrency: 4, startWithinMs: 10_000 }, tookMs: 1_000 } as never;
  const wanted = (permits: number, limit: number) => wantedNow(record, due, { permits, limit }, NOW);

  expect(wantedNow(undefined, due, { permits: 0, limit: 9 }, NOW)).toBeUndefined();
  expect([wanted(0, 9), wanted(2, 9), wanted(9, 9), wanted(0, 1)]).toMatchInlineSnapshot(`
    [
      3,
      4,
      5,
      1,
    ]
  `);
});

test('slots of a schedule that was not served for a while, by its policies', async () => {
  const lines: string[] = [];
  for (const overlap of OVERLAP_POLICIES)
    for (const missed of MISSED_POLICIES)
      for (const jitter of [undefined, '90s'] as const) {
        const { here, world } = new Story();
        const options = { cron: '*/2 * * * *', overlap, missed, tolerance: '1m' as const, ...(jitter && { jitter }) };
        await here.leasehold.schedules.define('s', 'work', {}, options);
        const damages: unknown[] = [];
        const made: number[] = [];
        for (const ms of [120_000, 421_000, 120_000]) {
          world.clock.step(ms);
          made.push(await enqueueDueSlots('default', here.ports, (error) => void damages.push(error)));
        }
        const tasks = world.rows().filter(({ sk }) => sk === 'task');
        const slots = tasks.map(
          ({ pk, readyAt }) => `${String(pk).slice(-13, -5)} from ${Number(readyAt) % 3_600_000}`,
        );
        const { lastAt, nextAt, leftOut } = (await here.leasehold.schedules.get('s'))!;
        const left = leftOut.map(({ at, why }) => `${at % 3_600_000} ${why}`);
        const then = `last ${(lastAt ?? 0) % 3_600_000}, next ${nextAt % 3_600_000}, left out ${left.join(', ')}`;
        lines.push(
          `${overlap}, ${missed}, jitter ${jitter}: made ${made.join('+')}, ${slots.sort().join(', ')}; ${then}; ${damages.length} damages`,
        );
      }
  await expect(text(lines)).toMatchFileSnapshot('./slots.golden.txt');
});

test('a slot whose task is damaged is taken, and reported', async () => {
  const { here, world } = new Story();
  await here.leasehold.schedules.define('s', 'work', {}, { cron: '* * * * *', overlap: 'allow' });
  const damages: string[] = [];
  const tick = () => enqueueDueSlots('default', here.ports, (error) => void damages.push(String(error)));
  world.clock.step(60_000);
  expect(await tick()).toBe(1);
  const made = world.rows().find(({ sk }) => sk === 'task');
  const Item = { ...made, pk: String(made?.pk).replace('12:01', '12:02'), state: 7 } as never;
  await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
  world.clock.step(60_000);

  expect(await tick()).toBe(0);
  expect(damages).toEqual([expect.stringContaining('CorruptItemError: row task')]);
  expect((await here.leasehold.schedules.get('s'))?.lastAt).toBe(world.clock.now());
});
