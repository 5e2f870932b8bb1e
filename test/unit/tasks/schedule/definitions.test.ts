/**
 * The stored form of each option of a schedule, at each edge of its values; and the effect of another definition on each kind of schedule.
 *
 * After an intended change: `npx vitest run test/unit/tasks/schedule/definitions.test.ts -u`, and read the difference.
 */
import { describe, expect, test } from 'vitest';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import type { ScheduleOptions } from '../../../../shared/tasks/schedule/declaration.ts';
import { defineSchedule } from '../../../../shared/tasks/schedule/declaration.ts';
import { scheduleDefinitionOf } from '../../../../shared/tasks/schedule/schedule-definition.ts';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { STARTS_AT, passTime } from '../../../support/coordination.ts';
import { Story, shown } from '../../../support/story.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOON = Date.parse(STARTS_AT);
const DAILY = '0 3 * * *';

const OPTIONS: readonly (Partial<Record<keyof ScheduleOptions, unknown>> & { readonly input?: unknown })[] = [
  {},
  { cron: ' 0   3 * *  * ' },
  { cron: '30 0 3 * * *' },
  { cron: '0 3 * *' },
  { cron: '0 0 0 3 * * *' },
  { cron: '' },
  { cron: undefined },
  { zone: 'Europe/Berlin' },
  { zone: '' },
  { zone: undefined },
  { zone: 7 },
  { queue: 'media' },
  { queue: '' },
  ...['skip', 'last', 'all', 'none', undefined].map((missed) => ({ missed })),
  ...['queue', 'skip', 'replace', 'allow', 'none', undefined].map((overlap) => ({ overlap })),
  ...['queue', 'skip', 'replace', 'allow'].map((overlap) => ({ overlap, ordered: true, key: 'k' })),
  { overlap: 'replace', ordered: false, key: 'k' },
  ...[0, 1, '10m', '365d', -1, 0.5].map((tolerance) => ({ tolerance })),
  ...[0, 1, '1h', DAY - 1, DAY, DAY + 1, '2d', -1].map((jitter) => ({ jitter })),
  ...[0, NOON, new Date(NOON + 1), -1, Number.NaN, '2027'].map((startAt) => ({ startAt })),
  ...[0, NOON, new Date(NOON + 1), -1].map((endAt) => ({ endAt })),
  ...[-1, 0, 1].flatMap((more) =>
    [-1, 0, 1].map((end) => ({ startAt: NOON + 15 * HOUR + more, endAt: NOON + 15 * HOUR + end })),
  ),
  { startAt: NOON + 15 * HOUR, endAt: NOON + 15 * HOUR + DAY },
  { startAt: NOON, endAt: NOON - DAY },
  { priority: 'high', key: 'k', limit: 3, tenant: 'acme', maxAttempts: 2, timeout: '9s', expires: '2h' },
  { key: 'k', rate: { count: 2, per: '1m' } },
  { limit: 2 },
  { id: 'mine' } as object,
  { delay: '1m' } as object,
  { input: 'x'.repeat(INPUT_LIMIT_BYTES - 2) },
  { input: 'x'.repeat(INPUT_LIMIT_BYTES - 1) },
  { input: undefined },
  { input: 2n },
];

const short = (text: string): string => text.replaceAll(/x{100,}/g, (all) => `x(${all.length})`);

/** The properties that another definition has otherwise. */
function differing(definition: object, plain: object | undefined): unknown {
  if (plain === undefined) return definition;
  const before = new Map<string, unknown>(Object.entries(plain));
  return Object.fromEntries(
    Object.entries(definition).filter(([name, value]) => shown(value) !== shown(before.get(name))),
  );
}

