/** The occurrences of a schedule, as operators see the next ones, and as traces see the tasks of due ones. */
import { expect, test } from 'vitest';
import { schedulesOf } from '../../../../shared/client/schedules-of.ts';
import { enqueueDueOccurrences } from '../../../../shared/tasks/dispatch/recur.ts';
import type { ScheduleOptions } from '../../../../shared/tasks/schedule/declaration.ts';
import { TaskSpans } from '../../../../shared/tasks/tracing/task-spans.ts';
import type { ReadyTask } from '../../../../shared/tasks/task/task.ts';
import { STARTS_AT } from '../../../support/coordination.ts';
import { NotedSpans } from '../../../support/noted-spans.ts';
import { Story } from '../../../support/story.ts';

const HOUR = 3_600_000;
const NOON = Date.parse(STARTS_AT);

const define = ({ there }: Story, options: Partial<ScheduleOptions>) =>
  schedulesOf(there.leasehold).define('s', 'report', 1, { cron: '0 * * * *', ...options });
const time = (moment: number | undefined): string | undefined =>
  moment === undefined ? undefined : new Date(moment).toISOString().slice(11, 19);

test.each([
  ['that goes on', {}, ['13:00:00', '14:00:00', '15:00:00']],
  ['that ends', { endAt: NOON + 2 * HOUR }, ['13:00:00']],
  ['that begins later', { startAt: NOON + 5 * HOUR }, ['17:00:00', '18:00:00', '19:00:00']],
])('a schedule %s has no more next occurrences than are asked for', async (_what, options, occurrences) => {
  const story = new Story();
  await define(story, options);
  const schedules = schedulesOf(story.here.leasehold);
  const row = (await schedules.get('s'))!;

  for (const limit of [0, 1, 3]) expect(schedules.next(row, limit).map(time)).toEqual(occurrences.slice(0, limit));
});

test('the span of a task of an occurrence has its due time, and is in its row', async () => {
  const story = new Story();
  const { here, there, world } = story;
  const notes = new NotedSpans();
  await define(story, { jitter: '10m', missed: 'all' });
  world.clock.step(2 * HOUR);

  await enqueueDueOccurrences('default', { ...here.ports, spans: new TaskSpans(notes) }, () => undefined);

  const spans = notes.all.map(({ draft, end }) => `${draft.name} ${time(draft.startAt)} to ${time(end?.at)}`);
  const rows = await Promise.all(
    ['13:00:00', '14:00:00'].map((hour) =>
      there.ports.tasks.get({ queue: 'default', id: `s@2026-03-01T${hour}.000Z` }),
    ),
  );
  expect(spans).toEqual(
    rows.map((row) => `create default ${time((row as ReadyTask).readyAt)} to ${time((row as ReadyTask).readyAt)}`),
  );
  expect(rows.map((row) => row?.traceparent)).toEqual(['1', '2']);
  expect((await schedulesOf(there.leasehold).get('s'))?.lastAt).toBe(NOON + 2 * HOUR);
});
