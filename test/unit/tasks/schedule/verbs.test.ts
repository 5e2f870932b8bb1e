/**
 * The answer of each verb for each kind of schedule, with the schedule and the tasks of its slots afterwards.
 *
 * After an intended change: `npx vitest run test/unit/tasks/schedule/verbs.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import type { ScheduleOptions } from '../../../../shared/tasks/schedule/declaration.ts';
import type { ScheduleRecord } from '../../../../shared/tasks/schedule/schedule.ts';
import { OVERLAP_POLICIES } from '../../../../shared/tasks/schedule/schedule.ts';
import { TaskSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import { STARTS_AT, passTime } from '../../../support/coordination.ts';
import { loseNextAnswer } from '../../../support/lost-answer.ts';
import { NotedSpans } from '../../../support/noted-spans.ts';
import { Story, shown } from '../../../support/story.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.parse(STARTS_AT);

type Step = (story: Story) => Promise<unknown>;

const define =
  (options: Partial<ScheduleOptions> = {}): Step =>
  ({ there }) =>
    there.leasehold.schedules.define('s', 'report', 1, { cron: '0 * * * *', ...options });
/** Advances only the wall clock: no session has to be renewed. */
const pass =
  (ms: number): Step =>
  ({ world }) => {
    world.clock.step(ms);
    return Promise.resolve();
  };
const tick: Step = async ({ there }) => {
  const reported: string[] = [];
  const made = await enqueueDueSlots('default', there.ports, (error) => void reported.push(String(error)));
  return reported.length === 0 ? made : [made, reported];
};
const pause: Step = ({ there }) => there.leasehold.schedules.pause('s');
const remove: Step = ({ there }) => there.leasehold.schedules.remove('s');
const all =
  (...steps: readonly Step[]): Step =>
  async (story) => {
    for (const step of steps) await step(story);
  };
const onlyTask = async ({ there }: Story, hour: string) =>
  there.ports.tasks.get({ queue: 'default', id: `s@2026-03-01T${hour}.000Z` });
const claimFirst: Step = async (story) => {
  const session = await story.there.leasehold.session();
  const task = (await onlyTask(story, '13:00:00')) as ReadyTask;
  return story.there.ports.tasks.claim(task, session.id, stampOf(story.there.runtime));
};
const endFirst: Step = async (story) => {
  const task = (await onlyTask(story, '13:00:00')) as RunningTask;
  return story.there.ports.tasks.complete(claimOf(task), undefined, stampOf(story.there.runtime));
};

const KINDS: Readonly<Record<string, Step>> = {
  'that does not exist': () => Promise.resolve(),
  'that was removed': all(define(), remove),
  'that is new': define(),
  'whose slot is due just now': all(define(), pass(HOUR)),
  'whose three slots are owed, the last for half an hour': all(define(), pass(3.5 * HOUR)),
  'whose three slots are all to be made': all(define({ missed: 'all' }), pass(3.5 * HOUR)),
  'whose three slots are too late': all(define({ missed: 'skip', tolerance: '10m' }), pass(3.5 * HOUR)),
  'that is paused': all(define(), pause, pass(3.5 * HOUR)),
  'that was paused when a slot was due': all(define(), pass(HOUR), pause, pass(HOUR)),
  'that is over': all(define({ endAt: NOON + 2 * HOUR }), pass(HOUR), tick, pass(2 * HOUR)),
  'whose last slot is due': all(define({ endAt: NOON + 2 * HOUR }), pass(1.5 * HOUR)),
  'that has not begun': all(define({ startAt: NOON + 5 * HOUR }), pass(HOUR)),
  'that spreads its tasks': all(define({ jitter: '10m' }), pass(HOUR)),
};
for (const overlap of OVERLAP_POLICIES) {
  const begun = all(define({ overlap }), pass(HOUR), tick);
  Object.assign(KINDS, {
    [`that has a waiting task, and overlap = ${overlap}`]: all(begun, pass(HOUR)),
    [`that has a running task, and overlap = ${overlap}`]: all(begun, claimFirst, pass(HOUR)),
    [`whose task has ended, and overlap = ${overlap}`]: all(begun, claimFirst, endFirst, pass(HOUR)),
  });
}
Object.assign(KINDS, {
  'of ordered tasks with a waiting one': all(define({ ordered: true, key: 'k' }), pass(HOUR), tick, pass(HOUR)),
});

const told = (row: ScheduleRecord | undefined): unknown => {
  if (row === undefined) return undefined;
  const { nextAt, lastAt, pausedAt, leftOut } = row;
  const facts = { next: time(nextAt), last: time(lastAt), paused: time(pausedAt) };
  return { ...facts, left: leftOut.map(({ at, why }) => `${why} ${time(at)}`) };
};
const time = (moment: number | undefined): string | undefined =>
  moment === undefined ? undefined : moment === Infinity ? 'none' : new Date(moment).toISOString().slice(11, 19);

const read: Step = async ({ here }) => {
  const { schedules } = here.leasehold;
  const row = await schedules.get('s');
  const next = row && [0, 1, 3].map((limit) => schedules.next(row, limit).map(time));
  return { row: told(row), next, listed: (await Array.fromAsync(schedules.list())).map(({ name }) => name) };
};