test('each option at its edges', async () => {
  const { here } = new Story();
  const lines: string[] = [];
  let plain: object | undefined;
  for (const { input = { n: 1 }, ...options } of OPTIONS) {
    const given = { name: 's', task: 'report', input, options: { cron: DAILY, ...options } as ScheduleOptions };
    const made = await scheduleDefinitionOf(given, { runtime: here.runtime, queue: 'default' }).catch(
      (error: unknown) => error as Error,
    );
    lines.push(
      short(`${shown(options)}${input === undefined ? '' : ` ${shown(input)}`}`),
      `  ${short(shown(made instanceof Error ? made : differing(made, plain)))}`,
    );
    plain ??= made as object;
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./definitions.options.golden.txt');
});

/** Every option, each with a value that is not its default. */
const FULL = {
  cron: '0 * * * *',
  zone: 'Europe/Berlin',
  missed: 'all',
  tolerance: '5m',
  overlap: 'skip',
  jitter: '1m',
  startAt: NOON,
  endAt: NOON + DAY,
  priority: 'high',
  tenant: 'acme',
} as const satisfies ScheduleOptions;

const CHANGES: Readonly<
  Record<string, Partial<Record<keyof ScheduleOptions, unknown>> & { readonly task?: string; readonly input?: unknown }>
> = {
  nothing: {},
  'its cron': { cron: '30 * * * *' },
  'its zone': { zone: 'Europe/Paris' },
  'its policy for missed slots': { missed: 'last' },
  'its tolerance': { tolerance: '6m' },
  'its policy for overlaps': { overlap: 'allow' },
  'its jitter': { jitter: '2m' },
  'its start': { startAt: NOON + 3 * HOUR },
  'its end': { endAt: NOON + 3 * HOUR },
  'no end': { endAt: undefined },
  'an option of its tasks': { priority: 'low' },
  'an option less': { tenant: undefined },
  'its task': { task: 'other' },
  'its input': { input: { n: 2 } },
  'an input in another order': { input: { m: 0, n: 1 } },
};

/** The changes that all kinds of schedules are given; the first kind is given the others too. */
const FEW: ReadonlySet<string> = new Set(['nothing', 'its cron', 'its end', 'its input']);

/** Each of these schedules has a due slot. */
const KINDS: Readonly<Record<string, (story: Story) => Promise<unknown>>> = {
  'whose slots are owed': () => Promise.resolve(),
  'that has had a slot': ({ there }) => enqueueDueSlots('default', there.ports, () => undefined),
  'that is paused': ({ there }) => there.leasehold.schedules.pause('s'),
  'that was removed': ({ there }) => there.leasehold.schedules.remove('s'),
  'that was paused and removed': async ({ there }) => {
    await there.leasehold.schedules.pause('s');
    await there.leasehold.schedules.remove('s');
  },
};

const time = (moment: number | undefined): string | undefined =>
  moment === undefined ? undefined : moment === Infinity ? 'none' : new Date(moment).toISOString().slice(11, 16);

test('another definition of a schedule of each kind', async () => {
  const lines: string[] = [];
  for (const [kind, make] of Object.entries(KINDS)) {
    lines.push(`a schedule ${kind}`);
    const changes = Object.entries(CHANGES).filter(([what]) => lines.length === 1 || FEW.has(what));
    for (const [what, { task = 'report', input = { n: 1, m: 0 }, ...change }] of changes) {
      const story = new Story();
      const { here, there, world } = story;
      await there.leasehold.schedules.define('s', 'report', { m: 0, n: 1 }, FULL);
      world.clock.step(90 * 60_000);
      await passTime(world, make(story));
      const options = { ...FULL, ...change } as ScheduleOptions;
      const cost = await here.cost(() => here.leasehold.schedules.define('s', task, input, options));
      const row = await there.leasehold.schedules.get('s');
      const { definedAt, nextAt, lastAt, pausedAt } = row ?? {};
      const facts = { definedAt, nextAt, lastAt, pausedAt };
      const times = Object.entries(facts).map(([name, moment]) => `${name} ${time(moment)}`);
      lines.push(`  with ${what}: ${cost.requests} requests, ${times.join(', ')}`);
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./definitions.changes.golden.txt');
});

describe('a schedule without a slot before its end', () => {
  const CRON = { cron: '0 * * * *' };

  test.each([HOUR / 2, -HOUR])('is refused, if it ends %i ms from now', async (ms) => {
    const { leasehold } = new Story().here;

    await expect(leasehold.schedules.define('s', 'report', {}, { ...CRON, endAt: NOON + ms })).rejects.toThrow(
      'schedule s: no slot from now',
    );
  });

  test('is told if a module has it, and the others are defined', async () => {
    const { leasehold } = new Story().here;
    const module = Object.entries({ old: { endAt: NOON - HOUR }, new: {} }).map(([name, options]) =>
      defineSchedule(name, 'report', {}, { ...CRON, ...options }),
    );
    const ended: string[] = [];

    await leasehold.schedules.defineAll(module, ({ name }) => void ended.push(name));

    expect(ended).toEqual(['old']);
    expect((await leasehold.schedules.get('new'))?.nextAt).toBe(NOON + HOUR);
  });
});