const VERBS: Readonly<Record<string, Step>> = {
  'run twice in a millisecond, and later': async ({ here, world }) => {
    const { schedules } = here.leasehold;
    const inOneMillisecond = [await schedules.run('s'), await schedules.run('s')];
    world.clock.step(MINUTE);
    return [...inOneMillisecond, await schedules.run('s')];
  },
  pause: async ({ here }) => told(await here.leasehold.schedules.pause('s')),
  resume: async ({ here }) => told(await here.leasehold.schedules.resume('s')),
  remove: ({ here }) => here.leasehold.schedules.remove('s'),
  'a tick, and another': async (story) => [await tick(story), await tick(story)],
  'a run, and a tick': async (story) => [await story.here.leasehold.schedules.run('s'), await tick(story)],
};

/** Each task of the schedule: its slot, when it is due, what came before, and how it stands. */
async function tasksOf({ there, world }: Story): Promise<readonly string[]> {
  const ids = world.rows().flatMap(({ pk, id }) => (String(pk).startsWith('task#') ? [String(id)] : []));
  const rows = await Promise.all(ids.sort().map((id) => there.ports.tasks.get({ queue: 'default', id })));
  return rows.flatMap((task) => {
    if (task === undefined) return [];
    const { state, schedule, cancellation, links } = task;
    const due = task.state === 'ready' ? ` due ${time(task.readyAt)}` : '';
    const line = links?.line === undefined ? '' : ` in ${links.line.key}`;
    const stop = cancellation === undefined ? '' : `, ${cancellation.reason}`;
    return [`${time(schedule?.at)} since ${time(schedule?.since)} ${state}${due}${line}${stop}`];
  });
}

test('each verb on each kind of schedule', async () => {
  const lines: string[] = [];
  for (const [kind, make] of Object.entries(KINDS)) {
    for (const [verb, act] of Object.entries(VERBS)) {
      const story = new Story();
      await passTime(story.world, make(story));
      if (verb.startsWith('run twice')) lines.push(`a schedule ${kind}`, `  ${shown(await read(story))}`);
      const answer = await passTime(story.world, act(story)).catch((error: unknown) => error);
      const left = await story.there.leasehold.schedules.get('s');
      lines.push(`  ${verb}: ${shown(answer)}`, `    then ${shown(told(left))}`);
      lines.push(...(await tasksOf(story)).map((task) => `    ${task}`));
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./verbs.golden.txt');
});

const redefine: Step = define({ cron: '30 * * * *' });
/** The act of another process while the answer of a verb is lost. */
const MEANWHILE: Readonly<Record<string, Step>> = {
  nothing: () => Promise.resolve(),
  'a minute passes': pass(MINUTE),
  'it is paused': pause,
  'it is resumed': ({ there }) => there.leasehold.schedules.resume('s'),
  'it is removed': remove,
  'it is defined otherwise': redefine,
  'it is removed, and defined again': all(remove, pass(MINUTE), redefine),
  'it is run, a minute later': all(pass(MINUTE), ({ there }) => there.leasehold.schedules.run('s')),
  'a tick makes its slot': all(pass(HOUR), tick),
};
const ONE_VERB: Readonly<Record<string, Step>> = {
  define: async ({ here }) =>
    told(await here.leasehold.schedules.define('s', 'report', 1, { cron: '15 * * * *', missed: 'all' })),
  run: ({ here }) => here.leasehold.schedules.run('s'),
  pause: async ({ here }) => told(await here.leasehold.schedules.pause('s')),
  resume: async ({ here }) => told(await here.leasehold.schedules.resume('s')),
  remove: ({ here }) => here.leasehold.schedules.remove('s'),
};

test('each verb whose answer is lost, and what others do meanwhile', async () => {
  const lines: string[] = [];
  for (const [verb, act] of Object.entries(ONE_VERB)) {
    for (const [what, meanwhile] of Object.entries(MEANWHILE)) {
      const story = new Story();
      await passTime(story.world, all(define(), verb === 'resume' ? pause : pass(0))(story));
      loseNextAnswer(story.here.driver, () => meanwhile(story));
      const answer = await passTime(story.world, act(story)).catch((error: unknown) => error);
      const left = await story.there.leasehold.schedules.get('s');
      lines.push(`${verb}, and meanwhile ${what}: ${shown(answer)}`, `  then ${shown(told(left))}`);
      lines.push(...(await tasksOf(story)).map((task) => `  ${task}`));
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./lost-answers.golden.txt');
});

test('the span of a task of a slot stands at its due time, and is in its row', async () => {
  const story = new Story();
  const { here, there } = story;
  const notes = new NotedSpans();
  await define({ jitter: '10m', missed: 'all' })(story);
  await pass(2 * HOUR)(story);

  await enqueueDueSlots('default', { ...here.ports, spans: new TaskSpans(notes) }, () => undefined);

  const spans = notes.all.map(({ draft, end }) => `${draft.name} ${time(draft.startAt)} to ${time(end?.at)}`);
  const rows = await Promise.all(['13:00:00', '14:00:00'].map((hour) => onlyTask(story, hour)));
  expect(spans).toEqual(
    rows.map((row) => `create default ${time((row as ReadyTask).readyAt)} to ${time((row as ReadyTask).readyAt)}`),
  );
  expect(rows.map((row) => row?.traceparent)).toEqual(['1', '2']);
  expect((await there.leasehold.schedules.get('s'))?.lastAt).toBe(NOON + 2 * HOUR);
});
